"""A run that is stopped, or dies, after any line of its journal ends as one that never was."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from selfimprove.agents.base import AgentFailure
from selfimprove.agents.replies import KeptReply
from selfimprove.contracts.envelope import Envelope
from selfimprove.process import StopToken
from selfimprove.store.rebuild import findings
from selfimprove.testing.compare import settled
from selfimprove.testing.documents import a_plan
from selfimprove.testing.rehearsal import Rehearsal, lower_apart, number_plan, set_numbers

STEPS = (
    "research", "planning", "critic_review", "execution", "tournament", "recording", "stop_check",
)  # fmt: skip

QUICK = ("research", "critic_review", "execution", "tournament")
"""Steps that the quick suite cuts; after any line of any step: the long one."""


class Died(BaseException):
    """Stands for the end of the process: nothing of the run's own catches it."""


class Stand:
    """A run that has been set up, to be played again and again from there."""

    def __init__(self, play: Rehearsal, rounds: int) -> None:
        self.play, self.rounds = play, rounds
        self.folder = play.trees.parent
        self.saved = self.folder.with_name(f"{self.folder.name}, as set up")
        play.run(max_iterations=0)
        shutil.copytree(self.folder, self.saved, symlinks=True)
        self.seen: list[Envelope] = []
        self.run([lambda envelope, _: self.seen.append(envelope)])
        self.wanted = settled(play)
        self.calls = play.calls

    def run(self, observers: Any = (), stop: StopToken | None = None) -> None:
        self.play.run(observers, stop, max_iterations=self.rounds)

    def cut_after(self, line: int, *, die: bool) -> list[str]:
        """Start over, end after that many lines, and go on; says which calls were made then."""
        shutil.rmtree(self.folder)
        shutil.copytree(self.saved, self.folder, symlinks=True)
        stop, seen = StopToken(), []

        def observe(envelope: Envelope, _state: Any) -> None:
            seen.append(envelope)
            if len(seen) == line:
                if die:
                    raise Died
                stop.set()

        try:
            self.run([observe], stop)
        except Died:
            assert die
        assert len(seen) >= line
        before = len(self.play.calls)
        kept = set(self.kept())
        self.run()
        again = self.play.calls[before:]
        assert [call for call in again if call in kept] == []
        return again

    def kept(self) -> Iterator[str]:
        """The sessions whose reply is kept."""
        for file in self.play.layout.replies.glob("*.json"):
            yield KeptReply.parse_json(file.read_bytes(), str(file)).session_id.split("/", 1)[1]

    def check(self, line: int, *, die: bool) -> None:
        """What came of a run that was cut after this line is what it should be."""
        again = self.cut_after(line, die=die)
        about = f"cut after {line}: {self.seen[line - 1].correlation_id}"
        found = settled(self.play)
        differ = [k for k in {*found, *self.wanted} if found.get(k) != self.wanted.get(k)]
        assert differ == [], about
        assert findings(self.play.layout) == [], about
        assert sorted({*self.play.calls, *again}) == sorted(set(self.calls)), about

    def lines(self, step: str) -> list[int]:
        """The lines of one step of the first round, and of what is beside the steps."""
        found = [
            number
            for number, envelope in enumerate(self.seen, 1)
            if envelope.correlation_id.startswith(f"round_1/{step}")
        ]
        return found or list(range(1, 4))


@pytest.fixture(scope="module")
def plain(module_stage: Callable[..., Rehearsal]) -> Stand:
    """Two candidates, the second stacked on the first."""
    return Stand(module_stage(planner=lower_apart), rounds=1)


def revising(request: Any, tree: Path) -> dict[str, Any]:
    """A plan, and where it was sent back another one."""
    if request.context.get("plan"):
        return number_plan("a" if request.agent_id == "planner_a" else "b", 11)(request, tree)
    return lower_apart(request, tree)


def strict(request: Any, _tree: Path) -> dict[str, Any]:
    """A critic that likes revised plans alone, and of two critics the second one less."""
    good = request.context["plan"]["steps"][0]["change"].endswith(" 11")
    less = 0.15 if request.agent_id == "critic_2" else 0.0
    return {"score": (1.0 if good else 0.5) - less, "issues": [] if good else ["be bolder"]}


def first_red_then_green(request: Any, tree: Path) -> dict[str, Any]:
    """An executor that forgets something until the guard tells it."""
    done = set_numbers(request, tree)
    if request.context["feedback"]:
        (tree / "src/ok").write_text("yes\n")
    return done


def refused_at_first(request: Any, tree: Path) -> dict[str, Any]:
    """Planner c plans what is refused until there is a refinement, then fails."""
    if request.agent_id == "planner_c":
        return a_plan("bench.sh", "print a smaller number", family="data")
    return revising(request, tree)


