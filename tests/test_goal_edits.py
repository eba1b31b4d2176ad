"""An edited goal.md, a stop during set-up, and a finished run that needs no trust to say so."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from selfimprove.cli import main
from selfimprove.testing.repository import build_repository

AGENT = """
import json, pathlib, sys
request = json.load(sys.stdin)
role = request["role"]
number = request["round"]
if role == "researcher":
    answer = {"repo_analysis_summary": "", "ideas": []}
elif role == "planner":
    answer = {
        "hypothesis": f"A smaller number of round {number} should cost less because it is smaller",
        "approach_family": request["context"]["family"][0],
        "target_files": ["sub/n.txt"],
        "steps": [{"step": 1, "file": "sub/n.txt", "change": f"write {50 - number}"}],
        "expected_outcome": {"metric": "cost", "estimated_impact": "1", "rationale": "smaller"},
        "rollback_plan": json.dumps(request["context"]["goal"]["scope"]["in_scope"]),
    }
elif role == "architect":
    answer = {"verdict": "approve"}
elif role == "critic":
    answer = {"score": 1.0}
else:
    pathlib.Path("sub/n.txt").write_text(f"{50 - number}\\n")
    answer = {"summary": "written"}
print(json.dumps(answer))
"""
GOAL = """# Goal

## Objective
Lower the cost

## Target Metric
- Metric name: cost
- Direction: lower

## Scope
- In scope: n.txt

## Benchmark
- Command: `sh bench.sh`
- Format: json
"""


@pytest.fixture
def target(tmp_path: Path) -> Path:
    files = {
        "sub/n.txt": "50\n",
        "sub/bench.sh": 'printf \'{"cost": %s}\\n\' "$(cat n.txt)"\n',
        "sub/goal.md": GOAL,
    }
    build_repository(tmp_path / "target", files)
    (tmp_path / "agent.py").write_text(AGENT)
    return tmp_path / "target/sub"


def start(target: Path, *more: str) -> int:
    outside = target.parent.parent
    agent = f"command:{sys.executable} {outside / 'agent.py'}"
    given = ["--yes", "--trees", str(outside / "trees"), "--agents", "1", "--agent", agent]
    return main(["run", str(target), *given, *more])


@pytest.mark.long
def test_paths_of_a_sub_directory_are_told_from_the_top(target: Path) -> None:
    assert start(target, "--max-iterations", "1") == 0
    root = target.parent / ".selfimprove/default"
    plan = json.loads((root / "state/plan_archive/round_1/plan_planner_a.json").read_text())
    assert json.loads(plan["rollback_plan"]) == ["sub/n.txt"]
    assert json.loads((root / "state/merge_reports/round_1.json").read_text())["status"] == "merged"


@pytest.mark.long
def test_an_edit_is_taken_up_and_said_at_the_next_start(
    target: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert start(target, "--max-iterations", "1") == 0
    (target / "goal.md").write_text(GOAL.replace("Lower the cost", "Lower the cost at last"))
    capsys.readouterr()
    assert start(target, "--max-iterations", "2") == 0
    assert "was edited since the last start: it is taken up now" in capsys.readouterr().err
    root = target.parent / ".selfimprove/default"
    events = json.loads((root / "tracking/events.json").read_text())
    assert "goal.md" in [event["details"]["field"] for event in events]


@pytest.mark.long
def test_another_direction_is_another_run(target: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert start(target, "--max-iterations", "1") == 0
    (target / "goal.md").write_text(GOAL.replace("Direction: lower", "Direction: higher"))
    capsys.readouterr()
    assert start(target, "--max-iterations", "2") == 3
    assert "cannot be compared; put it back" in capsys.readouterr().err


@pytest.mark.long
def test_a_finished_run_says_so_without_asking_for_trust(
    target: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert start(target, "--max-iterations", "1") == 0
    trees = str(target.parent.parent / "trees")
    capsys.readouterr()
    assert main(["run", str(target), "--trees", trees, "--max-iterations", "1"]) == 0
    assert "this run has ended" in capsys.readouterr().err


@pytest.mark.long
def test_benchmark_needs_no_trust_in_agents(target: Path) -> None:
    assert start(target, "--max-iterations", "1") == 0
    trees = str(target.parent.parent / "trees")
    assert main(["benchmark", str(target), "--trees", trees, "--runs", "1"]) == 0


@pytest.mark.long
def test_a_stop_during_set_up_is_on_record(target: Path) -> None:
    (target / "bench.sh").write_text("sleep 30\n")
    subprocess.run(["git", "-C", str(target), "commit", "-qam", "slow"], check=True)
    outside = target.parent.parent
    command = [sys.executable, "-m", "selfimprove", "run", str(target), "--yes", "--json"]
    command += ["--trees", str(outside / "trees")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if '"benchmark.run"' in line:
                child.terminate()
                break
        rest = child.stdout.read().strip().splitlines()
        assert child.wait(30) == 130
    last = json.loads(rest[-1])["payload"]
    assert (last["event"], last["status"], last["exit_code"]) == ("stopped", "user_stopped", 130)
    assert (target.parent / ".selfimprove/default/summary.md").is_file()
