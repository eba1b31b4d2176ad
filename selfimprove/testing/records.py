"""Records of runs that never were: what the loop would journal, in small, without running it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from selfimprove.contracts.benchmark import Fingerprint, Measurement, Sample
from selfimprove.contracts.envelope import (
    Draft,
    Envelope,
    control,
    critique,
    plan_step,
    tool_call,
    tool_result,
)
from selfimprove.contracts.tracking import Baseline
from selfimprove.store.fold import fold_one
from selfimprove.store.journal import Journal
from selfimprove.store.layout import Layout
from selfimprove.store.state import State
from selfimprove.store.writer import Writer

FINGERPRINT = Fingerprint(
    protocol=1, machine="m", environment="e", benchmark="b", settings="s", level="off"
)
FACTS: dict[str, Any] = {
    "run_id": "run_1",
    "seed_key": "00",
    "topic": "default",
    "goal_slug": "faster_orders",
    "objective": "Faster orders\nmore words",
    "metric": "total_ms",
    "direction": "lower_is_better",
    "target_value": 100.0,
    "target_branch": "refs/heads/main",
    "base_commit": "a" * 40,
    "improve_ref": "refs/heads/improve/faster_orders",
    "benchmark_timeout": 60.0,
    "deterministic": False,
    "score_keys": [],
    "opened": [],
    "level": "off",
}
FAMILIES = {"planner_a": "optimization", "planner_b": "data", "planner_c": "architecture"}


def a_baseline(score: float, interval: tuple[float, float] | None = None) -> Baseline:
    """Give a baseline of one sample."""
    sample = Sample(score=score, duration_s=1.0)
    return Baseline(
        metric="total_ms",
        direction="lower_is_better",
        score=score,
        deterministic=False,
        commit="a" * 40,
        measurement=Measurement(samples=[sample], interval=interval, fingerprint=FINGERPRINT),
        timestamp="2026-01-01T00:00:00.000Z",
    )


def set_up() -> Iterator[Draft]:
    """Give facts, trust, a baseline of three runs, and the checkpoint that ends the segment."""
    yield control("setup", "run_begun", facts=FACTS, phase=None)
    yield control("setup", "trusted", digest="d")
    yield control("run", "run_opened")
    for number in range(1, 4):
        call = tool_call(f"setup/baseline/{number}", "benchmark.run", commit="a" * 40)
        yield call
        sample = Sample(score=140.0 + number, duration_s=2.0).document()
        yield tool_result(call, {"sample": sample}, {"duration_s": 2.0})
    yield control(
        "setup",
        "baseline",
        incumbent={"commit": "a" * 40, "score": 142.3},
        baseline=a_baseline(142.3, (141.0, 143.5)).document(),
        fingerprint=FINGERPRINT.document(),
    )


def _plan(number: int, planner: str, hypothesis: str, approved: bool = False) -> dict[str, Any]:
    return {
        "plan_id": f"round_{number}_{planner}",
        "planner_id": planner,
        "round": number,
        "hypothesis": hypothesis,
        "approach_family": FAMILIES[planner],
        "critic_approved": approved,
        "target_files": ["orders/total.py"],
        "steps": [{"step": 1, "file": "orders/total.py", "change": hypothesis}],
        "expected_outcome": {"metric": "total_ms", "estimated_impact": "5%", "rationale": "less"},
        "critic_review": None
        if approved
        else {
            "h001_hypothesis_count": "pass",
            "h002_family_streak": "fail",
            "h003_intra_round_diversity": "pass",
            "schema_valid": "pass",
            "history_aware": "pass",
            "verdict": "rejected",
            "rejection_reason": "family architecture won the last two rounds",
        },
    }


def to_execution(number: int) -> Iterator[Draft]:
    """Give a round as far as two executors at work: b waits for its agent."""
    at = f"round_{number}"
    yield control(at, "round_started", round=number)
    yield control(f"{at}/research", "ideas_consumed", ideas=["try a cache"])
    ask = tool_call(f"{at}/research", "agent.ask", agent="researcher", role="researcher")
    yield ask
    yield tool_result(ask, {"agent": "researcher", "ok": True}, {"input_tokens": 10, "usd": 0.02})
    brief = {"iteration": number, "repo_analysis_summary": "hot loop", "ideas": []}
    yield plan_step(f"{at}/research", "research", brief=brief)
    yield control(at, "step_completed", step="research")
    given = {name: {"families": [family]} for name, family in FAMILIES.items()}
    yield control(f"{at}/planning", "families_assigned", planners=given, attempt=0)
    for planner in FAMILIES:
        words = f"Caching the total should improve {planner} because it is asked twice"
        yield plan_step(f"{at}/planning/{planner}", "plan", plan=_plan(number, planner, words))
    yield control(at, "step_completed", step="planning")
    for planner in FAMILIES:
        words = f"Caching the total should improve {planner} because it is asked twice"
        about = f"{at}/critic_review/{planner}"
        yield critique(about, "critic_1", planner=planner, score=0.95)
        done = _plan(number, planner, words, approved=planner != "planner_c")
        decision = "commit" if done["critic_approved"] else "reject"
        yield control(about, "gate", planner=planner, plan=done, decision=decision, reason="")
    yield control(at, "step_completed", step="critic_review")
    named = {"executor_1": f"{at}_planner_a", "executor_2": f"{at}_planner_b"}
    yield control(f"{at}/execution", "executors_named", executors=named)
    for name in named:
        yield control(f"{at}/execution/{name}", "executor_status", executor=name, status="running")
        yield tool_call(f"{at}/execution/{name}", "agent.ask", agent=name, role="executor")


def to_end(number: int, before: float, after: float, wins: bool = True) -> Iterator[Draft]:
    """Give the rest of that round: executor_1 is measured and merged, executor_2 fails."""
    at = f"round_{number}"
    for name, good in (("executor_1", True), ("executor_2", False)):
        about = f"{at}/execution/{name}"
        call = tool_call(about, "agent.ask", agent=name, role="executor")
        yield tool_result(call, {"agent": name, "ok": True}, {"output_tokens": 5, "usd": 0.1})
        commit = (str(number) * 40) if good else "f" * 40
        made = {"commit": commit, "tree": "t" * 40, "files": ["orders/total.py"]}
        yield plan_step(about, "execute", executor=name, candidate=made)
    yield control(f"{at}/execution", "executor_status", executor="executor_1", status="measuring")
    yield control(f"{at}/execution", "result", result=_result(number, "executor_1", "a", after))
    yield control(f"{at}/execution", "result", result=_result(number, "executor_2", "b", None))
    yield control(at, "step_completed", step="execution")
    yield from _tournament(number, before, after, wins)
    yield _recorded(number, before, after, wins)
    yield control(at, "step_completed", step="recording")
    yield control(f"{at}/stop_check", "decided", decision="go_on", reason="")
    yield control(at, "step_completed", step="stop_check")


def _result(number: int, executor: str, letter: str, score: float | None) -> dict[str, Any]:
    failed = {
        "what": "the guard `tests` failed",
        "why": "an assertion",
        "category": "logic_error",
        "lesson": "keep the order of rows",
    }
    return {
        "executor_id": executor,
        "plan_id": f"round_{number}_planner_{letter}",
        "benchmark_score": score,
        "benchmark_raw": "1\n",
        "status": "error" if score is None else "success",
        "failure_analysis": failed if score is None else None,
        "timestamp": "2026-01-01T00:00:00.000Z",
    }


def _tournament(number: int, before: float, after: float, wins: bool) -> Iterator[Draft]:
    at = f"round_{number}/tournament"
    commit = f"{number}" * 39 + "e"
    trial = {"direction": "lower_is_better", "stake": 0.035}
    begun = {"executor": "executor_1", "base": "a" * 40, "merge_commit": commit}
    yield control(at, "confirming", trial=trial, **begun)
    reason = "better in 8 of 8 pairs" if wins else "better in 1 of 8 pairs"
    scores = {"score_before": before, "score_after": after}
    yield control(at, "confirmation", executor="executor_1", holds=wins, reason=reason, **scores)
    if wins:
        yield control(at, "closed", executor="executor_1", commit=commit, **scores)
        call = tool_call(f"{at}/publish", "git.publish", commit=commit)
        yield call
        yield tool_result(call, {"published": commit})
    winner = {
        "executor_id": "executor_1",
        "branch": f"experiment/round_{number}_executor_1",
        "hypothesis": "Caching the total should improve",
        "score_before": before,
        "score_after": after,
    }
    report = {
        "iteration": number,
        "goal_slug": "faster_orders",
        "winner": winner if wins else None,
        "re_benchmark_score": after,
        "status": "merged" if wins else "no_improvement",
        "reason": None if wins else "better in 1 of 8 pairs",
        "evidence": {"interval": [after - 1, after + 1]},
    }
    more = {"incumbent": {"commit": commit, "score": after}} if wins else {}
    yield control(at, "merge_report", report=report, **more)
    yield control(f"round_{number}", "step_completed", step="tournament")


def _recorded(number: int, before: float, after: float, wins: bool) -> Draft:
    at = f"round_{number}"
    first = {
        "plan_id": f"{at}_planner_a",
        "score": after,
        "approach_family": "optimization",
        "hypothesis": "Caching the total should improve",
    }
    second = {
        "plan_id": f"{at}_planner_b",
        "score": None,
        "approach_family": "data",
        "hypothesis": "Caching the total should improve",
        "failure_analysis": _result(number, "executor_2", "b", None)["failure_analysis"],
    }
    history = {
        "iteration": number,
        "baseline_score": before,
        "winner": first if wins else None,
        "losers": [second] if wins else [first, second],
        "research_brief_id": at,
    }
    rows = [
        {
            "iteration": number,
            "plan_id": each["plan_id"],
            "benchmark_score": each["score"],
            "is_winner": wins and each is first,
            "approach_family": each["approach_family"],
        }
        for each in (first, second)
    ]
    win = {
        "iteration": number,
        "plan_id": first["plan_id"],
        "hypothesis": first["hypothesis"],
        "approach_family": "optimization",
        "commit": f"{number}" * 39 + "e",
        "score_before": before,
        "score_after": after,
    }
    return control(
        f"{at}/recording",
        "recorded",
        history=history,
        counters={"iterations": number, "best_score": after if wins else before},
        idea_fates=[{"text": "try a cache", "fate": f"planned as {at}_planner_a"}],
        rows=rows,
        attempts=[],
        wins=[win] if wins else [],
    )


class Recorder:
    """Journals drafts below a root as the loop does: checkpoints, documents, observers."""

    def __init__(self, root: Path) -> None:
        self.layout = Layout(root)
        self.journal = Journal(self.layout.journal, "run_1")
        self.state = State()
        self.writer = Writer(root)
        self.seen: list[tuple[Envelope, State]] = []

    def add(self, drafts: Iterable[Draft]) -> State:
        """Journal drafts one after the other."""
        for draft in drafts:
            envelope = self.journal.append(draft)
            self.state = fold_one(self.state, envelope)
            self.writer.update(self.state, envelope)
            self.seen.append((envelope, self.state))
        return self.state

    def checkpoint(self, event: str = "checkpoint", **details: Any) -> State:
        """End the segment with the folded state."""
        draft = control("run", event, **details)
        probe = Envelope(id="x", seq=1, prev="", trace_id="", timestamp="", **draft.model_dump())
        state = fold_one(self.state, probe)
        return self.add([control("run", event, **details, state=state.document())])


def finished(root: Path, rounds: int = 2) -> Recorder:
    """Make a whole run below `root`: each round a win, stopped by the number of rounds."""
    record = Recorder(root)
    record.add(set_up())
    record.checkpoint()
    before = 142.3
    for number in range(1, rounds + 1):
        after = round(before * 0.9, 2)
        record.add(to_execution(number))
        record.add(to_end(number, before, after))
        if number < rounds:
            record.checkpoint()
        before = after
    record.checkpoint("stopped", status="max_iterations", reason=f"{rounds} rounds")
    return record
