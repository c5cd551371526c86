"""Approaches that cannot run where nobody's place is known are refused before a run, with those that can."""

from __future__ import annotations

from pathlib import Path

import pytest

from thyme.model.errors import InputError
from thyme.sim.scenario import misfit, scenario_of
from thyme.world.movement_models import RecordedContacts, Static


def met(approach: str) -> dict[str, object]:
    return {"nodes": 4, "approach": approach, "movement": {"model": "contacts", "file": "met.csv"}}


@pytest.mark.parametrize(
    ("approach", "reason"),
    [("dcs", "Thyme-DCS has to know where people are"), ("es", "Thyme-ES needs a place for its server")],
)
def test_who_needs_places_is_refused_where_only_contacts_are_known(approach: str, reason: str) -> None:
    with pytest.raises(InputError, match=f"{reason}.*approaches that fit: ls, socialcast, drip, walks"):
        scenario_of(met(approach), "test")
    assert misfit(approach, Static()) == ""


@pytest.mark.parametrize("approach", ["ls", "socialcast", "drip", "walks"])
def test_the_others_fit_contacts(approach: str) -> None:
    assert scenario_of(met(approach), "test").approach == approach
    assert misfit(approach, RecordedContacts(file=str(Path("met.csv")))) == ""
