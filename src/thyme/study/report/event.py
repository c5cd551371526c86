"""From the answer to the event: what the chosen approach needs, what it costs, and the commands that start it."""

from __future__ import annotations

import shlex

import msgspec

from thyme.approaches.registry import find_approach
from thyme.sim.scenario import Scenario
from thyme.study.plan import Plan
from thyme.study.report.choosing import Score
from thyme.study.wording import duration, round_share, size

PHONE_BATTERY_J = 55_000.0
"""A battery of 4,000 mAh at 3.8 V."""
SERVER_ID = "ID"


class Step(msgspec.Struct, frozen=True):
    """One thing to do, with the command for it."""

    what: str
    command: str


class AtTheEvent(msgspec.Struct, frozen=True):
    needs: str
    costs: str
    steps: tuple[Step, ...]


def at_the_event(plan: Plan, chosen: Score) -> AtTheEvent:
    choice = next(one for one in plan.definition.approaches if one.title == chosen.approach)
    scenario = next(run.scenario for run in plan.runs if run.point == chosen.point)
    return AtTheEvent(_needs(choice.name), _costs(chosen, scenario), tuple(_steps(plan, choice.name, scenario)))


def _needs(name: str) -> str:
    can = find_approach(name).capabilities
    wanted = [
        "one more device as the server, such as a laptop in the middle of the crowd, which must not fail"
        if can.needs_server
        else "no server and no Internet, only the people's devices",
        "every device has to know where it is in the venue" if can.needs_positions else "",
        "" if can.deletes else "nothing can be deleted",
        "" if can.answers_past else "people are told only of what is shared after they asked",
        "what was shared before is found only as far as it is in reach" if can.past_is_best_effort else "",
    ]
    return "; ".join(filter(None, wanted))


def _costs(chosen: Score, scenario: Scenario) -> str:
    minutes = scenario.time.until_s / 60.0
    told = []
    if chosen.air_bytes is not None:
        told.append(f"each device sends {size(chosen.air_bytes / scenario.nodes / minutes)} a minute")
    if chosen.joules is not None:
        hourly = chosen.joules / minutes * 60.0 / PHONE_BATTERY_J
        told.append(f"its Wi-Fi takes {round_share(hourly)} of a phone's battery an hour, listening included")
    if chosen.latency_s is not None:
        told.append(f"half of the notifications take {duration(chosen.latency_s)} or less")
    return "; ".join(told)


def _steps(plan: Plan, name: str, scenario: Scenario) -> list[Step]:
    can = find_approach(name).capabilities
    called = shlex.quote(plan.definition.name)
    new = f"thyme namespace new {called} --approach {name}"
    start = f"thyme node start --namespace {called} --background"
    steps = []
    if can.needs_server:
        steps.append(
            Step("On the server: start its node and note the id that is shown", "thyme node start --background")
        )
        steps.append(Step("Stop it again, to start it in the namespace below", "thyme node stop"))
        new += f" --set 'servers=[{SERVER_ID}]'"
    if can.needs_positions:
        area = scenario.area()
        new += f" --set grid.width_m={area.width_m:.1f} --set grid.height_m={area.height_m:.1f}"
        start += " --at X,Y"
    steps.append(Step("Once, on one device: create the namespace, with everything that all devices must agree on", new))
    steps.append(Step("Show its invitation as a QR code", f"thyme namespace invite {called} --qr"))
    steps.append(Step("On every device: accept the invitation", "thyme namespace join thyme:…"))
    where = ", saying where it stands in metres from the lower left corner" if can.needs_positions else ""
    steps.append(Step(f"Start a node{where}", start))
    steps.append(Step("Share something", "thyme put photo.jpg --tags goal"))
    steps.append(Step("Be told of it", "thyme sub goal"))
    if name == "dcs":
        steps.append(
            Step(
                "Or, for photos in the browser, on one laptop for all phones", f"thyme gallery --name {called} --share"
            )
        )
    return steps