def with_ok(plan: dict[str, Any]) -> dict[str, Any]:
    return plan | {"target_files": [*plan["target_files"], "src/ok"]}


@pytest.fixture(scope="module")
def rich(module_stage: Callable[..., Rehearsal]) -> Stand:
    """Revisions, two critics, a quality report that sends planning back, fix attempts, an idea."""
    play = module_stage(
        files={"src/ok": "no\n"},
        planner=lambda request, tree: with_ok(refused_at_first(request, tree)),
        critic=strict,
        executor=first_red_then_green,
        settings={
            "number_of_agents": 3,
            "number_of_max_critics": 2,
            "quality_threshold": 0.9,
            "max_plan_retries": 1,
            "guards": [
                {
                    "name": "ok",
                    "command": "grep -q 30 src/a && grep -q 30 src/b || grep -q yes src/ok",
                }
            ],
        },
    )
    return Stand(play, rounds=1)


def answering(request: Any, tree: Path) -> dict[str, Any]:
    """An executor that forgets what its guard wants, and goes one lower for its critics."""
    done = first_red_then_green(request, tree)
    for step in request.context["plan"]["steps"]:
        place = tree / step["file"]
        place.write_text(f"{int(place.read_text()) - request.context.get('revision', 0)}\n")
    return done


def wants_lower(request: Any, _tree: Path) -> dict[str, Any]:
    """A critic that likes every plan, and the first executor's second change alone."""
    change = "change" in request.context
    good = not change or request.session_id.endswith("executor_1/critic_1/revision_1")
    return {"score": 1.0 if good else 0.5, "issues": [] if good else ["lower"]}


@pytest.fixture(scope="module")
def criticised(module_stage: Callable[..., Rehearsal]) -> Stand:
    """Two changes that are mended for a guard; one then convinces its critic, one never does."""
    play = module_stage(
        files={"src/ok": "no\n"},
        planner=lambda request, tree: with_ok(lower_apart(request, tree)),
        critic=wants_lower,
        executor=answering,
        settings={
            "critique_execution": True,
            "max_critique_rounds": 2,
            "guards": [
                {
                    "name": "ok",
                    "command": "grep -q 30 src/a && grep -q 30 src/b || grep -q yes src/ok",
                }
            ],
        },
    )
    return Stand(play, rounds=1)


def test_the_criticised_round_has_it_all(criticised: Stand) -> None:
    decided = [
        (e.payload["executor"], e.payload["decision"])
        for e in criticised.seen
        if e.payload.get("event") == "gate" and "executor" in e.payload
    ]
    assert sorted(decided) == [
        ("executor_1", "commit"), ("executor_1", "retry"),
        ("executor_2", "reject"), ("executor_2", "retry"),
    ]  # fmt: skip
    assert "round_1/executor_1/fix_1" in criticised.calls
    assert criticised.wanted["state/merge_reports/round_1.json"]["status"] == "merged"


@pytest.mark.long
@pytest.mark.parametrize(
    "what", ["plan_step", "critique", "gate", pytest.param("result", marks=pytest.mark.long)]
)
def test_a_run_that_dies_while_a_change_is_criticised(criticised: Stand, what: str) -> None:
    lines = [
        number
        for number, e in enumerate(criticised.seen, 1)
        if e.correlation_id.startswith("round_1/execution/executor_")
        and what in (e.type, e.payload.get("event"))
    ]
    assert len(lines) >= 1
    criticised.check(lines[0], die=True)
    criticised.check(lines[-1], die=False)


