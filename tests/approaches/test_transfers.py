"""Transfers of large contents: lost parts, lying and dying sources, interruptions, and how much is in memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from net import FakeHost, Net

from thyme.approaches.contents import ContentOptions, Contents, Fetches
from thyme.approaches.interface import Failure, Outcome
from thyme.approaches.partial_contents import KIND, MAX_DRAFTS, list_key
from thyme.approaches.requests import Requests, RetryOptions
from thyme.approaches.transfers.fetching import MAX_TRANSFERS
from thyme.approaches.transfers.supplies import Supply, TransferOptions
from thyme.host import MemoryStore
from thyme.model.chunks import CHUNK_BYTES, content_digest
from thyme.model.ids import NodeId, ObjectKey
from thyme.model.objects import Content, InStore, Metadata
from thyme.wire.storage import PartReply, PartRequest

PART_BYTES = 8_192
SIZE_BYTES = 5 * CHUNK_BYTES + 1_000
DATA = (bytes(range(251)) * (SIZE_BYTES // 251 + 1))[:SIZE_BYTES]
TRIP_S = 0.002
KEY = ObjectKey("film", NodeId(1))
METADATA = Metadata(KEY, ("film",), b"", 0.0, SIZE_BYTES, seal=content_digest(DATA))

Answer = Callable[[PartRequest, PartReply], PartReply | None]
"""What a source makes of the true answer; None is silence."""


def honestly(request: PartRequest, reply: PartReply) -> PartReply | None:
    return reply


class Keeper:
    """A node that has the content."""

    def __init__(self, net: Net, answer: Answer) -> None:
        self.host = FakeHost(net, NodeId(1), net.hosts[NodeId(0)].place)
        self.contents = Contents(self.host)
        self.contents.keep(METADATA, DATA)
        self.answer = answer
        self.asked: list[int] = []
        """Where the parts begin that were asked of it."""


class Scene:
    """A node that fetches, and sources by name."""

    def __init__(self, store: MemoryStore | None = None, **sources: Answer) -> None:
        self.net = Net()
        self.host = self.net.add(0, 0.0, 0.0)
        if store is not None:
            self.host.store = store
        self.keepers = {name: Keeper(self.net, answer) for name, answer in sources.items()}
        self.fetched: list[tuple[Outcome, Content]] = []
        self.progress: list[int] = []
        self.fetches: Fetches[str] = Fetches(
            Requests(self.host, RetryOptions()),
            self.ask,
            ContentOptions(part_bytes=PART_BYTES),
            lambda key, have, size: self.progress.append(have),
        )

    def ask(self, source: str, request: PartRequest) -> None:
        keeper = self.keepers[source]
        keeper.asked.append(request.offset)
        reply = keeper.answer(request, keeper.contents.answer(request))
        if reply is not None:
            self.net.after(TRIP_S, lambda: self.fetches.on_reply(reply))

    def fetch(self, wait_s: float = 200.0, metadata: Metadata = METADATA) -> Scene:
        self.fetches.fetch(
            metadata, list(self.keepers), lambda outcome, content: self.fetched.append((outcome, content))
        )
        self.net.run(self.net.now_s + wait_s)
        return self

    def stored(self) -> bytes:
        return self.host.store.read(str(KEY), 0, SIZE_BYTES)

    def expect_all(self) -> None:
        assert self.fetched == [(Outcome(), InStore(SIZE_BYTES, METADATA.digest))]
        assert self.stored() == DATA
        assert self.progress[-1] == SIZE_BYTES


def lossy(every: int) -> Answer:
    asked = [0]

    def answer(request: PartRequest, reply: PartReply) -> PartReply | None:
        asked[0] += 1
        return None if asked[0] % every == 0 else reply

    return answer


def dying_after(parts: int) -> Answer:
    asked = [0]

    def answer(request: PartRequest, reply: PartReply) -> PartReply | None:
        asked[0] += 1
        return reply if asked[0] <= parts else None

    return answer


def lying(begin: int, end: int) -> Answer:
    """About the bytes from `begin` to `end`; the list of chunks begins at the size of the content."""

    def answer(request: PartRequest, reply: PartReply) -> PartReply | None:
        if not begin <= request.offset < end:
            return reply
        return PartReply(reply.request, reply.key, True, reply.offset, reply.total_bytes, bytes(len(reply.part)))

    return answer


def without(request: PartRequest, reply: PartReply) -> PartReply | None:
    return PartReply(reply.request, reply.key, False)


def chunk_of(offset: int) -> int:
    return offset // CHUNK_BYTES


def test_a_large_content_comes_from_several_sources_at_once_and_lies_in_the_store() -> None:
    scene = Scene(one=honestly, two=honestly).fetch()
    scene.expect_all()
    asked = [{chunk_of(offset) for offset in keeper.asked if offset < SIZE_BYTES} for keeper in scene.keepers.values()]
    assert all(asked), "both gave chunks"
    assert not asked[0] & asked[1], "and no chunk was asked of both"


def test_progress_grows_chunk_by_chunk_up_to_the_whole() -> None:
    scene = Scene(one=honestly).fetch()
    assert scene.progress == sorted(scene.progress)
    assert len(scene.progress) == 6


def test_lost_parts_are_asked_for_again() -> None:
    scene = Scene(one=lossy(7)).fetch()
    scene.expect_all()
    assert len(scene.keepers["one"].asked) > len(set(scene.keepers["one"].asked))


def test_a_wrong_chunk_is_refused_and_asked_elsewhere() -> None:
    scene = Scene(liar=lying(2 * CHUNK_BYTES, SIZE_BYTES), honest=honestly).fetch()
    scene.expect_all()
    assert 2 * CHUNK_BYTES <= scene.keepers["liar"].asked[-1] < SIZE_BYTES, "it was asked until it lied"
    assert "damaged" in [getattr(record, "reason", "") for record in scene.host.records]


def test_a_liar_alone_gives_nothing_and_nothing_false_is_kept() -> None:
    scene = Scene(liar=lying(0, SIZE_BYTES)).fetch()
    assert scene.fetched == [(Outcome(Failure.DAMAGED), b"")]
    assert scene.stored() == b""


def test_a_made_up_list_of_chunks_is_refused() -> None:
    scene = Scene(liar=lying(SIZE_BYTES, 2 * SIZE_BYTES), honest=honestly).fetch()
    scene.expect_all()
    assert all(offset >= SIZE_BYTES for offset in scene.keepers["liar"].asked)


def test_parts_of_the_wrong_length_are_refused() -> None:
    def short(request: PartRequest, reply: PartReply) -> PartReply | None:
        return PartReply(reply.request, reply.key, True, reply.offset, reply.total_bytes, reply.part[1:])

    Scene(short=short, honest=honestly).fetch().expect_all()


def test_when_a_source_dies_midway_the_others_go_on() -> None:
    Scene(dying=dying_after(30), one=honestly).fetch().expect_all()


def test_sources_beyond_those_asked_at_once_take_the_place_of_those_that_have_nothing() -> None:
    names = {f"empty{i}": without for i in range(6)}
    Scene(None, **names, last=honestly).fetch().expect_all()


def test_nobody_who_has_it_is_told_as_such() -> None:
    assert Scene(one=without, two=without).fetch().fetched == [(Outcome(Failure.NOT_FOUND), b"")]


def test_the_only_source_may_be_away_for_a_while() -> None:
    scene = Scene(one=honestly)
    keeper = scene.keepers["one"]
    scene.net.after(0.02, lambda: setattr(keeper, "answer", lossy(1)))
    scene.net.after(15.0, lambda: setattr(keeper, "answer", honestly))
    scene.fetch().expect_all()


def test_a_source_that_stays_away_ends_the_transfer_and_the_rest_comes_later_from_where_it_stopped() -> None:
    scene = Scene(one=dying_after(60)).fetch()
    assert [outcome.failure for outcome, _ in scene.fetched] == [Failure.TIMEOUT]
    there = len(scene.keepers["one"].asked)
    scene.fetched.clear()
    scene.keepers["one"].answer = honestly
    scene.keepers["one"].asked.clear()
    scene.fetch().expect_all()
    assert 0 < len(scene.keepers["one"].asked) < there
    assert all(CHUNK_BYTES <= offset < SIZE_BYTES for offset in scene.keepers["one"].asked)


def test_a_restart_goes_on_with_the_chunks_that_are_whole() -> None:
    before = Scene(one=dying_after(60)).fetch(wait_s=1.0)
    store = before.host.store
    assert 0 < store.size(str(KEY)) < SIZE_BYTES
    store.write(str(KEY), 10, b"torn")  # in the first chunk
    scene = Scene(store, one=honestly).fetch()
    scene.expect_all()
    asked = {chunk_of(offset) for offset in scene.keepers["one"].asked}
    assert 0 in asked
    assert 1 not in asked
    assert SIZE_BYTES not in scene.keepers["one"].asked, "the list of chunks was there"


def test_a_draft_of_other_bytes_under_the_same_name_is_not_taken_up() -> None:
    other = Metadata(KEY, ("film",), b"", 0.0, SIZE_BYTES, seal=content_digest(bytes(SIZE_BYTES)))
    before = Scene(one=honestly).fetch()
    scene = Scene(before.host.store, one=honestly).fetch(metadata=other)
    assert [outcome.failure for outcome, _ in scene.fetched] == [Failure.DAMAGED]


def test_a_paused_transfer_asks_for_nothing_and_goes_on_when_it_is_wanted_again() -> None:
    scene = Scene(one=honestly)
    scene.fetch(wait_s=0.007)
    scene.fetches.pause(KEY)
    asked = len(scene.keepers["one"].asked)
    scene.net.run(scene.net.now_s + 10.0)
    assert len(scene.keepers["one"].asked) == asked
    assert scene.fetched == [(Outcome(Failure.CANCELLED), b"")]
    scene.fetched.clear()
    scene.fetch().expect_all()


def test_two_who_want_the_same_content_share_one_transfer() -> None:
    scene = Scene(one=honestly)
    scene.fetch(wait_s=0.01)
    scene.fetch()
    assert [outcome.ok for outcome, _ in scene.fetched] == [True, True]
    assert len(scene.keepers["one"].asked) == len(set(scene.keepers["one"].asked))


class SlowStore(MemoryStore):
    """A disk that takes its time; counts what waits for it."""

    def __init__(self, net: Net) -> None:
        super().__init__()
        self._net = net
        self.waiting = 0
        self.most = 0

    def write(
        self,
        key: str,
        offset: int,
        part: bytes,
        written: Callable[[], None] | None = None,
        *,
        since_s: float | None = None,
    ) -> None:
        super().write(key, offset, part)
        if written is None or key.endswith("#chunks"):
            return
        self.waiting += 1
        self.most = max(self.most, self.waiting)

        def lasting() -> None:
            self.waiting -= 1
            written()

        self._net.after(0.5, lasting)


def test_a_slow_disk_slows_the_transfer_down_and_memory_stays_bounded() -> None:
    scene = Scene(one=honestly, two=honestly)
    scene.host.store = store = SlowStore(scene.net)
    options = ContentOptions(part_bytes=PART_BYTES, transfers=TransferOptions(chunks=2))
    scene.fetches = Fetches(
        Requests(scene.host, RetryOptions()),
        scene.ask,
        options,
        lambda *told: scene.progress.append(told[1]),
    )
    scene.fetch().expect_all()
    assert store.most == 2


def test_transfers_and_drafts_have_their_maximum() -> None:
    scene = Scene(one=lossy(1))
    many = [msg(number) for number in range(MAX_TRANSFERS + 1)]
    for metadata in many:
        scene.fetch(wait_s=0.0, metadata=metadata)
    assert scene.fetched == [(Outcome(Failure.REFUSED), b"")]
    scene.net.run(1_000.0)
    for number in range(100, 100 + MAX_DRAFTS):
        scene.fetch(metadata=msg(number))
    assert len(list(scene.host.store.items(KIND))) == MAX_DRAFTS


def msg(number: int) -> Metadata:
    return Metadata(ObjectKey(f"film{number}", NodeId(1)), ("film",), b"", 0.0, SIZE_BYTES, seal=bytes(32))


def test_an_object_that_claims_to_be_larger_than_any_may_be_is_refused() -> None:
    huge = Metadata(KEY, ("film",), b"", 0.0, 2**60, seal=bytes(32))
    scene = Scene(one=honestly).fetch(metadata=huge)
    assert scene.fetched == [(Outcome(Failure.REFUSED), b"")]
    assert scene.keepers["one"].asked == []


def test_what_is_kept_is_not_fetched_and_dropping_it_leaves_nothing() -> None:
    scene = Scene(one=honestly).fetch()
    contents = Contents(scene.host)
    assert contents.keep(METADATA, InStore(SIZE_BYTES, METADATA.digest))
    scene.keepers["one"].asked.clear()
    scene.fetch()
    assert scene.fetched[1] == scene.fetched[0]
    assert scene.keepers["one"].asked == []
    contents.release(KEY)
    assert scene.stored() == DATA, "what is kept is not released"
    contents.drop(KEY)
    assert scene.host.store.size(str(KEY)) == scene.host.store.size(list_key(KEY)) == 0


def test_a_window_opens_while_answers_are_fast_and_halves_when_one_is_late() -> None:
    supply = Supply("one", TransferOptions())
    for _ in range(30):
        supply.answered(0.01)
    assert supply.window == 34.0
    supply.late(1.0)
    supply.late(1.1)
    assert supply.window == 17.0
    for _ in range(1_000):
        supply.answered(0.2)
    assert supply.window < 17.0
    for _ in range(1_000):
        supply.answered(0.01)
    assert supply.window == 64.0


@pytest.mark.parametrize("took_s", [0.001, 0.1, 3.0])
def test_patience_follows_the_answers_within_its_bounds(took_s: float) -> None:
    supply = Supply("one", TransferOptions())
    for _ in range(50):
        supply.answered(took_s)
    assert 0.5 <= supply.patience_s <= 4.0
    assert supply.patience_s >= min(took_s, 4.0)


def test_a_request_is_not_given_up_while_there_are_signs_that_it_is_carried_out() -> None:
    net = Net()
    host = net.add(0, 0.0, 0.0)
    requests, outcomes = Requests(host, RetryOptions()), list[Outcome]()
    number = requests.begin(lambda number: None, outcomes.append)
    for second in range(100):
        net.run(float(second))
        requests.prolong(number)
    assert outcomes == []
    net.run(200.0)
    assert outcomes == [Outcome(Failure.TIMEOUT)]
