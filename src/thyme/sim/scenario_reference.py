"""What there is to say in a scenario, told from its types: the template of a new one, the models, and the reference
page (`thyme scenario models --markdown` prints it)."""

from __future__ import annotations

from thyme.approaches.registry import APPROACHES, find_approach
from thyme.model.errors import InputError
from thyme.model.settings import sections_of
from thyme.model.settings.writing import markdown_keys, markdown_section, models_text, toml_template
from thyme.sim.scenario import Scenario

_TEMPLATE_HEAD = """\
# A scenario of Thyme. Everything that is left out has the value of the papers' static evaluation.
# A line that begins with # and no blank is a key with its default: take the # away and change it.
# Where a section has several models, set its `model`, and of the keys only those that follow that line.
"""

EXAMPLE = """\
name = "festival"
nodes = 100
approach = "dcs"
seed = 7

[settings]
past_matches = 40

[venue]
width_m = 400.0
height_m = 200.0

[movement]
model = "waypoint"
min_speed_mps = 0.5
max_speed_mps = 1.5
min_pause_s = 30.0
max_pause_s = 120.0
mobile_fraction = 0.6

[radio]
model = "wifi"
profile = "thyme"

[churn]
model = "alternate"
fraction = 0.2
on_s = 120.0
off_s = 60.0

[users]
retrieval.probability = 0.5

[[faults]]
kind = "jam"
from_s = 300.0
to_s = 360.0
x_m = 100.0
y_m = 100.0
radius_m = 50.0

[disk]
commit_s = 0.01

[time]
until_s = 720.0
"""
"""A complete scenario, for the page; a test checks it."""

_PAGE_HEAD = f"""\
# Scenarios

A scenario is a TOML file that says everything a run depends on besides its trace: who is where, how they move, what the
air does, who leaves, and which approach they use. `thyme scenario new crowd.toml` writes one with every key,
`thyme scenario check` says what is wrong with it, `thyme simulate` runs it, and a study's `[scenario]` has the same
keys. `--set KEY=VALUE` changes one key from the command line, dotted and with a value as TOML writes it
(`--set radio.model=wifi --set 'churn={{model="crash", fraction=0.3}}'`).

`[movement]`, `[radio]` and `[churn]` have several models. `model` names one; the keys of that model stand beside it. To
change the model with `--set` is refused if the file sets keys that only the former model has: give the section anew.

This page is printed by `thyme scenario models --markdown`, from the types themselves.

## A complete example

```toml
{EXAMPLE}```
"""


def scenario_template(nodes: int, approach: str) -> str:
    """A file with every default, and these two keys set."""
    chosen = {"name": "crowd", "nodes": nodes, "approach": approach, "seed": 1}
    head = f"{_TEMPLATE_HEAD}# Approaches: {', '.join(APPROACHES)}.\n\n"
    return head + toml_template(Scenario, chosen, {"settings": find_approach(approach).settings})


def models_reference(section: str = "") -> str:
    """The models of one section, or of all that have several."""
    known = {one.name: one for one in sections_of(Scenario)[1] if one.models}
    if section and section not in known:
        raise InputError(f"there is no section {section!r} with models; expected one of {', '.join(known)}")
    return "\n\n".join(models_text(one) for name, one in known.items() if section in ("", name))


def scenario_page() -> str:
    keys, sections = sections_of(Scenario)
    approaches = "\n".join(f"- `{name}`: {one.title}, {one.summary}" for name, one in APPROACHES.items())
    plain = f"## Keys of the scenario itself\n\n{markdown_keys(keys)}\n\nApproaches:\n\n{approaches}"
    parts = [_PAGE_HEAD.rstrip(), plain]
    return "\n\n".join([*parts, *(markdown_section(section) for section in sections)]) + "\n"
