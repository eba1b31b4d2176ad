"""run.json: who was asked, what it came to, what a win cost; and what old journals say of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from selfimprove.contracts.agent import RunReport, Usage
from selfimprove.contracts.envelope import Envelope
from selfimprove.store.fold import fold
from selfimprove.store.state import State
from selfimprove.testing import failing
from selfimprove.testing.rehearsal import Rehearsal, lower_each_round

from .test_fold import everything

Stage = Callable[..., Rehearsal]


@pytest.fixture(scope="module")
def ran(module_stage: Stage) -> Rehearsal:
    """Two rounds with a win each, and a researcher that gives no answer in the second."""
    brief = {"repo_analysis_summary": "three numbers", "ideas": []}
    play = module_stage(researcher=[brief, failing("output", "prose alone")])
    play.run(max_iterations=2)
    return play


def report(play: Rehearsal) -> RunReport:
    return RunReport.parse(play.document("state/run.json"), "run.json")


def priced(lines: list[Envelope]) -> list[Envelope]:
    """The same journal, as if each answer had cost tokens and money."""
    usage = Usage(input_tokens=90, output_tokens=10, usd=0.25, retries=1).document()

    def cost(line: Envelope) -> Envelope:
        if line.type != "tool_result" or line.payload["tool"] != "agent.ask":
            return line
        return line.model_copy(update={"payload": {**line.payload, "metrics": usage}})

    return [cost(line) for line in lines]


def test_every_call_names_whom_it_asked_and_where_it_belongs(ran: Rehearsal) -> None:
    asked = [span for span in report(ran).spans if span.agent]
    assert {span.spec for span in asked} == {ran.spec}
    parents = {span.agent: span.parent for span in asked}
    assert parents["planner_b"] == "round_2/planning"
    assert parents["executor_1"] == "round_2/execution"
    assert parents["researcher"] == "round_2/research"


def test_measurements_have_their_place_too(ran: Rehearsal) -> None:
    pairs = [span for span in report(ran).spans if "confirmation" in span.name]
    assert pairs
    assert {(span.parent, span.spec) for span in pairs} == {("round_2/tournament", "")}


def test_a_call_without_an_answer_says_what_failed(ran: Rehearsal) -> None:
    failed = [(span.agent, span.failed) for span in report(ran).spans if span.failed]
    assert failed == [("researcher", "output"), ("researcher", "output")]


def test_what_each_model_cost_adds_up_to_the_totals(ran: Rehearsal) -> None:
    found = fold(priced(everything(ran))).report
    assert found is not None
    assert found.models == {ran.spec: found.totals}
    assert found.totals.usd == 0.25 * found.totals.calls > 0
    assert found.totals.retries == found.totals.calls


def test_the_cost_of_a_win_is_all_that_was_spent_over_the_wins(ran: Rehearsal) -> None:
    found = fold(priced(everything(ran))).report
    assert found is not None
    assert found.cost_per_win is not None
    assert found.wins == 2
    assert found.cost_per_win.usd == found.totals.usd / 2
    assert found.cost_per_win.tokens == found.totals.tokens / 2
    assert found.cost_per_win.calls == found.totals.calls / 2


def test_without_a_win_there_is_no_cost_of_one(stage: Stage) -> None:
    play = stage(planner=[[failing(), failing()]])
    play.run(max_iterations=1)
    told = play.document("state/run.json")
    assert told["wins"] == 0
    assert "cost_per_win" not in told


def old(line: Envelope) -> Envelope:
    """A line as it was written before answers named whom they are of."""
    result: dict[str, Any] = line.payload.get("result", {})
    if "spec" not in result:
        return line
    bare = {name: value for name, value in result.items() if name != "spec"}
    return line.model_copy(update={"payload": {**line.payload, "result": bare}})


def test_an_old_journal_folds_to_what_it_did(ran: Rehearsal) -> None:
    before = [line for line in everything(ran) if line.payload.get("critic") != "verifier"]
    found = fold(map(old, before)).report
    assert found is not None
    document = found.document()
    assert set(document) == {"run_id", "totals", "spans"}
    names = {"name", "agent", "round", "started_at", "duration_s", "usage"}
    assert {name for span in document["spans"] for name in span} == names


def test_a_run_that_a_newer_version_took_on_tells_what_it_knows(ran: Rehearsal) -> None:
    lines = everything(ran)
    half = len(lines) // 2
    state = fold(lines[half:], fold(map(old, lines[:half]), State()))
    assert state.report is not None
    known = state.report.models[ran.spec]
    assert 0 < known.calls < state.report.totals.calls


def test_a_planner_of_its_own_model_is_counted_apart(stage: Stage) -> None:
    other = stage(planner=lower_each_round)
    play = stage()
    play.run(max_iterations=1, **{"agents.planner": other.spec})
    models = report(play).models
    assert set(models) == {play.spec, other.spec}
    assert models[other.spec].calls == play.settings["number_of_agents"]
    assert sum(each.calls for each in models.values()) == report(play).totals.calls
