"""How sure planners were, as a person is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from selfimprove.cli import main
from selfimprove.report.chances import SHOWN, told
from selfimprove.report.sources import read_calibrations
from selfimprove.store.record import load_state
from selfimprove.testing.rehearsal import Rehearsal, number_plan

Stage = Callable[..., Rehearsal]


def calibration(who: str, tried: int = 4, **more: Any) -> dict[str, Any]:
    return {"who": who, "tried": tried, "confidence": 0.6, "won": 0.25, "brier": 0.314, **more}


def test_a_line_for_each_in_plain_words() -> None:
    text = told([calibration("planner_a", predicted="6%", measured="1.5%"), calibration("data")])
    _, _, header, _, planner, family = text.splitlines()
    names = [word.strip() for word in header.strip("|").split("|")]
    assert names[1:4] == ["carried out", "sure of a win", "won"]
    assert [word.strip() for word in planner.strip("|").split("|")] == [
        "planner_a", "4", "60%", "25%", "0.31", "6%", "1.5%", "–",
    ]  # fmt: skip
    assert [word.strip() for word in family.strip("|").split("|")][-3:] == ["–", "–", "–"]
    assert "0 is perfect" in text


def test_who_only_asserted_something_is_told_with_it() -> None:
    text = told([{"who": "data", "tried": 2, "asserted": 8, "held": 0.75}])
    row = [word.strip() for word in text.splitlines()[-1].strip("|").split("|")]
    assert row == ["data", "2", "–", "–", "–", "–", "–", "75% of 8"]


def test_nothing_is_told_of_planners_that_state_no_chance() -> None:
    assert told([]) == ""


def test_it_stays_short_whatever_families_there_are() -> None:
    text = told([calibration(f"family_{k}", tried=k) for k in range(50)])
    assert len(text.splitlines()) == SHOWN + 4
    assert "family_49" in text
    assert "family_1 " not in text


@pytest.fixture(scope="module")
def ran(module_stage: Stage) -> Rehearsal:
    """A planner that is sure and wins, and one that is sure and loses."""
    sure = {"confidence": 0.9}
    worse = {"hypothesis": "Raising it should help because it is rounder", **sure}
    play = module_stage(
        planner=[[number_plan("a", 20, **sure), number_plan("b", 99, **worse)]],
    )
    place = [str(play.repository.path), "--trees", str(play.trees)]
    words = ["--agent", play.spec, "--agents", "2", "--max-iterations", "1", "--yes"]
    play.layout.settings.parent.mkdir(parents=True)
    play.layout.settings.write_text('{"sandbox": {"mode": "off"}}')
    assert main(["run", *place, *words]) == 0
    return play


@pytest.mark.long
def test_the_summary_tells_them(ran: Rehearsal) -> None:
    text = (ran.layout.root / "summary.md").read_text(encoding="utf-8")
    section = text.partition("## How sure planners were, and how often they were right\n")[2]
    section = section.partition("\n## ")[0]
    rows = [" ".join(line.split()) for line in section.splitlines()]
    assert any(row.startswith("| planner_a | 1 | 90% | 100% | 0.01 |") for row in rows)
    assert any(row.startswith("| planner_b | 1 | 90% | 0% | 0.81 |") for row in rows)
    assert "\n\n\n" not in text


@pytest.mark.long
def test_status_tells_them_to_programs(ran: Rehearsal, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", str(ran.repository.path), "--json"]) == 0
    told_ = json.loads(capsys.readouterr().out)["calibration"]
    assert told_ == read_calibrations(ran.layout, load_state(ran.layout))
    assert [(each["who"], each["brier"]) for each in told_[:2]] == [
        ("planner_a", 0.01),
        ("planner_b", 0.81),
    ]
