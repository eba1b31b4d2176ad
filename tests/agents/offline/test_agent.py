"""The offline agent in all its roles, on a small slow program."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from selfimprove.agents.base import AgentFailure, Workspace
from selfimprove.agents.offline import OfflineAgent
from selfimprove.agents.offline.profile import profiled_command, read_profile
from selfimprove.agents.schemas import check_output
from selfimprove.contracts.agent import AgentRole
from selfimprove.process import Child, base_env, run_child
from selfimprove.review.hypothesis import count_hypotheses
from selfimprove.testing import a_request
from selfimprove.testing.workspaces import make_workspace

SLOW = '''\
"""Counts things, slowly."""

CACHE_SIZE = 2  # how many answers are kept
kept = {}


def answer(n):
    if n in kept:
        return kept[n]
    if len(kept) >= CACHE_SIZE:
        kept.clear()
    kept[n] = sum(range(n % 97 + 500))
    return kept[n]


def unique(xs):
    seen = []
    for x in xs:
        if x not in seen:  # a scan
            seen.append(x)
    return seen


def shares(xs):
    return [x / sum(xs) for x in xs]


def lines(text):
    first = []
    for line in text:
        first.append(line.split(",")[0])
    return first
'''
BENCH = """\
import sys
import time

import slow

began = time.perf_counter()
for k in range(3000):
    slow.answer(k % 4)
