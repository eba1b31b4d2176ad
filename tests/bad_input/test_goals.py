"""goal.md as people leave it: missing, in Windows line ends, uncommitted, contradictory."""

from __future__ import annotations

from pathlib import Path

import pytest

from selfimprove.testing import Repository, build_repository, goal_text

from .conftest import COMMAND, FILES, Machine, git, later, tracked, untouched

IMPROVE = "improve/lower_the_score"


@pytest.fixture
def bare_of_goal(tmp_path: Path) -> Repository:
    return build_repository(tmp_path / "target", FILES)


def test_no_goal(machine: Machine, bare_of_goal: Repository) -> None:
    with untouched(bare_of_goal.path):
        machine.run(bare_of_goal.path).refused(
            3, str(bare_of_goal.path), "no goal.md", "goal --template"
        )
    assert not (bare_of_goal.path / ".selfimprove").exists()


def test_a_goal_file_that_is_not_there(machine: Machine, target: Repository) -> None:
    machine.run(target.path, "--goal", "nowhere.md").refused(3, "nowhere.md", "--goal FILE")


def test_crlf_and_a_byte_order_mark(machine: Machine, tmp_path: Path) -> None:
    text = "\ufeff" + goal_text(COMMAND).replace("\n", "\r\n")
    there = build_repository(tmp_path / "target", FILES, text)
    machine.improved(there.path)
    assert tracked(there.path, IMPROVE, "src/conf.py") == "LIMIT = 50"


@pytest.mark.parametrize("name", ["GOAL.md", later("goal.md"), later("Goal.MD")])
def test_an_uncommitted_goal_and_benchmark(machine: Machine, tmp_path: Path, name: str) -> None:
    there = build_repository(tmp_path / "target", {"src/conf.py": "LIMIT = 100\n"})
    there.write({name: goal_text(COMMAND), "bench.sh": FILES["bench.sh"], "notes.txt": "mine"})
    told = machine.improved(there.path).err
    assert f"taken as they stand and sealed: {', '.join(sorted([name, 'bench.sh']))}" in told
    assert f"begins from commit {there.head[:12]}; untracked and therefore not in it: notes" in told
    assert git(there.path, "ls-tree", "--name-only", IMPROVE).splitlines() == ["src"]


@pytest.mark.long
def test_modified_files_are_named_and_left_out(machine: Machine, target: Repository) -> None:
    target.write({"src/conf.py": "LIMIT = 1\n", "bench.sh": FILES["bench.sh"] + "# a comment\n"})
    told = machine.improved(target.path).err
    assert "modified and therefore not in it: src/conf.py" in told
    assert "taken as they stand and sealed: bench.sh" in told
    assert tracked(target.path, IMPROVE, "src/conf.py") == "LIMIT = 50"
    assert tracked(target.path, IMPROVE, "bench.sh") == FILES["bench.sh"].rstrip()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("- Direction: lower_is_better\n", "- Direction: sideways\n"), ["line", "lower"]),
        (("- Direction: lower_is_better\n", ""), ["Direction"]),
        (("- Command: `sh bench.sh`\n", ""), ["Command"]),
        (("- Format: json\n", "- Format: yaml\n"), ["line", "yaml", "json"]),
        (("## Objective\nLower the score\n", ""), ["Objective"]),
        (("## Objective\nLower the score\n", "## Objective\n"), ["Objective"]),
        (("- Metric name: score\n", ""), ["Metric name"]),
        (("- In scope: src/\n", ""), ["In scope"]),
        (("- In scope: src/\n", "- In scope: ../elsewhere/\n"), ["line", "../elsewhere"]),
        (("- In scope: src/\n", "- In scope: /etc/\n"), ["line", "/etc"]),
        (("- Metric name: score\n", "- Metric name: score\n- Target value: soon\n"), ["soon"]),
    ],
)
def test_a_goal_that_cannot_be_read(
    machine: Machine, tmp_path: Path, change: tuple[str, str], says: list[str]
) -> None:
    text = goal_text(COMMAND)
    assert change[0] in text
    there = build_repository(tmp_path / "target", FILES, text.replace(*change))
    with untouched(there.path):
        machine.run(there.path).refused(3, str(there.path / "goal.md"), *says)


