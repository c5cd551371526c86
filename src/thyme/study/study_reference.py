"""What there is to say in a study file, told from its types: docs/studies.md (`thyme study keys` prints it)."""

from __future__ import annotations

import msgspec

from thyme.model.settings.describing import keys_of
from thyme.model.settings.writing import markdown_keys
from thyme.pipeline.posts.generate import PostOptions
from thyme.pipeline.traces.trace import TraceOptions
from thyme.study.asking import Asked, study_text
from thyme.study.definition import ApproachChoice, StudyDefinition
from thyme.study.scenes import Scene

_HEAD = """\
# Studies

A study asks which approach fits a crowd. It is a TOML file, or a preset that comes with Thyme (`thyme study --preset
list`). `thyme study new FILE.toml` asks a few questions and writes one; `thyme study FILE.toml` plays it and writes a
report; `thyme study compare A B` puts two side by side. `--set KEY=VALUE` changes one key from the command line.

- A **scenario** says everything about the crowd (docs/scenarios.md has its keys). Every approach plays the same ones.
- The **grid** gives several values to keys of the scenario (`nodes`, `churn.fraction`) or of the trace
  (`trace.publisher_share`); the report's figures have them along their axis.
- **Scenes** are neighbours of the crowd that was asked about: one assumption is another, and a few runs tell whether
  the answer tips over. Without the key `scenes`, the usual neighbours are played.
- The **answer**: an approach is dependable where 95 % of operations succeed and 90 % of the expected notifications
  arrive. Among those, what `matters` decides; only differences that exceed what runs differ by count, and where they do
  not, the answer says that the approaches cannot be told apart. Intervals go from one run to another (the whole span of
  few runs; from six runs on, the one that holds the median run with 95 %), so that they never leave what is possible.
  Where a neighbouring scene separates what the asked one does not, the answer says which to take there.
- The **report** is one page that needs nothing else: the answer, what it assumes, where it tips over, the approach it
  names at work (half a minute of the first run, played again with its messages), numbers and figures. Figures tell
  their numbers under the pointer, tables are sorted by a click on a column's head.

![The report of `make study`, on a desktop and on a phone](figures/report.webp)
![The report of a study on 1,558 ingested posts of a festival](figures/report_posts.webp)

This page is printed by `thyme study keys`, from the types themselves.

## A complete example
"""


def study_page() -> str:
    example = f"```toml\n{study_text(Asked(name='festival', people=50, width_m=200.0, height_m=100.0))}```"
    parts = [
        _HEAD.rstrip(),
        example,
        _keys("Keys of the study itself", StudyDefinition),
        _keys("`[[approaches]]`", ApproachChoice),
        _keys("`[[scenes]]`", Scene),
        _keys("`[posts]` `generate`", PostOptions),
        _keys("`[trace]`", TraceOptions, "Or `file`, a trace that is ready."),
    ]
    return "\n\n".join(parts) + "\n"


def _keys(title: str, kind: type[msgspec.Struct], remark: str = "") -> str:
    return "\n\n".join([f"## {title}", *([remark] if remark else []), markdown_keys(keys_of(kind))])
