from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from selfimprove.agents.base import AgentFailure, Workspace
from selfimprove.contracts.agent import AgentRole
from selfimprove.errors import ToolError
from selfimprove.goalfile import parse_goal
from selfimprove.testing import (
    a_plan,
    a_request,
    build_repository,
    edits,
    failing,
    goal_text,
    script,
)
from selfimprove.testing.workspaces import make_workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path, {"a.py": "A = 1\n", "old.py": ""})


def test_the_same_files_make_the_same_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"src/a.py": "A = 1\n", "data.bin": b"\0\xff", "ü b.txt": "x"}
    one = build_repository(tmp_path / "one", files, goal_text("python bench.py"))
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Somebody Else")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    two = build_repository(tmp_path / "two", files, goal_text("python bench.py"))
    assert one.head == two.head
    assert one.git("status", "--porcelain") == ""
    assert one.git("branch", "--show-current") == "main"
    assert one.commit({"src/a.py": "A = 2\n"}) != two.head
    with pytest.raises(ToolError, match="no-such"):
        one.git("checkout", "no-such")


def test_the_goal_it_writes_is_understood() -> None:
    text = goal_text("python bench.py", "src/, lib/", "p95_ms", target="10", objective="Be quick")
    goal = parse_goal(text, "goal.md")
    assert (goal.objective, goal.metric.name, goal.metric.target_value) == (
        "Be quick",
        "p95_ms",
        10,
    )
    assert goal.metric.direction == "lower_is_better"
    assert goal.scope.in_scope == ["src/", "lib/"]
    assert goal.benchmark.command == "python bench.py"


def ask(agent: Any, role: AgentRole, workspace: Workspace, number: int = 1, name: str = "") -> Any:
    request = a_request(role, number)
    if name:
        request = request.model_copy(update={"agent_id": name})
    return agent.ask(request, workspace).output


def test_a_script_answers_by_round_and_by_agent(workspace: Workspace) -> None:
    agent = script(planner=[a_plan("a.py"), [a_plan("b.py"), a_plan("c.py")]])

    def target(number: int, planner: str) -> str:
        files: list[str] = ask(agent, "planner", workspace, number, planner)["target_files"]
        return files[0]

    for _ in range(2):  # asked again, it answers the same
        assert [target(1, "planner_a"), target(1, "planner_b")] == ["a.py", "a.py"]
        assert [target(2, "planner_a"), target(2, "planner_b")] == ["b.py", "c.py"]
        assert target(7, "planner_b") == "c.py"
    with pytest.raises(AgentFailure, match="no reply for planner_c in round 2"):
        target(2, "planner_c")


def test_roles_that_are_not_given_approve_or_do_nothing(workspace: Workspace) -> None:
    agent = script()
    assert ask(agent, "critic", workspace)["score"] == 1.0
    assert ask(agent, "architect", workspace)["verdict"] == "approve"
    assert ask(agent, "researcher", workspace)["ideas"] == []
    assert ask(agent, "executor", workspace)["summary"]
    with pytest.raises(AgentFailure, match="planner_a"):
        ask(agent, "planner", workspace)


def test_executors_edit_and_agents_fail_as_told(workspace: Workspace) -> None:
    agent = script(
        executor=[[edits({"a.py": "A = 2\n", "old.py": None}), failing("timeout", "too slow")]]
    )
    assert ask(agent, "executor", workspace)["summary"] == "edited"
    assert (workspace.tree / "a.py").read_text() == "A = 2\n"
    assert not (workspace.tree / "old.py").exists()
    with pytest.raises(AgentFailure, match="too slow") as caught:
        ask(agent, "executor", workspace, 1, "executor_2")
    assert caught.value.kind == "timeout"
