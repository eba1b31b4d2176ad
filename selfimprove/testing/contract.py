"""The conformance suite of the Agent protocol: a test class that any agent's tests inherit.

class TestMyAgent(AgentContract):
    def make_agent(self, folder):
        return MyAgent(...)
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from selfimprove.agents.base import Agent, AgentFailure, Workspace
from selfimprove.agents.schemas import check_output
from selfimprove.agents.skills import ASKED
from selfimprove.contracts.agent import AgentReply, AgentRequest, AgentRole
from selfimprove.contracts.base import FAMILIES
from selfimprove.contracts.plan import Plan
from selfimprove.errors import Stopped
from selfimprove.review.context import ReviewContext, TreeView
from selfimprove.review.rules import review_plan
from selfimprove.testing.documents import a_plan, a_request
from selfimprove.testing.workspaces import make_workspace

ROLES: tuple[AgentRole, ...] = ASKED
TARGET = "src/work.py"
SOURCE = '''"""Counts words."""

LIMIT = 1000
BATCH = 16


def count(words):
    """Count how often each word comes."""
    found = {}
    for word in words[:LIMIT]:
        found[word] = found.get(word, 0) + 1
    return found
'''


class AgentContract:
    """What the loop relies on. Override `make_agent`, and what else differs."""

    files: dict[str, str] = {TARGET: SOURCE, "README.md": "# Words\n"}
    roles: tuple[AgentRole, ...] = ROLES
    quick = 5.0
    """Seconds within which an agent ends that is told to."""

    def make_agent(self, folder: Path) -> Agent:
        """Build an agent that gives each role a fitting answer; `folder` is free to use."""
        raise NotImplementedError

    def make_slow_agent(self, folder: Path) -> Agent | None:  # noqa: ARG002 - for the override
        """Build an agent that takes longer than a second; None where there is no such thing."""
        return None

    def make_request(self, role: AgentRole) -> AgentRequest:
        """Give a request with the documents that the role reads."""
        return a_request(role, **self.documents(role))

    def documents(self, role: AgentRole) -> dict[str, Any]:
        """Give the context of a request."""
        goal = {
            "objective": "Count faster",
            "slug": "count_faster",
            "metric": {"name": "score", "direction": "lower_is_better"},
            "scope": {"in_scope": ["src/"]},
        }
        plan = self.plan() | {"plan_id": "round_1_planner_a", "planner_id": "planner_a", "round": 1}
        shared: dict[str, Any] = {"goal": goal, "settings": {}, "history": [], "ideas": []}
        shared |= {"rules": [], "attempts": [], "family": list(FAMILIES)}
        return shared | ({"plan": plan} if role in ("architect", "critic", "executor") else {})

    def plan(self) -> dict[str, Any]:
        """Give the plan that reviewers read and the executor carries out."""
        return a_plan(TARGET, "src/work.py::LIMIT = 500")

    @pytest.fixture
    def workspace(self, tmp_path: Path) -> Workspace:
        """Give a tree with `files`, and a room."""
        return make_workspace(tmp_path / "space", self.files)

    def ask(self, agent: Agent, role: AgentRole, workspace: Workspace) -> AgentReply:
        """Ask in a workspace as the loop would give it to that role."""
        own = replace(workspace, writable=role == "executor")
        return agent.ask(self.make_request(role), own)

    def test_it_says_how_it_is_written_in_settings(self, tmp_path: Path) -> None:
        """The spec is what `selfimprove config` and records show."""
        agent = self.make_agent(tmp_path)
        assert agent.spec.strip()
        assert isinstance(agent.needs_git, bool)
        assert isinstance(agent.in_room, bool)

    def test_its_answers_fit(self, tmp_path: Path, workspace: Workspace) -> None:
        """Each role's answer meets the role's schema, whole and plain."""
        agent = self.make_agent(tmp_path)
        for role in self.roles:
            reply = self.ask(agent, role, workspace)
            assert check_output(self.make_request(role), reply.output) == reply.output

    def test_its_plan_is_one_that_rules_let_pass(
        self, tmp_path: Path, workspace: Workspace
    ) -> None:
        """One hypothesis, its families, paths that can be, and the score left alone."""
        if "planner" not in self.roles:
            pytest.skip("it plans nothing")
        reply = self.ask(self.make_agent(tmp_path), "planner", workspace)
        plan = Plan.parse(reply.output, "its answer")
        tree = TreeView(frozenset(self.files), in_scope=lambda path: path.startswith("src/"))
        verdicts = review_plan(plan, ReviewContext(tree))
        assert [verdict.message for verdict in verdicts if not verdict.passed] == []

    def test_readers_leave_their_tree_as_it_is(self, tmp_path: Path, workspace: Workspace) -> None:
        """Only executors edit."""
        agent = self.make_agent(tmp_path)
        before = contents(workspace.tree)
        for role in self.roles:
            if role != "executor":
                self.ask(agent, role, workspace)
        assert contents(workspace.tree) == before

    def test_an_executor_writes_in_its_tree_alone(
        self, tmp_path: Path, workspace: Workspace
    ) -> None:
        """Nothing beside the tree changes."""
        if "executor" not in self.roles:
            pytest.skip("it executes nothing")
        agent = self.make_agent(tmp_path)
        (tmp_path / "space" / "beside.txt").write_text("mine")
        before = self._beside(workspace)
        self.ask(agent, "executor", workspace)
        assert self._beside(workspace) == before

    def _beside(self, workspace: Workspace) -> dict[str, bytes]:
        folder = workspace.tree.parent
        ours = (workspace.tree.name, "cache", workspace.log.name)
        return {k: v for k, v in contents(folder).items() if k.split("/")[0] not in ours}

    def test_a_stop_is_heard(self, tmp_path: Path, workspace: Workspace) -> None:
        """Once a person has stopped the run, no question is answered."""
        agent = self.make_agent(tmp_path)
        workspace.stop.set()
        started = time.monotonic()
        with pytest.raises(Stopped):
            self.ask(agent, self.roles[0], workspace)
        assert time.monotonic() - started < self.quick

    def test_it_is_asked_from_several_threads(self, tmp_path: Path, workspace: Workspace) -> None:
        """Planners of one round share an agent."""
        agent = self.make_agent(tmp_path)
        readers = [role for role in self.roles if role in ("researcher", "planner", "critic")]
        with ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(self.ask, agent, role, workspace) for role in [*readers, *readers]]
            replies = [one.result() for one in asked]
        for role, reply in zip([*readers, *readers], replies, strict=True):
            check_output(self.make_request(role), reply.output)

    def test_its_time_is_kept(self, tmp_path: Path, workspace: Workspace) -> None:
        """An agent that takes too long is a failure of kind `timeout`."""
        agent = self.make_slow_agent(tmp_path)
        if agent is None:
            pytest.skip("it cannot be slow")
        started = time.monotonic()
        with pytest.raises(AgentFailure) as caught:
            self.ask(agent, self.roles[0], replace(workspace, timeout=0.3))
        assert caught.value.kind == "timeout"
        assert time.monotonic() - started < self.quick


def contents(folder: Path) -> dict[str, bytes]:
    """Give every file below a folder with what is in it."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }
