"""What the Thyme papers state about their simulations (FGCS §9.3), for the studies of the papers' own settings.

`claims.csv` has a line for each: the study and the approach that it is about, the metric, and the number, ratio or
trend. Claims belong to the study of the paper's own setting; other studies are not judged by them.
"""

from __future__ import annotations

import csv
from importlib.resources import files

import msgspec

from thyme.study.claims import Bound, Claim, Expectation, Trend
from thyme.study.definition import OWN_PRESETS, StudyDefinition
from thyme.study.shown_metrics import is_share

PRESETS = (OWN_PRESETS, files("thyme.papers.thyme").joinpath("presets"))
"""The studies that come with Thyme: its own, and those of the papers' settings, which the claims are about."""
TRENDS = ("falls", "grows", "holds")


def expectations_of(definition: StudyDefinition) -> list[Expectation]:
    """The claims of the paper about this study and its approaches."""
    # Where an approach runs twice, the paper's statements are about the paper's configuration.
    by_paper = sorted(definition.approaches, key=lambda choice: bool(choice.settings.get("paper")))
    titles = {choice.name: choice.title for choice in by_paper}
    text = files("thyme.papers.thyme").joinpath("claims.csv").read_text("utf-8")
    return [
        _expectation(row, titles)
        for row in csv.DictReader(text.splitlines())
        if row["study"] == definition.name and {row["approach"], row["against"] or row["approach"]} <= titles.keys()
    ]


def _expectation(row: dict[str, str], titles: dict[str, str]) -> Expectation:
    approach, against, metric = titles[row["approach"]], titles.get(row["against"], ""), row["metric"]
    claim = Claim(row["id"], row["place"], f"{metric}: {row['statement']}", _rule(row, against), approach)
    return Expectation(claim, approach, metric, _number(row["at"]), against)


def _rule(row: dict[str, str], against: str) -> Bound | Trend:
    percent = is_share(row["metric"]) and not against
    if row["relation"] in TRENDS:
        return msgspec.convert({"type": "trend", "direction": row["relation"], "is_share": percent}, Trend)
    given = {"relation": row["relation"], "value": float(row["value"]), "upper": _number(row["upper"])}
    return msgspec.convert({"type": "bound", **given, "is_share": percent, "against": against}, Bound)


def _number(text: str) -> float | None:
    return float(text) if text else None
