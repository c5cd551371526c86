"""SocialCast runs, compiled: a scenario and its operations in, who was told what and when out.

The same run as `simulate` plays with the approach's classes, some twenty times as fast; only what an evaluation of
SocialCast reads is kept. `refusal` says what the compiled run does not know, and such runs belong to `simulate`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

import msgspec
import numpy as np
from numpy.typing import NDArray

from thyme.approaches.registry import find_approach
from thyme.approaches.socialcast.options import SocialCastOptions
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.objects import Metadata
from thyme.model.operations import Operation
from thyme.model.queries import parse_query
from thyme.model.records import OperationKind
from thyme.model.tags import normalise_tag
from thyme.papers.socialcast.twin.state import (
    INSERT,
    MAX_HANDS,
    NOTHING,
    SUBSCRIBE,
    Asked,
    Changes,
    Kalman,
    Rules,
    Sizes,
    new_state,
)
from thyme.sim.radios.disc.contacts import changes_of
from thyme.sim.radios.models import DiscModel
from thyme.sim.run import contacts_in, movement_for
from thyme.sim.scenario import Scenario
from thyme.wire.codec import encode
from thyme.wire.socialcast import UNIT, Accept, Data, Offer, Release, Wanted, identifier
from thyme.world.churn import NoChurn
from thyme.world.contacts.table import Contacts
from thyme.world.mobility.models import Community, RecordedContacts
from thyme.world.mobility.movement import Floats, Ints

_ROUTINGS = ("prediction", "none")


class SocialRun(msgspec.Struct, frozen=True):
    """What a run gave. Rows of notifications are in order of time; messages are numbered as they were published."""

    subscriber: tuple[int, ...]
    message: tuple[int, ...]
    at_s: tuple[float, ...]
    hops: tuple[int, ...]
    buffered: tuple[int, ...]
    """Copies in each node's buffer at its first sample, by the order of nodes; empty without samples."""
    data_received: int
    data_sent: int
    control_sent: int
    control_bytes: int
    """With the headers of the radio."""


def play_compiled(scenario: Scenario, operations: Sequence[Operation], contacts: Contacts | None = None) -> SocialRun:
    """Play a run of SocialCast; an `InputError` says what of it is not known here. Runs with the same
    `contacts_key` may share their contacts (`contacts_for`)."""
    # Compiled code takes a while to load; whoever only reads what runs gave does not need it.
    from thyme.papers.socialcast.twin.kernel import play

    options = options_of(scenario)
    wrong = refusal(scenario, options, operations)
    if wrong:
        raise InputError(f"not a run for the compiled SocialCast: {wrong}; play it with `simulate`")
    rules = _rules(scenario, options)
    dice, first_turn_s = _dice(scenario, options)
    topics = list(dict.fromkeys(_topic(operation) for operation in operations))
    asked, message_topic = _asked(operations, {topic: k for k, topic in enumerate(topics)})
    kalman = _kalman(options)
    first = options.utilities.kalman.first_estimate, options.utilities.kalman.first_variance
    state = new_state(scenario.nodes, message_topic, max(1, len(topics)), rules, first, dice)
    changes = Changes(*changes_of(contacts_for(scenario) if contacts is None else contacts))
    play(rules, kalman, changes, asked, _sizes(scenario, operations, topics), state, first_turn_s)
    if state.hands.overflown[0]:
        raise InputError(f"more than {MAX_HANDS} copies of a node were changing hands at once; play it with `simulate`")
    rows = state.readers.rows[: int(state.readers.told[0])]
    subscriber, message, hops = (tuple(rows[:, column].astype(np.int64).tolist()) for column in (0, 1, 3))
    buffered = tuple(size for size in state.samples.buffered.tolist() if size >= 0)
    received, sent, control, control_bytes, _ = state.air.tally.tolist()
    return SocialRun(
        subscriber, message, tuple(rows[:, 2].tolist()), hops, buffered, received, sent, control, control_bytes
    )


def options_of(scenario: Scenario) -> SocialCastOptions:
    if scenario.approach != "socialcast":
        raise InputError(f"approach is {scenario.approach!r}; the compiled run plays socialcast only")
    options = find_approach("socialcast").configure(scenario.settings, "[settings]")
    assert isinstance(options, SocialCastOptions)
    return options


def refusal(scenario: Scenario, options: SocialCastOptions, operations: Sequence[Operation]) -> str:
    """What of this run is not known here; empty if it can be played."""
    inserts = sum(operation.kind == OperationKind.INSERT for operation in operations)
    subscribers = [operation.node for operation in operations if operation.kind == OperationKind.SUBSCRIBE]
    disc = scenario.radio if isinstance(scenario.radio, DiscModel) else None
    checks = (
        (options.routing in _ROUTINGS, f"routing {options.routing!r}"),
        (options.given_ids == 0, "given_ids"),
        (not options.adapt_copies, "adapt_copies"),
        (options.lifetime_s == 0.0 and not options.lifetimes_s, "lifetime_s or lifetimes_s"),
        (options.buffer_copies >= inserts * options.copies, "a buffer that may fill up"),
        (options.neighbours >= scenario.nodes, "a table of neighbours that may fill up"),
        (isinstance(scenario.movement, Community | RecordedContacts) and disc is not None, "its reach"),
        (disc is not None and disc.loss == 0.0 and not scenario.faults, "losses"),
        (isinstance(scenario.churn, NoChurn) and scenario.users.retrieval.probability == 0.0, "churn or retrievals"),
        (all(_known(operation) for operation in operations), "operations on more than one tag, or of other kinds"),
        (len(set(subscribers)) == len(subscribers), "two subscriptions of one node"),
    )
    return next((name for fine, name in checks if not fine), "")