assert len(slow.unique(list(range(1500)) * 2)) == 1500
assert abs(sum(slow.shares(list(range(1, 1200)))) - 1) < 1e-6
assert slow.lines(["a,b"] * 2000)[0] == "a"
print(time.perf_counter() - began)
"""
GOAL = {
    "objective": "be fast",
    "metric": {"name": "seconds", "direction": "lower_is_better"},
    "scope": {"in_scope": ["slow.py", "conf/"], "out_of_scope": ["conf/fixed.json"], "hidden": []},
    "benchmark": {"command": "python bench.py", "sealed": ["bench.py"]},
    "ideas": ["slow.py::CACHE_SIZE = 3, 8", "make it faster somehow"],
}
FILES = {
    "slow.py": SLOW,
    "bench.py": BENCH,
    "conf/a.json": '{"batch_size": 4}\n',
    "conf/fixed.json": '{"chunk": 4}\n',
}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path, FILES)


def ask(workspace: Workspace, role: AgentRole, **context: Any) -> dict[str, Any]:
    request = a_request(role, **({"goal": GOAL} | context))
    output = OfflineAgent().ask(request, workspace).output
    assert json.loads(json.dumps(output)) == output
    if role in ("researcher", "planner", "architect", "critic", "executor"):
        check_output(request, output)
    return output


def seconds(tree: Path) -> float:
    def once() -> float:
        outcome = run_child(Child(("python3", "bench.py"), tree, base_env(), timeout=30))
        assert outcome.exit_code == 0, outcome.stderr
        return float(outcome.stdout)

    return min(once() for _ in range(3))


def test_brief_then_plan_then_edit_makes_a_slow_program_faster(workspace: Workspace) -> None:
    before = seconds(workspace.tree)
    attempts: list[dict[str, Any]] = []
    for number in range(4):
        brief = ask(workspace, "researcher", attempts=attempts)
        families = sorted({idea["approach_family"] for idea in brief["ideas"]})
        plan = ask(workspace, "planner", family=families, brief=brief, attempts=attempts)
        assert count_hypotheses(plan["hypothesis"]) == 1
        ask(workspace, "executor", plan=plan)
        attempts.append(plan | {"plan_id": f"p{number}", "round": number, "outcome": "won"})
    assert len({json.dumps(plan["tool_plan"]) for plan in attempts}) == 4
    assert "# a scan" in (workspace.tree / "slow.py").read_text()
    assert seconds(workspace.tree) < before / 2


def test_the_brief_names_file_and_line_and_at_least_three_families(workspace: Workspace) -> None:
    brief = ask(workspace, "researcher")
    sources = {idea["source"] for idea in brief["ideas"]}
    assert {"slow.py:3", "slow.py:17", "slow.py:25", "conf/a.json:1"} <= sources
    assert {"architecture", "optimization", "data", "training_config"} <= {
        idea["approach_family"] for idea in brief["ideas"]
    }
    assert brief["ideas"][0]["title"] == "The values you named for CACHE_SIZE in slow.py"
    assert "make it faster somehow: written as prose" in brief["repo_analysis_summary"]
    assert len(brief["ideas"]) <= 30


def test_files_out_of_scope_sealed_or_not_editable_are_never_proposed(workspace: Workspace) -> None:
    sources = {idea["source"].split(":")[0] for idea in ask(workspace, "researcher")["ideas"]}
    assert sources == {"slow.py", "conf/a.json"}
    told = ask(workspace, "researcher", editable=["conf/a.json"])
    assert {idea["source"] for idea in told["ideas"]} == {"conf/a.json:1"}


def test_a_planner_keeps_to_its_families_and_files(workspace: Workspace) -> None:
    plan = ask(workspace, "planner", family=["training_config"])
    assert (plan["approach_family"], plan["target_files"]) == ("training_config", ["conf/a.json"])
    with pytest.raises(AgentFailure, match="finds nothing of testing; it has some of") as caught:
        ask(workspace, "planner", family=["testing"])
    assert caught.value.kind == "output"
    with pytest.raises(AgentFailure, match=r"nothing of architecture in conf/a\.json"):
        ask(workspace, "planner", family=["architecture"], files=["conf/a.json"])


def test_no_plan_is_made_twice_and_what_was_tried_is_named(workspace: Workspace) -> None:
    attempts: list[dict[str, Any]] = []

    def plan_again(number: int) -> None:
        row = {"plan_id": f"round_{number}_planner_a", "round": number, "outcome": "lost"}
        plan = ask(workspace, "planner", family=["training_config"], attempts=attempts)
        if number:
            assert f"round_{number - 1}_planner_a" in plan["history_reference"]["avoids"]
        attempts.append(plan | row | {"score": 2.0 + number % 3, "incumbent_score": 1.0})

    def until_nothing_is_left() -> None:
        for number in range(30):
            plan_again(number)

    with pytest.raises(AgentFailure, match="was tried"):
        until_nothing_is_left()
    values = [row["tool_plan"][0]["args"]["new"] for row in attempts]
    assert len(values) == len(set(values)) >= 5


def test_a_plan_that_was_sent_back_is_not_proposed_again(workspace: Workspace) -> None:
    first = ask(workspace, "planner", family=["optimization"])
    told = [{"plan": first["hypothesis"], "issues": ["no"]}, "your last answer failed: x"]
    second = ask(workspace, "planner", family=["optimization"], feedback=told)
    assert second["hypothesis"] != first["hypothesis"]


def test_the_same_request_gets_the_same_answer(workspace: Workspace) -> None:
    plans = [ask(workspace, "planner", family=["architecture"]) for _ in range(2)]
    assert plans[0] == plans[1]


def test_reviewers_approve_what_applies_and_name_what_does_not(workspace: Workspace) -> None:
    plan = ask(workspace, "planner", family=["architecture"])
    assert ask(workspace, "architect", plan=plan)["verdict"] == "approve"
    assert ask(workspace, "critic", plan=plan)["score"] >= 0.9
    repeated = [plan | {"plan_id": "round_1_planner_b", "outcome": "lost"}]
    again = ask(workspace, "critic", plan=plan, attempts=repeated)
    assert again["score"] < 0.9
    assert "round_1_planner_b" in again["issues"][0]
    (workspace.tree / "slow.py").write_text("A = 1\n")
    gone = ask(workspace, "architect", plan=plan)
    assert gone["verdict"] == "reject"
    assert gone["structural_concerns"]


def foreign(change: str) -> dict[str, Any]:
    return {"steps": [{"step": 1, "file": "slow.py", "change": change}], "target_files": []}


def test_a_foreign_plan_is_carried_out_where_it_names_a_value(workspace: Workspace) -> None:
    ask(workspace, "executor", plan=foreign("slow.py::CACHE_SIZE = 64"))
    text = (workspace.tree / "slow.py").read_text()
    assert text == SLOW.replace("CACHE_SIZE = 2 ", "CACHE_SIZE = 64 ")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("rewrite it", "no edit that can be made offline"),
        ("slow.py::CACHE_SIZE = 2", "is 2 already"),
        ("slow.py::NOTHING = 2", "there is no NOTHING to set"),
        ("slow.py::CACHE_SIZE = (", "does not compile any more"),
        ("../slow.py::CACHE_SIZE = 3", "no text file of the tree"),
        ("gone.py::CACHE_SIZE = 3", "no text file of the tree"),
    ],
)
def test_an_edit_that_cannot_be_made_is_refused_and_nothing_written(
    workspace: Workspace, change: str, why: str
) -> None:
    with pytest.raises(AgentFailure, match=why):
        ask(workspace, "executor", plan=foreign(change))
    assert (workspace.tree / "slow.py").read_text() == SLOW


def test_a_link_out_of_the_tree_is_not_written_through(workspace: Workspace) -> None:
    outside = workspace.tree.parent / "outside.py"
    outside.write_text("CACHE = 1\n")
    (workspace.tree / "link.py").symlink_to(outside)
    with pytest.raises(AgentFailure):
        ask(workspace, "executor", plan=foreign("link.py::CACHE = 3"))
    assert outside.read_text() == "CACHE = 1\n"


def test_a_plan_is_found_quickly_with_many_results(workspace: Workspace) -> None:
    attempts = []
    for number in range(400):
        use = {
            "id": "edit_1",
            "tool": "tunable.set",
            "args": {"path": "slow.py", "name": f"X{number % 50}", "old": "1", "new": str(number)},
        }
        row = {"plan_id": f"p{number}", "round": number, "outcome": "lost", "tool_plan": [use]}
        attempts.append(row | {"score": 2.0, "incumbent_score": 1.0})
    ask(workspace, "planner", family=["architecture"], attempts=attempts)
    began = time.process_time()
    for _ in range(5):
        ask(workspace, "planner", family=["architecture"], attempts=attempts)
    assert time.process_time() - began < 5 * 0.15


def test_a_profile_of_child_processes_too_moves_hot_places_up(workspace: Workspace) -> None:
    result = workspace.tree.parent / "profile.json"
    (workspace.tree / "run.py").write_text(
        "import subprocess, sys\nsubprocess.run([sys.executable, 'bench.py'], check=True)\n"
    )
    command = profiled_command("python3 run.py --seed '{seed}'").replace("{result}", str(result))
    outcome = run_child(Child(("/bin/sh", "-c", command), workspace.tree, base_env(), timeout=60))
    assert (outcome.exit_code, outcome.stderr) == (0, b"")
    profile = read_profile(result.read_bytes())
    assert {"unique", "shares"} <= {hot.function for hot in profile.functions[:8]}
    context = {"profile": json.loads(json.dumps(profile.document())), "editable": ["slow.py"]}
    brief = ask(workspace, "researcher", goal=GOAL | {"ideas": []}, **context)
    order = [idea["source"] for idea in brief["ideas"]]
    assert order.index("slow.py:17") < order.index("slow.py:31")
    assert "of the profiled time" in brief["ideas"][0]["evidence"]


@pytest.mark.parametrize(
    "data",
    [
        None,
        b"",
        b"\x80\x04",
        b"[]",
        b'{"total": NaN, "functions": []}',
        b'{"total": 1, "functions": [["a", 1, "f", 1, -1, 2]]}',
        b'{"total": 1, "functions": [["a", "x"]]}',
        b"[" * 100_000,
    ],
)
def test_a_profile_that_does_not_fit_counts_for_nothing(data: bytes | None) -> None:
    assert read_profile(data).functions == ()
