"""Agents of `init` that are paid for, and those that are programs of their own."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from selfimprove.cli import main
from selfimprove.store.record import load_state
from selfimprove.testing.models import ModelServer, Prices, Say, Turn
from selfimprove.testing.models.brains import answering, calling, playing
from selfimprove.testing.models.server import KEY, MODEL

from .conftest import Init
from .test_init import BUILT, FLAGS, GOAL, scored

pytestmark = pytest.mark.long
SPEC = f"anthropic:{MODEL}"


def clarifier(turn: Turn, _who: str) -> Say:
    """Looks, asks once, and is content."""
    if not turn.done:
        return calling("read", path="bench.sh")
    if '"dimension": "Target"' not in turn.prompt:
        question = {"dimension": "Target", "text": "When are you done?", "choices": ["< 60"]}
        return answering({"scores": scored(80, 90, 10, 50), "goal": GOAL, "question": question})
    goal = GOAL | {"target": "< 60"}
    return answering({"scores": scored(90, 90, 90, 90), "goal": goal})


def builder(turn: Turn, _who: str) -> Say:
    """Writes first what is too noisy, then what is not."""
    if not turn.done:
        noisy = BUILT.replace("sum(", "__import__('time').time_ns() % 90 + sum(")
        mended = "must be under 5%" in turn.prompt
        return calling("write", path="measure/run.py", content=BUILT if mended else noisy)
    command = f"{sys.executable} measure/run.py"
    return answering({"summary": "adds them up", "command": command})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    prices = Prices(input=1.0, output=5.0, cache_read=0.1, cache_write=1.25)
    brain = playing(goal_clarifier=clarifier, benchmark_builder=builder)
    with ModelServer(brain, prices=prices) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        yield server


def assert_counted(init: Init, server: ModelServer) -> None:
    totals, ledger = load_state(init.layout).totals, server.ledger
    assert ledger.calls > 1
    assert totals.calls == ledger.calls
    assert totals.input_tokens == ledger.input_tokens
    assert totals.output_tokens == ledger.output_tokens


def test_a_model_leads_the_interview(numbers: Init, server: ModelServer) -> None:
    # dollars; trust; target; the goal; trust
    done = numbers("--goal-clarifier", SPEC, typed="3\ny\n\ny\ny\n")
    assert done.code == 0, done.told
    assert f"Dollars this run may spend on {SPEC}" in done.told
    assert "set-up by agents, at most: 1,040 calls" in done.told
    assert "3 usd a run" in done.told
    assert "Target value: 60" in numbers.layout.goal.read_text()
    assert_counted(numbers, server)
    log = numbers.layout.logs / "round_0/goal-clarifier_question_1.log"
    assert "-> read" in log.read_text()


def test_a_model_builds_the_benchmark(bare: Init, server: ModelServer) -> None:
    done = bare(*FLAGS, "--benchmark-builder", SPEC, "--budget-usd", "5", "--yes")
    assert done.code == 0, done.told
    assert (bare.repository.path / "measure/run.py").read_text() == BUILT
    assert_counted(bare, server)
    assert main(["validate", str(bare.repository.path)]) == 0


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ((), 2, "add --budget-usd N, or --no-budget"),
        (("--budget-usd", "0.0001"), 3, "the run has 0.0001 dollars left"),
        (("--budget-usd", "1", "--no-budget"), 2, "--no-budget contradicts --budget-usd"),
    ],
)
def test_a_paid_model_keeps_to_a_budget(
    bare: Init, server: ModelServer, words: tuple[str, ...], code: int, told: str
) -> None:
    done = bare(*FLAGS, "--benchmark-builder", SPEC, "--yes", *words)
    assert (done.code, server.ledger.calls) == (code, 0), done.told
    assert told in done.told


def test_a_bad_key_is_told_before_anything_is_asked(
    bare: Init, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "other")
    done = bare(*FLAGS, "--benchmark-builder", SPEC, "--no-budget", "--yes")
    assert (done.code, server.ledger.calls) == (3, 0)
    assert "the key in ANTHROPIC_API_KEY is refused" in done.told


def test_a_model_that_is_not_asked_needs_no_budget(numbers: Init, server: ModelServer) -> None:
    words = ["--command", "sh bench.sh", "--benchmark-builder", SPEC, "--goal-clarifier", SPEC]
    done = numbers(*FLAGS, *words, "--yes")
    assert (done.code, server.ledger.calls) == (0, 0), done.told


PROGRAM = f"""import json, pathlib, sys
request = json.load(sys.stdin)
if request["role"] == "goal-clarifier":
    given = {{"score": 90, "evidence": "said"}}
    scores = dict.fromkeys(("objective", "metric", "target", "scope"), given)
    goal = {{"objective": "Lower the sum of src/", "metric": "score", "direction": "lower",
            "target": "< 60", "in_scope": ["src/"]}}
    print(json.dumps({{"scores": scores, "goal": goal}}))
else:
    pathlib.Path("measure").mkdir(exist_ok=True)
    pathlib.Path("measure/run.py").write_text({BUILT!r})
    print(json.dumps({{"summary": "sums", "command": "python3 measure/run.py"}}))
"""


def test_a_program_of_ones_own_does_both(bare: Init) -> None:
    place = bare.trees.parent / "agent.py"
    place.write_text(PROGRAM)
    spec = f"command:{sys.executable} {place}"
    words = ["--goal-clarifier", spec, "--benchmark-builder", spec]
    # trust; the files; the goal; trust
    done = bare(*words, typed="y\ny\ny\ny\n")
    assert done.code == 0, done.told
    assert "Put measure/run.py into" in done.told
    state = load_state(bare.layout)
    assert state.baseline is not None
    assert state.totals.calls == 2
