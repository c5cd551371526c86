"""The keys of a study file, generated from its types (`thyme study keys` prints it)."""

from __future__ import annotations

import msgspec

from thyme.model.settings.describing import keys_of
from thyme.model.settings.writing import markdown_keys
from thyme.pipeline.posts.generate import PostOptions
from thyme.pipeline.traces.trace import TraceOptions
from thyme.study.definition import ApproachChoice, StudyDefinition
from thyme.study.questions import CrowdDescription, study_text
from thyme.study.variations import Variation

_HEAD = """\
# Studies

A study asks which approach fits a crowd. It is a TOML file, or a preset that comes with Thyme (`thyme study --preset
list`). `thyme study new FILE.toml` asks a few questions and writes one; `thyme study FILE.toml` runs it and writes a
report; `thyme studio` does both in the browser. `thyme study compare A B` puts two side by side. `--set KEY=VALUE`
changes one key from the command line.

- A **scenario** says everything about the crowd ([its keys](scenarios.md)). Every approach runs the same ones.
- The **grid** gives several values to keys of the scenario (`nodes`, `churn.fraction`) or of the trace
  (`trace.publisher_share`); the report's figures have them along their axis.
- **Variations** change one assumption about the crowd each; a few runs show whether the answer changes too. Without
  the key `variations`, the usual ones are run.
- The **answer**: an approach is dependable where 95 % of operations succeed and 90 % of the expected notifications
  arrive. Among those, the `priority` decides by its measure: an approach is ruled out if it is worse in every run. The
  answer says by how much approaches differ, and which ones the runs cannot tell apart. Intervals span the observed
  runs: all of them for up to five runs, a 95 % interval of the median from six on.
- The **report** is one page that needs nothing else: the answer, what it needs and costs, what it assumes, how it does
  in variations, the commands that start it at the event, a replay of half a minute, numbers and figures. Figures show
  their numbers under the pointer, and a click on a column's head sorts a table.

![The report of a study, on a desktop and on a phone](../figures/report.webp)

*The report of the [tutorial](../tutorials/study.md): the answer, its assumptions, variations, commands for the event.*

This page is printed by `thyme study keys`, from the types themselves.

## A complete example
"""


def study_page() -> str:
    example = f"```toml\n{study_text(CrowdDescription(name='festival', people=50, width_m=200.0, height_m=100.0))}```"
    parts = [
        _HEAD.rstrip(),
        example,
        _keys("Keys of the study itself", StudyDefinition),
        _keys("`[[approaches]]`", ApproachChoice),
        _keys("`[[variations]]`", Variation),
        _keys("`[posts]` `generate`", PostOptions),
        _keys("`[trace]`", TraceOptions, "Or `file`, a trace that is ready."),
    ]
    return "\n\n".join(parts) + "\n"


def _keys(title: str, kind: type[msgspec.Struct], remark: str = "") -> str:
    return "\n\n".join([f"## {title}", *([remark] if remark else []), markdown_keys(keys_of(kind))])