def test_a_goal_that_is_not_utf8(machine: Machine, target: Repository) -> None:
    (target.path / "goal.md").write_bytes(goal_text(COMMAND).encode() + b"\xff\xfe")
    machine.run(target.path).refused(3, "goal.md line", "UTF-8")


def test_direction_against_target(machine: Machine, tmp_path: Path) -> None:
    """Lower is better, and the target lies above what is there."""
    there = build_repository(tmp_path / "target", FILES, goal_text(COMMAND, target="> 120"))
    machine.run(there.path).refused(3, "goal.md line", "120", "lower")


def test_a_target_that_the_baseline_meets_ends_the_run_at_once(
    machine: Machine, tmp_path: Path
) -> None:
    there = build_repository(tmp_path / "target", FILES, goal_text(COMMAND, target="120"))
    with untouched(there.path):
        answer = machine.run(there.path).worked()
    assert "The target is reached" in answer.out
    assert "No agent was called" in answer.out


def test_a_setting_against_the_goal(machine: Machine, tmp_path: Path, monkeypatch) -> None:
    there = build_repository(tmp_path / "target", FILES, goal_text(COMMAND, target="20"))
    monkeypatch.setenv("SELFIMPROVE_BENCHMARK_DIRECTION", "higher_is_better")
    machine.run(there.path).refused(3, "SELFIMPROVE_BENCHMARK_DIRECTION", "goal.md", "correct")


@pytest.mark.parametrize(
    ("scope", "says"),
    [
        ("nothing/", "In scope: nothing/"),
        ("bench.sh", "In scope: bench.sh"),
    ],
)
def test_nothing_editable_in_scope(machine: Machine, tmp_path: Path, scope: str, says: str) -> None:
    text = goal_text(f"touch {tmp_path}/spent; sh bench.sh", scope=scope)
    there = build_repository(tmp_path / "target", FILES, text + "- Sealed: bench.sh\n")
    with untouched(there.path):
        machine.run(there.path).refused(3, "nothing in scope can be edited", says, "unsealed_files")
    logs = there.path / ".selfimprove/default/logs"
    assert not list(logs.rglob("*.log"))  # nothing was run


@pytest.mark.long
def test_an_edit_during_a_run_is_taken_up_at_the_next_start(
    machine: Machine, target: Repository
) -> None:
    machine.improved(target.path)
    target.write({"goal.md": goal_text(COMMAND) + "\n<!-- another word -->\n"})
    with untouched(target.path):
        machine.run(target.path, "--max-iterations", 2).worked()
    copy = target.path / ".selfimprove/default/config/goal.md"
    assert "another word" in copy.read_text()


def test_a_file_in_scope_that_makes_the_score_is_named(machine: Machine, tmp_path: Path) -> None:
    files = {"src/conf.py": "LIMIT = 100\n", "src/bench.sh": FILES["bench.sh"]}
    there = build_repository(tmp_path / "target", files, goal_text("sh src/bench.sh"))
    assert "also makes the score: src/bench.sh;" in machine.improved(there.path).err


def test_a_held_out_benchmark_that_agents_see_is_named(
    machine: Machine, target: Repository
) -> None:
    settings = ".selfimprove/default/config/settings.json"
    command = '{"holdout_command": "sh src/held_out.sh"}'
    target.write({"src/held_out.sh": FILES["bench.sh"], settings: command})
    said = machine.run(target.path, "--dry-run").err
    assert "in scope, and named by holdout_command: src/held_out.sh; agents see" in said


@pytest.mark.long
def test_a_benchmark_that_opens_files_out_of_scope_is_measured_once(
    machine: Machine, tmp_path: Path
) -> None:
    """What it opened is sealed from then on, which is no change of conditions."""
    files = {**FILES, "data.txt": "3\n", "bench.sh": f"cat data.txt >&2\n{FILES['bench.sh']}"}
    there = build_repository(tmp_path / "target", files, goal_text(COMMAND))
    machine.improved(there.path)
