"""Contents by themselves: nothing is kept, fetched or read that is not what its metadata says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
from net import Net

from thyme.approaches.contents import ContentOptions, Contents, Fetches
from thyme.approaches.interface import Failure, Outcome
from thyme.approaches.requests import Requests, RetryOptions
from thyme.model.ids import NodeId, ObjectKey
from thyme.model.objects import Content, Metadata
from thyme.wire.storage import PartReply, PartRequest

DATA = bytes(range(256)) * 10
METADATA = Metadata.of(ObjectKey("photo", NodeId(1)), ("goal",), b"", 0.0, DATA)


@dataclass
class Sources:
    """Somebody who fetches, and sources by name, each of which answers in its own way."""

    answers: dict[str, Callable[[PartReply], PartReply]]
    net: Net = field(default_factory=Net)
    asked: list[str] = field(default_factory=list)
    ended: list[tuple[Outcome, Content]] = field(default_factory=list)

    def fetch(self) -> tuple[Outcome, Content]:
        contents = Contents(self.net.add(1, 0.0, 0.0))
        assert contents.keep(METADATA, DATA)

        def ask(source: str, request: PartRequest) -> None:
            self.asked.append(source)
            reply = self.answers[source](contents.answer(request))
            host.after(0.0, lambda: fetches.on_reply(reply))

        host = self.net.add(2, 0.0, 0.0)
        fetches: Fetches[str] = Fetches(Requests(host, RetryOptions()), ask, ContentOptions())
        fetches.fetch(METADATA, list(self.answers), lambda outcome, data: self.ended.append((outcome, data)))
        self.net.run(self.net.now_s + 100.0)
        assert len(self.ended) == 1
        return self.ended[0]


def rightly(reply: PartReply) -> PartReply:
    return reply


def emptily(reply: PartReply) -> PartReply:
    return msgspec.structs.replace(reply, part=b"")


def at_length(reply: PartReply) -> PartReply:
    return msgspec.structs.replace(reply, part=reply.part + b"more")


def wrongly(reply: PartReply) -> PartReply:
    return msgspec.structs.replace(reply, part=bytes(len(reply.part)))


def test_a_source_that_sends_something_else_is_passed_over() -> None:
    for falsely in (emptily, at_length, wrongly):
        sources = Sources({"false": falsely, "true": rightly})
        assert sources.fetch() == (Outcome(), DATA)
        assert set(sources.asked) == {"false", "true"}


def test_an_answer_about_another_object_is_ignored() -> None:
    def first_about_another(reply: PartReply) -> PartReply:
        first = len(sources.asked) == 1
        return msgspec.structs.replace(reply, key=ObjectKey("other", NodeId(1)), found=False) if first else reply

    sources = Sources({"a": first_about_another})
    assert sources.fetch() == (Outcome(), DATA)


def test_without_a_source_that_has_the_object_its_fetching_fails() -> None:
    for falsely in (emptily, at_length, wrongly):
        assert Sources({"one": falsely, "two": falsely}).fetch() == (Outcome(Failure.DAMAGED), b"")


def test_what_is_not_the_object_is_not_kept() -> None:
    contents = Contents(Net().add(1, 0.0, 0.0))
    for data in (b"", DATA[:-1], DATA + b"x", bytes(len(DATA))):
        assert not contents.keep(METADATA, data)
        assert not contents.has(METADATA.key)
    assert contents.keep(METADATA, DATA)
    assert contents.read(METADATA) == DATA


def test_what_was_damaged_where_it_is_kept_is_told_and_no_longer_there() -> None:
    host = Net().add(1, 0.0, 0.0)
    contents = Contents(host)
    lost: list[ObjectKey] = []
    contents.lost = lost.append
    contents.keep(METADATA, DATA)
    host.store.write(str(METADATA.key), 5, b"damage")
    assert contents.read(METADATA) is None
    contents.keep(METADATA, DATA)
    host.store.discard(str(METADATA.key))
    assert not contents.answer(PartRequest(1, METADATA.key, 0, 100)).found
    assert lost == [METADATA.key] * 2
    assert not contents.has(METADATA.key)


def test_an_object_of_a_version_without_digests_is_told_by_its_size() -> None:
    older = msgspec.structs.replace(METADATA, seal=b"")
    assert older.describes(bytes(len(DATA)))
    assert not older.describes(DATA[:-1])