@pytest.mark.parametrize(
    "step",
    [step if step in QUICK else pytest.param(step, marks=pytest.mark.long) for step in STEPS],
)
def test_a_run_that_dies_in_any_step_ends_the_same_once_resumed(plain: Stand, step: str) -> None:
    lines = plain.lines(step)
    plain.check(lines[len(lines) // 2], die=True)


@pytest.mark.parametrize("step", [pytest.param("planning", marks=pytest.mark.long), "execution"])
def test_a_run_that_is_stopped_in_any_step_ends_the_same(plain: Stand, step: str) -> None:
    lines = plain.lines(step)
    plain.check(lines[len(lines) // 3], die=False)


@pytest.mark.parametrize(
    "event",
    [
        "git.publish",
        *(pytest.param(e, marks=pytest.mark.long) for e in ("config_change", "gate", "recorded")),
    ],
)
def test_a_run_that_dies_where_much_is_at_stake(plain: Stand, event: str) -> None:
    named = [(e.payload.get("event"), e.payload.get("tool")) for e in plain.seen]
    plain.check(next(k for k, names in enumerate(named, 1) if event in names), die=True)


def test_the_rich_round_has_it_all(rich: Stand) -> None:
    events = [envelope.payload.get("event") for envelope in rich.seen]
    assert events.count("planning_again") == 1
    assert [e.payload["decision"] for e in rich.seen if e.payload.get("event") == "gate"].count(
        "retry"
    ) == 2
    assert "round_1/executor_1/fix_1" in rich.calls
    assert rich.wanted["state/merge_reports/round_1.json"]["status"] == "merged"


@pytest.fixture(scope="module")
def noisy(
    module_stage: Callable[..., Rehearsal], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Stand, Path]:
    """Two wins in many pairs each, and the last ones; the benchmark varies as the baseline is made.

    Besides, the file in which it leaves a line for each run.
    """
    runs = tmp_path_factory.mktemp("noisy") / "runs"
    score = (
        f'echo x >> "{runs}"; n=$(wc -l < "{runs}"); '
        'if [ "$n" -gt 3 ]; then n=0; fi\n'
        'printf \'{"score": %d.%d%s}\\n\' $sum $n "$parts"\n'
    )
    settings = {
        "significance.alpha": 0.2,
        "significance.max_pairs": 6,
        "significance.closing_pairs": 2,
    }
    play = module_stage(planner=lower_apart, score=score, settings=settings)
    return Stand(play, rounds=1), runs


def test_the_noisy_round_has_pairs_of_every_kind(noisy: tuple[Stand, Path]) -> None:
    kinds = [
        envelope.payload["result"]["purpose"]
        for envelope in noisy[0].seen
        if envelope.payload.get("tool") == "benchmark.pair" and envelope.type == "tool_result"
    ]
    assert kinds.count("closing") == 4
    assert kinds.count("final") == 2
    assert kinds.count("confirmation") >= 4


@pytest.mark.parametrize("purpose", ["confirmation", "closing", "final"])
def test_no_finished_pair_is_measured_again(noisy: tuple[Stand, Path], purpose: str) -> None:
    stand, runs = noisy
    ended = [
        (line, envelope.payload["result"]["purpose"])
        for line, envelope in enumerate(stand.seen, 1)
        if envelope.payload.get("tool") == "benchmark.pair" and envelope.type == "tool_result"
    ]
    screened = sum(
        envelope.payload.get("tool") == "benchmark.run" and envelope.type == "tool_result"
        for envelope in stand.seen
    )
    line = next(line for line, kind in ended if kind == purpose)
    before = len(runs.read_text().splitlines())
    stand.check(line, die=True)
    assert len(runs.read_text().splitlines()) - before == screened + 2 * len(ended)
    if purpose != "final":
        stand.check(line + 1, die=True)  # within the pair that follows: that one alone is repeated


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("die", [True, False])
@pytest.mark.parametrize(
    "kind", ["plain", "rich", pytest.param("criticised", marks=pytest.mark.crash)]
)
def test_a_run_cut_after_any_line_ends_the_same(
    request: pytest.FixtureRequest, kind: str, die: bool
) -> None:
    stand: Stand = request.getfixturevalue(kind)
    for line in range(1, len(stand.seen) + 1):
        stand.check(line, die=die)


def test_an_answer_at_the_second_try_is_not_asked_for_again(
    stage: Callable[..., Rehearsal],
) -> None:
    def moody(request: Any, _tree: Path) -> dict[str, Any]:
        if not request.context["feedback"]:
            raise AgentFailure("exit", "no coffee yet")
        return {"repo_analysis_summary": "numbers", "ideas": []}

    def die(envelope: Envelope, _state: Any) -> None:
        if envelope.payload.get("result", {}).get("ok") and "research" in envelope.correlation_id:
            raise Died

    play = stage(researcher=moody)
    with pytest.raises(Died):
        play.run([die], max_iterations=1)
    assert play.calls == ["round_1/researcher"] * 2
    play.run(max_iterations=1)
    assert play.calls.count("round_1/researcher") == 3  # the failure alone is met once more
    assert play.document("state/research_briefs/round_1.json")["iteration"] == 1


def test_a_round_that_died_before_its_checkpoint_has_a_segment_of_its_own(
    stage: Callable[..., Rehearsal],
) -> None:
    def die(envelope: Envelope, _state: Any) -> None:
        told = envelope.payload
        if (told.get("event"), told.get("step")) == ("step_completed", "stop_check"):
            raise Died

    play = stage()
    with pytest.raises(Died):
        play.run([die], max_iterations=2)
    assert play.run(max_iterations=2).state.wins_total == 2
    assert findings(play.layout) == []
    assert [line["payload"].get("event") for line in play.lines(1)][-1] == "checkpoint"
    assert [line["payload"].get("event") for line in play.lines(2)].count("round_started") == 1
