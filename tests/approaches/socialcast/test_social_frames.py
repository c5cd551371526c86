"""SocialCast on the wire: what is said survives it, and the largest that options allow fits a frame."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from social_world import SocialWorld

from thyme.approaches.socialcast.options import MAX_CONTENT_BYTES, MAX_MEMORY_IDS
from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId, ObjectKey
from thyme.model.normal_forms import Conjunction
from thyme.model.objects import MAX_SUMMARY_BYTES, MAX_TAGS, Metadata
from thyme.model.tags import MAX_TAG_CHARS
from thyme.sim.scenario import scenario_of
from thyme.wire.codec import MAX_FRAME_BYTES, decode, encode
from thyme.wire.message import Message
from thyme.wire.socialcast import Accept, Control, Data, Offer, Release, Wanted, identifier

METADATA = Metadata(ObjectKey("try", NodeId(3)), ("final", "rugby"), b"s", 12.5, 4)


@pytest.mark.parametrize(
    "message",
    [
        Control(
            (Wanted(Conjunction(("rugby",), ("tv",)), TimeFrame(1.0, None)),),
            (("final", "rugby"), ()),
            (900, 3),
            3,
            (1 << 62,),
        ),
        Data(METADATA, b"news", 3, (0, 2), 99.5),
        Data(METADATA, b"", 0),
        Offer(Data(METADATA, b"news", 3, (0, 2), 99.5), 1 << 40),
        Accept(7),
        Release(7),
    ],
)
def test_a_message_survives_the_wire(message: Message) -> None:
    assert decode(encode(message)) == message


def test_identifiers_tell_owners_and_names_apart() -> None:
    keys = [ObjectKey(oid, NodeId(owner)) for oid in ("1", "11", "x", "") for owner in (1, 11, 111)]
    assert len({identifier(key) for key in keys}) == len(keys)
    assert all(0 <= identifier(key) < 1 << 63 for key in keys)


def test_the_largest_object_fits_a_frame() -> None:
    tags = tuple(f"{i:02}" + "字" * (MAX_TAG_CHARS - 2) for i in range(MAX_TAGS))
    metadata = Metadata(ObjectKey("k" * 100, NodeId(3)), tags, bytes(MAX_SUMMARY_BYTES), 1.0, MAX_CONTENT_BYTES)
    data = Data(metadata, bytes(MAX_CONTENT_BYTES), 9, tuple(range(50)), 1.0)
    assert len(encode(Offer(data, (1 << 63) - 1))) <= MAX_FRAME_BYTES


def test_a_node_that_knows_many_long_topics_tells_those_that_fit(tmp_path: Path) -> None:
    world = SocialWorld(tmp_path, 2, [(0, 1, 0.0, 1000.0)], memory_ids=MAX_MEMORY_IDS, copies=1, hysteresis=1.0)
    long = ["".join(chr(ord("a") + (i >> bit & 1)) for bit in range(8)) + "字" * 60 for i in range(200)]
    for i in range(0, len(long), 10):
        world.subscribe(0, " | ".join(f'"{tag}"' for tag in long[i : i + 10]))
        if i >= 50:
            break
    for i in range(MAX_MEMORY_IDS):
        world.publish(1, f"m{i}", "other")
    world.until(300.0)
    frames = world.run.world.frames()
    assert frames is not None
    rows = [row for row in frames.to_pylist() if row["message"] == "Control" and row["sender"] == 1]
    assert 9 * MAX_MEMORY_IDS + 10 * len(long[0].encode()) < rows[-1]["size_bytes"] <= MAX_FRAME_BYTES


def test_the_scenario_of_the_docs_page_is_fine() -> None:
    page = (Path(__file__).parents[3] / "docs" / "explanation" / "approaches" / "socialcast.md").read_text("utf-8")
    scenario = scenario_of(tomllib.loads(page.split("```toml\n")[1].split("```")[0]), "docs page")
    assert scenario.approach == "socialcast"