def _known(operation: Operation) -> bool:
    if operation.kind == OperationKind.INSERT:
        return len(operation.tags) == 1
    plain = operation.kind == OperationKind.SUBSCRIBE and operation.query.isalnum()
    return plain and operation.frame == TimeFrame.always()


def _topic(operation: Operation) -> str:
    return normalise_tag(operation.tags[0] if operation.kind == OperationKind.INSERT else operation.query)


def _rules(scenario: Scenario, options: SocialCastOptions) -> Rules:
    disc = scenario.radio
    assert isinstance(disc, DiscModel)
    return Rules(
        predicts=options.routing == "prediction",
        period_s=options.period_s,
        lifetime_s=options.period_s * options.neighbour_lifetime_periods,
        copies=options.copies,
        ttl_hops=options.ttl_hops,
        hysteresis=round(UNIT * options.hysteresis),
        memory_ids=options.memory_ids,
        sample_every_s=options.sample_every_s,
        rate_bps=disc.rate_bps,
        header_bytes=disc.header_bytes,
        retries=disc.retries,
        retry_wait_s=disc.retry_wait_s,
        until_s=scenario.time.until_s,
        confirmed=options.handover == "confirmed",
        answer_wait_s=options.answer_wait_s,
        unreleased_s=options.unreleased_s,
    )


def _kalman(options: SocialCastOptions) -> Kalman:
    utilities = options.utilities
    return Kalman(
        state_noise=utilities.kalman.state_noise,
        observation_noise=utilities.kalman.observation_noise,
        first_estimate=utilities.kalman.first_estimate,
        error_weight=1.0 / utilities.trust.memory_samples,
        error_bound=utilities.trust.error_bound,
        unit_colocation=UNIT * utilities.weight_colocation,
        unit_connectivity=UNIT * utilities.weight_connectivity,
    )


def _dice(scenario: Scenario, options: SocialCastOptions) -> tuple[NDArray[np.uint32], Floats]:
    """Every node's dice as they are after its first turn was drawn, and when that turn is."""
    rows: list[tuple[int, ...]] = []
    turns_s: list[float] = []
    for node in range(scenario.nodes):
        random = Random(f"{scenario.run_seed}/{node}")
        turns_s.append(random.uniform(0.0, options.period_s))
        rows.append(random.getstate()[1])
    return np.array(rows, np.uint32), np.array(turns_s)


def _asked(operations: Sequence[Operation], topics: dict[str, int]) -> tuple[Asked, Ints]:
    """The operations, and the topic of every message that they publish."""
    inserts = [operation for operation in operations if operation.kind == OperationKind.INSERT]
    number = {operation.operation: k for k, operation in enumerate(inserts)}
    asked = Asked(
        at_s=np.array([operation.at_s for operation in operations], np.float64),
        kind=_ints(INSERT if one.kind == OperationKind.INSERT else SUBSCRIBE for one in operations),
        node=_ints(operation.node for operation in operations),
        topic=_ints(topics[_topic(operation)] for operation in operations),
        message=_ints(number.get(operation.operation, NOTHING) for operation in operations),
    )
    return asked, _ints(topics[_topic(operation)] for operation in inserts)


def _sizes(scenario: Scenario, operations: Sequence[Operation], topics: Sequence[str]) -> Sizes:
    inserts = [operation for operation in operations if operation.kind == OperationKind.INSERT]
    wanted_bytes = np.ones((scenario.nodes, 2), np.int64)
    for operation in operations:
        if operation.kind == OperationKind.SUBSCRIBE:
            (conjunction,) = parse_query(operation.query).dnf()
            wanted_bytes[operation.node, 1] = _size([Wanted(conjunction, operation.frame)])
    return Sizes(
        data_bytes=_ints(len(encode(_first_data(operation))) for operation in inserts),
        id_bytes=_ints(_size(identifier(operation.object_key)) for operation in inserts),
        topic_bytes=_ints(_size((topic,)) for topic in topics or [""]),
        wanted_bytes=wanted_bytes,
        offer_bytes=_ints(len(encode(Offer(_first_data(operation), 0))) for operation in inserts),
        answer_bytes=_ints(len(encode(message)) for message in (Accept(0), Release(0))),
    )


def contacts_key(scenario: Scenario) -> bytes:
    """Equal for scenarios in which the same people meet at the same times."""
    range_m, until_s = _range_m(scenario), scenario.time.until_s
    return msgspec.json.encode(
        (scenario.nodes, scenario.venue, scenario.movement, range_m, until_s, scenario.place_seed, scenario.servers)
    )


def contacts_for(scenario: Scenario) -> Contacts:
    met = contacts_in(scenario, movement_for(scenario), _range_m(scenario))
    assert met is not None, "a movement whose contacts are not known beforehand is refused"
    return met


def _range_m(scenario: Scenario) -> float:
    assert isinstance(scenario.radio, DiscModel), "other radios are refused"
    return scenario.radio.range_m


def _first_data(operation: Operation) -> Data:
    content = operation.content()
    tags = (_topic(operation),)
    metadata = Metadata.of(operation.object_key, tags, operation.summary(), operation.at_s, content)
    return Data(metadata, content, 0)


def _size(value: object) -> int:
    return len(msgspec.msgpack.encode(value))


def _ints(values: Iterable[int]) -> Ints:
    return np.array(list(values), np.int64)
