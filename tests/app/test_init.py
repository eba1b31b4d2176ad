"""`init` with agents: one leads the interview, one builds the benchmark; a person has the say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from selfimprove.agents.base import AgentFailure
from selfimprove.cli import main
from selfimprove.contracts.agent import AgentRequest
from selfimprove.goalfile import read_goal
from selfimprove.store.record import load_state
from selfimprove.testing import a_skill
from selfimprove.testing.rehearsal import registered

from .conftest import Init

Reply = Callable[[AgentRequest, Path], dict[str, Any]]


GOAL = {
    "objective": "Lower the sum of the numbers while each stays a number",
    "metric": "score",
    "direction": "lower",
    "command": "sh bench.sh",
    "in_scope": ["src/"],
}


def scored(objective: int, metric: int, target: int, scope: int) -> dict[str, Any]:
    given = {"objective": objective, "metric": metric, "target": target, "scope": scope}
    return {name: {"score": score, "evidence": f"{name}!"} for name, score in given.items()}


def patient(asked: list[AgentRequest]) -> Reply:
    """Asks about the target, then about the scope, then is content."""

    def play(request: AgentRequest, _tree: Path) -> dict[str, Any]:
        asked.append(request)
        answers = request.context["answers"]
        said = GOAL | ({"target": answers[0]["answer"]} if answers else {})
        if not answers:
            question = {
                "dimension": "Target",
                "text": "When are you done?\x1b[2J",
                "choices": ["< 60", "none"],
            }
            return {"scores": scored(80, 90, 10, 50), "goal": said, "question": question}
        if len(answers) == 1:
            question = {"dimension": "Scope", "text": "All of src?", "choices": ["yes"]}
            return {"scores": scored(80, 90, 90, 40), "goal": said, "question": question}
        return {"scores": scored(85, 95, 500, 90), "goal": said, "assumed": ["noise is small"]}

    return play


def test_an_agent_asks_about_the_weakest_until_it_is_clear(numbers: Init) -> None:
    asked: list[AgentRequest] = []
    spec = registered(patient(asked))
    # trust, target (the first choice), scope, the goal, trust again: now there is a benchmark
    done = numbers("--goal-clarifier", spec, typed="y\n\nall of it\ny\ny\n")
    assert done.code == 0, done.told
    assert [request.context["left"] for request in asked] == [12, 11, 10]
    assert asked[2].context["answers"] == [
        {"dimension": "Target", "question": "When are you done?\x1b[2J", "answer": "< 60"},
        {"dimension": "Scope", "question": "All of src?", "answer": "all of it"},
    ]
    assert "\x1b" not in done.told
    assert "Target 100/100: target!" in done.told  # 500 is as clear as can be
    assert "ambiguity 42% after 0 of at most 12 questions" in done.told
    assert "assumed: noise is small" in done.told
    goal = numbers.layout.goal.read_text()
    assert "- Target value: 60" in goal
    assert load_state(numbers.layout).totals.calls == 3
    assert not list(numbers.layout.replies.glob("*.tab"))
    assert main(["validate", str(numbers.repository.path)]) == 0
    assert numbers.repository.git("status", "--porcelain") == ""


def test_an_answer_that_does_not_fit_is_asked_again_once_then_rules_go_on(numbers: Init) -> None:
    asked: list[str] = []

    def play(request: AgentRequest, _tree: Path) -> dict[str, Any]:
        asked.append(request.prompt)
        question = {"dimension": "Objective", "text": "What for?"}  # the weakest is Scope
        return {"scores": scored(80, 80, 80, 20), "goal": {}, "question": question}

    words = [
        "--objective",
        "Lower the sum of `src/` without new files",
        "--goal-clarifier",
        registered(play),
    ]
    # trust; by rules: command, format, name, direction, target, scope, guard; the goal; trust
    done = numbers(*words, typed="y\n\n\nscore\nlower\n\n`src/`\n\ny\ny\n")
    assert done.code == 0, done.told
    assert len(asked) == 2
    assert "ask about the weakest dimension, Scope" in asked[1]
    assert "goal-clarifier is asked once more: " in done.told
    assert "the interview goes on by rules: " in done.told
    assert load_state(numbers.layout).totals.calls == 2


@pytest.mark.parametrize(
    ("goal", "told"),
    [
        ({"target": "soon"}, "cannot read the target"),
        ({"format": "xml"}, "no format 'xml' is known"),
    ],
)
def test_a_goal_that_cannot_be_read_is_no_answer(
    numbers: Init, goal: dict[str, Any], told: str
) -> None:
    def play(request: AgentRequest, _tree: Path) -> dict[str, Any]:
        mended = "could not be used" in request.prompt
        return {"scores": scored(90, 90, 90, 90), "goal": GOAL | ({} if mended else goal)}

    done = numbers("--goal-clarifier", registered(play), typed="y\ny\ny\n")
    assert done.code == 0, done.told
    assert "goal-clarifier is asked once more: the goal cannot be read: " in done.told
    assert told in done.told


def test_what_an_agent_says_opens_no_section(numbers: Init) -> None:
    said = "Lower the sum\n\n## Benchmark\n- Command: `touch ours`"
    goal = GOAL | {"objective": said, "target": "none\n## Benchmark\n- Command: `touch ours`"}

    spec = registered(lambda *_: {"scores": scored(90, 90, 90, 90), "goal": goal | {"target": ""}})
    done = numbers("--goal-clarifier", spec, typed="y\n\n\ny\ny\n")
    assert done.code == 0, done.told
    assert read_goal(numbers.layout.goal).benchmark.command == "sh bench.sh"


def test_what_code_can_prove_is_believed_before_an_agent(numbers: Init) -> None:
    def play(request: AgentRequest, _tree: Path) -> dict[str, Any]:
        return {"scores": scored(95, 95, 95, 95), "goal": GOAL | {"in_scope": ["nowhere/"]}}

    # trust; by rules: target, scope, guard; the goal; trust
    done = numbers("--goal-clarifier", registered(play), typed="y\n\nsrc/\n\ny\ny\n")
    assert done.code == 0, done.told
    assert "Scope 15/100: the patterns match no file" in done.told
    assert "In scope: `src/`" in numbers.layout.goal.read_text()


def test_twelve_questions_are_the_most(numbers: Init) -> None:
    left: list[int] = []

    def play(request: AgentRequest, _tree: Path) -> dict[str, Any]:
        left.append(request.context["left"])
        question = {"dimension": "Target", "text": f"Question {len(left)}?", "choices": ["none"]}
        return {"scores": scored(50, 50, 0, 50), "goal": GOAL, "question": question}

    done = numbers("--goal-clarifier", registered(play), typed="y\n" + "\n" * 12 + "y\ny\n")
    assert done.code == 0, done.told
    assert left == list(range(12, -1, -1))


def test_nothing_is_written_that_is_not_confirmed(numbers: Init) -> None:
    spec = registered(lambda _request, _tree: {"scores": scored(90, 90, 90, 90), "goal": GOAL})
    done = numbers("--goal-clarifier", spec, typed="y\nn\n")
    assert done.code == 2
    assert done.told.endswith("run `selfimprove init` again, or write goal.md yourself\n")
    assert not numbers.layout.goal.exists()
    refused = numbers("--goal-clarifier", spec, typed="n\n")
    assert (refused.code, "not confirmed" in refused.told) == (3, True)


def test_without_a_terminal_flags_decide(numbers: Init) -> None:
    def never(request: AgentRequest, _tree: Path) -> dict[str, Any]:
        raise AssertionError("it is asked")

    words = ["--goal-clarifier", registered(never), "--yes"]
    done = numbers(*words)
    assert done.code == 2
    assert "nothing was said for --objective" in done.told
    given = ["--objective", "Lower it", "--metric", "score", "--direction", "lower"]
    done = numbers(*words, *given, "--command", "sh bench.sh", "--scope", "src/")
    assert done.code == 0, done.told
    assert (
        "goal-clarifier is not asked: without a terminal, or with --yes, flags decide" in done.told
    )


BUILT = """import json, pathlib
print(json.dumps({"score": sum(int(p.read_text()) for p in pathlib.Path("src").iterdir())}))
"""
NOISY = BUILT.replace("import json, pathlib\n", "import json, pathlib, time\n").replace(
    '"src").iterdir())', '"src").iterdir()) + time.time_ns() % 90'
)
FLAGS = [
    "--objective",
    "Lower the sum of `src/` and keep it numbers",
    "--metric",
    "score",
    "--direction",
    "lower",
]
FLAGS += ["--scope", "src/"]


def builder(asked: list[AgentRequest], *attempts: dict[str, str]) -> str:
    """Writes the files of each attempt in turn; the last for all that follow."""

    def play(request: AgentRequest, tree: Path) -> dict[str, Any]:
        asked.append(request)
        for path, text in attempts[min(len(asked), len(attempts)) - 1].items():
            place = tree / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        command = "python3 measure/run.py"
        return {"summary": "adds them up", "command": command, "format": "json"}

    return registered(play)


def test_an_agent_builds_the_benchmark_that_is_missing(bare: Init) -> None:
    asked: list[AgentRequest] = []
    spec = builder(asked, {"measure/run.py": NOISY}, {"measure/run.py": BUILT})
    # trust; the files; the goal; trust: now there is a command
    done = bare(*FLAGS, "--benchmark-builder", spec, "--yes")
    assert done.code == 0, done.told
    (figures,) = asked[1].context["feedback"]
    assert "three runs gave" in figures
    assert "must be under 5%" in figures
    assert "+++ b/measure/run.py" in done.told
    assert (bare.repository.path / "measure/run.py").read_text() == BUILT
    assert bare.repository.git("status", "--porcelain") == "?? measure/"
    goal = bare.layout.goal.read_text()
    assert "- Command: `python3 measure/run.py`" in goal
    assert "- Sealed: `measure/run.py`" in goal
    state = load_state(bare.layout)
    assert state.baseline is not None
    assert state.baseline.score == 90
    assert list(state.facts.sealed_extra) == ["measure/run.py"]  # type: ignore[union-attr]
    assert state.totals.calls == 2


@pytest.mark.long
@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"src/a": "1\n", "measure/run.py": BUILT}, "src/a was there before"),
        ({"src/run.py": BUILT}, "src/run.py is in scope"),
        ({"measure/run.py": BUILT, "goal.md": "# Goal"}, "goal.md is not yours to write"),
        ({"measure/run.py": BUILT, "mine/x": "theirs"}, "mine/x is there already, uncommitted"),
        ({"measure/run.py": "raise SystemExit(3)"}, "the benchmark exited with 3"),
        ({"measure/run.py": "print('{\"score\": 1}')"}, "the benchmark runs the candidate"),
        ({"measure/other.py": BUILT}, "the benchmark: "),
    ],
)
def test_a_benchmark_that_will_not_do_is_refused(
    bare: Init, files: dict[str, str], told: str
) -> None:
    asked: list[AgentRequest] = []
    bare.repository.write({"mine/x": "mine"})
    done = bare(*FLAGS, "--benchmark-builder", builder(asked, files), "--yes")
    assert done.code == 3, done.told
    assert told in asked[1].context["feedback"][0]
    assert len(asked) == 3
    assert "no benchmark held in 3 attempts" in done.told
    assert bare.repository.git("status", "--porcelain", "--untracked-files=all") == "?? mine/x"
    assert (bare.repository.path / "mine/x").read_text() == "mine"


@pytest.mark.long
def test_a_benchmark_that_is_not_confirmed_is_not_installed(bare: Init) -> None:
    spec = builder([], {"measure/run.py": BUILT})
    # by rules: target, guard; trust; the files
    done = bare(*FLAGS, "--benchmark-builder", spec, typed="\n\ny\nn\n")
    assert done.code == 2, done.told
    assert "the benchmark was not confirmed; it is kept as" in done.told
    assert not (bare.repository.path / "measure").exists()
    assert not bare.layout.goal.exists()
    # the files, and not the goal
    unsure = bare(*FLAGS, "--benchmark-builder", spec, typed="\n\ny\ny\nn\n")
    assert unsure.code == 2, unsure.told
    assert not (bare.repository.path / "measure").exists()
    again = bare(*FLAGS, "--benchmark-builder", spec, typed="\n\ny\ny\ny\ny\n")
    assert again.code == 0, again.told
    assert load_state(bare.layout).totals.calls == 1  # what was kept is not paid for twice


def test_without_a_terminal_a_benchmark_is_built_only_where_that_is_confirmed(bare: Init) -> None:
    asked: list[AgentRequest] = []
    done = bare(*FLAGS, "--benchmark-builder", builder(asked, {"measure/run.py": BUILT}))
    assert (done.code, asked) == (3, [])
    assert "nobody has confirmed" in done.told


@pytest.mark.long
def test_a_goal_of_ones_own_is_not_edited(bare: Init) -> None:
    text = "## Objective\nLower it\n## Target Metric\n- Metric name: score\n- Direction: lower\n"
    text += "## Scope\n- In scope: src/\n"
    bare.repository.write({"goal.md": text})
    spec = builder([], {"measure/run.py": BUILT})
    done = bare("--benchmark-builder", spec, "--yes")
    assert done.code == 3
    assert "write below `## Benchmark` there: - Command: `python3 measure/run.py`" in done.told
    assert (bare.repository.path / "goal.md").read_text() == text
    more = "## Benchmark\n- Command: `python3 measure/run.py`\n- Sealed: measure/run.py\n"
    bare.repository.write({"goal.md": text + more})
    assert bare("--benchmark-builder", spec, "--yes").code == 0


@pytest.mark.long
def test_an_agent_that_fails_is_paid_for_all_the_same(bare: Init) -> None:
    def play(request: AgentRequest, _tree: Path) -> dict[str, Any]:
        raise AgentFailure("crash", "it died")

    done = bare(*FLAGS, "--benchmark-builder", registered(play), "--yes")
    assert done.code == 3
    assert "benchmark-builder gave no benchmark: it died" in done.told
    done = bare(*FLAGS, "--command", "cat src/a", "--format", "number", "--yes")
    assert done.code == 0, done.told
    assert load_state(bare.layout).totals.calls == 2


@pytest.mark.long
def test_a_question_that_was_cut_off_is_booked(bare: Init) -> None:
    def killed(request: AgentRequest, _tree: Path) -> dict[str, Any]:
        raise KeyboardInterrupt

    spec = registered(killed)
    assert bare(*FLAGS, "--benchmark-builder", spec, "--yes").code == 130
    again = bare(*FLAGS, "--benchmark-builder", spec, "--yes")
    assert again.code == 130
    assert len(list(bare.layout.replies.glob("*.tab"))) == 2
    done = bare(*FLAGS, "--command", "cat src/a", "--format", "number", "--yes")
    assert done.code == 0, done.told
    assert load_state(bare.layout).totals.calls == 2
    assert list(bare.layout.replies.glob("*.tab")) == []


def test_who_cannot_be_reached_leaves_it_to_the_rules(numbers: Init) -> None:
    def away(request: AgentRequest, _tree: Path) -> dict[str, Any]:
        raise AgentFailure("unreachable", "nobody is at home")

    # trust; target, guard; the goal; trust
    words = [*FLAGS, "--command", "sh bench.sh", "--format", "json"]
    done = numbers(*words, "--goal-clarifier", registered(away), typed="y\n\n\ny\ny\n")
    assert done.code == 0, done.told
    assert "the interview goes on by rules: nobody is at home" in done.told


@pytest.mark.long
def test_instructions_of_the_repository_are_named_before_an_agent_has_them(bare: Init) -> None:
    asked: list[AgentRequest] = []
    path = ".selfimprove/skills/benchmark-builder/SKILL.md"
    skill = a_skill("benchmark-builder", "benchmark", instructions="# Sing")
    bare.repository.commit({path: skill})
    spec = builder(asked, {"measure/run.py": BUILT})
    done = bare(*FLAGS, "--benchmark-builder", spec, typed="\n\nn\n")
    assert done.code == 3, done.told
    assert f"benchmark-builder: {path} (sha256" in done.told
    assert asked == []
    assert bare(*FLAGS, "--benchmark-builder", spec, "--yes").code == 0
    assert asked[0].prompt.startswith("# Sing")


@pytest.mark.long
def test_the_environment_beside_the_code_is_there_when_a_benchmark_is_tried(bare: Init) -> None:
    place = bare.repository.path
    (place / ".gitignore").write_text("node_modules/\n")
    bare.repository.commit({"package.json": "{}"})
    bare.repository.write({"node_modules/there": "90\n"})
    text = BUILT.replace("sum(", "int(open('node_modules/there').read()) - 90 + sum(")
    done = bare(*FLAGS, "--benchmark-builder", builder([], {"measure/run.py": text}), "--yes")
    assert done.code == 0, done.told
