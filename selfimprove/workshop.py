"""Where agents' trees are made and thrown away, and what they changed becomes a commit."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from selfimprove.agents.base import Agent, Workspace
from selfimprove.agents.replies import KeptReply, ReplyStore
from selfimprove.bench.measure import Bench
from selfimprove.bench.verdicts import written_over
from selfimprove.config import Config
from selfimprove.contracts.agent import AgentRequest
from selfimprove.contracts.benchmark import Category, Disqualification, FailureAnalysis
from selfimprove.contracts.plan import Plan
from selfimprove.names import RefNames, branch
from selfimprove.process import Outcome, StopToken
from selfimprove.redaction import Redactor
from selfimprove.review.context import TreeView
from selfimprove.review.inert import changes_no_code
from selfimprove.review.rules import beyond_plan, is_documentation
from selfimprove.room.agent_trees import AgentTrees, Wanted
from selfimprove.room.layers import Layers
from selfimprove.room.room import Room
from selfimprove.vcs.changes import Change, Odd
from selfimprove.vcs.compare import changes_between
from selfimprove.vcs.content import content_violations
from selfimprove.vcs.guard import Scope, Seals, Violation, editable, violations
from selfimprove.vcs.importing import NewCommit
from selfimprove.vcs.names import readable
from selfimprove.vcs.quarantine import Quarantine
from selfimprove.vcs.sound import unsound
from selfimprove.vcs.trees import Edited, Overlay, collect

COMMITS = 30
"""Of the history of a tree, shown to agents that ask for it."""
PACKED = 24
"""Rounds after which the private clone is packed."""
GUARD_OUTPUT = 4000
"""Characters of a failing guard's output that go back to its executor."""


@dataclass(frozen=True)
class Inspection:
    """What a candidate commit looks like before it is measured."""

    tree: str
    files: tuple[str, ...]
    analysis: FailureAnalysis | None = None
    disqualification: Disqualification | None = None
    feedback: str = ""
    """What its executor may still mend."""

    @property
    def ok(self) -> bool:
        """Whether it may be measured."""
        return self.analysis is None


@dataclass(frozen=True)
class Rules:
    """What a candidate may touch, fixed at set-up."""

    scope: Scope
    seals: Seals
    benchmark_files: frozenset[str]
    prefix: str = ""
    """The sub-directory that the goal's paths are relative to; empty, or ends with a slash."""

    def in_scope_from_start(self, path: str) -> bool:
        """Whether a path, as told from where the benchmark starts, is in scope."""
        return self.scope.matches(posixpath.normpath(posixpath.join(self.prefix, path)))


@dataclass(frozen=True)
class Tools:
    """What the workshop works with."""

    quarantine: Quarantine
    room: Room
    layers: Layers
    bench: Bench
    replies: ReplyStore
    stop: StopToken
    trees: Path
    """Throw-away trees; whatever is found here at a start was left by a dead run."""
    logs: Path
    redactor: Redactor = field(default_factory=Redactor)
    """Knows the secrets that no candidate may bring."""


class Workshop:
    """Makes trees for agents, and commits of what they did."""

    def __init__(self, config: Config, names: RefNames, rules: Rules, tools: Tools) -> None:
        self._config = config
        self._names = names
        self.rules = rules
        self.tools = tools
        self._editable: dict[str, list[str]] = {}
        """Of the commit that was asked for last."""
        self._logs: dict[str, str] = {}
        self._rounds = 0
        self.trees = AgentTrees(
            tools.quarantine, tools.room, tools.trees, names.improve, self.overlay
        )

    @property
    def prefix(self) -> str:
        """The target's sub-directory."""
        return self.rules.prefix

    # --- looking at commits ---

    def tree_oid(self, commit: str) -> str:
        """The id of a commit's tree."""
        return self.tools.quarantine.tree_oid(commit)

    def editable(self, commit: str) -> list[str]:
        """The files of a commit that a candidate may change."""
        if commit not in self._editable:
            entries = self.tools.quarantine.entries(commit)
            self._editable = {commit: editable(entries, self.rules.scope, self.rules.seals)}
        return list(self._editable[commit])

    def documentation_in_scope(self, commit: str) -> bool:
        """Whether a plan may be about documentation."""
        return any(is_documentation(path) for path in self.editable(commit))

    def tree_view(self, commit: str) -> TreeView:
        """The commit's paths as reviews want them."""
        scope, seals = self.rules.scope, self.rules.seals
        makes = self.rules.benchmark_files
        return TreeView(
            existing=frozenset(self.tools.quarantine.entries(commit)),
            in_scope=lambda path: scope.matches(path) and path not in seals,
            sealed=lambda path: path in seals,
            hidden=lambda path: path in scope.hidden,
            measures=lambda path: path in makes and not scope.matches(path),
        )

    # --- agents ---

    def reader(self, agent: Agent, commit: str) -> Reader:
        """A worker that asks an agent in a tree of the commit that it may only read."""
        return Reader(self, agent, commit)

    def editor(self, agent: Agent, base: str, previous: str, date: str) -> Editor:
        """A worker that asks an executor in a tree of its own and commits what it did.

        `previous` is the candidate it is to mend, or empty; `date` dates the commit.
        """
        return Editor(self, agent, base, previous or base, date)

    def reading_tree(self, commit: str) -> Path:
        """A tree of a commit for agents that only read."""
        return self.trees.reading(commit)

    def overlay(self, commit: str) -> Overlay:
        """What every tree of a commit has besides the commit, and what no agent sees."""
        sealed = self.tools.layers.overlay
        return Overlay(
            base_commit=commit,
            extra_files=sealed.extra_files if sealed else {},
            executables=sealed.executables if sealed else frozenset(),
            hidden=self.rules.scope.hidden,
        )

    def workspace(
        self, tree: Path, request: AgentRequest, commit: str, *, writable: bool
    ) -> Workspace:
        """Where an agent works on one request; the tree is one of `commit`."""
        name = request.session_id.split("/", 1)[1].replace("/", "_", 1).replace("/", "-")
        return Workspace(
            tree=tree,
            writable=writable,
            room=self.tools.room,
            stop=self.tools.stop,
            timeout=self._config.settings.agent_timeout,
            log=self.tools.logs / f"round_{request.round}" / f"{name}.log",
            commits=self._commits(commit),
        )

    def _commits(self, commit: str) -> str:
        if commit not in self._logs:
            self._logs = {commit: self.tools.quarantine.log(commit, COMMITS)}
        return self._logs[commit]

    # --- candidates ---

    def inspect(self, base: str, kept: KeptReply, plan: Plan, logs: str) -> Inspection:
        """Look at a candidate: something changed, all of it allowed, guards green."""
        commit = kept.commit
        odd = [Odd(path, reason) for path, reason in kept.odd.items()]
        quarantine = self.tools.quarantine
        changes = changes_between(quarantine, base, commit)
        tree, files = self.tree_oid(commit), tuple(change.path for change in changes)
        if not changes and not odd:
            told = _analysis(
                "logic_error",
                "the executor changed nothing",
                "an empty patch cannot improve anything",
                "describe the edit so that it can be carried out",
            )
            return Inspection(tree, files, told)
        scope = self.rules.scope
        wrong = violations(changes, quarantine.entries(base), scope, self.rules.seals, odd)
        wrong += content_violations(quarantine, changes, scope, self.tools.redactor)
        if wrong:
            return _forbidden(tree, files, wrong)
        beyond = beyond_plan(plan, list(files))
        if not beyond.passed:
            told = _analysis("scope_error", beyond.message, "not in the plan", beyond.remedy)
            return Inspection(tree, files, told, feedback=f"{beyond.message}: {beyond.remedy}")
        if self._says_nothing(changes):
            told = _analysis(
                "logic_error",
                "no code was changed: only comments or layout",
                "what no program can notice cannot move the score",
                "change what the program does",
            )
            return Inspection(tree, files, told)
        if written := self.tools.layers.prepared(commit).written:
            cheat = written_over(written)
            told = _analysis(
                "sealed_file_violation",
                cheat.evidence,
                "what guards and the benchmark would run is not what they are",
                "write no file that is not in scope",
            )
            return Inspection(tree, files, told, cheat)
        failed = self.guards(commit, logs)
        if failed is not None:
            return Inspection(tree, files, failed, feedback=f"{failed.what}\n{failed.why}")
        return Inspection(tree, files)

    def _says_nothing(self, changes: Sequence[Change]) -> bool:
        """Whether every change is one to a Python file that means what it meant."""
        if any(it.kind != "modified" or it.mode != it.old_mode for it in changes):
            return False
        if not all(it.path.endswith(".py") and it.mode.startswith("100") for it in changes):
            return False
        blobs = self.tools.quarantine.blobs([o for it in changes for o in (it.old_oid, it.oid)])
        return changes_no_code((it.path, blobs[it.old_oid], blobs[it.oid]) for it in changes)

    def guards(self, commit: str, logs: str) -> FailureAnalysis | None:
        """Run every guard on a commit; the first that is not green, or None."""
        prepared = self.tools.layers.prepared(commit)
        if not prepared.ok:
            return _red("prepare_command", prepared.outcome)
        for guard in self._config.settings.guards:
            name = re.sub(r"[^\w.-]+", "_", guard.name)
            outcome = self.tools.bench.guard(guard, commit, f"{logs}_guard_{name}.log")
            if outcome.exit_code != 0:
                return _red(f"guard {guard.name!r}", outcome)
        return None

    def merge(self, base: str, candidate: str, message: str, date: str) -> str | None:
        """A merge commit with both as parents, the same id on a second try; None on a conflict.

        On its own parent it is the candidate's tree; stacked on a win it is merged with it.
        """
        quarantine = self.tools.quarantine
        parent = quarantine.resolve(f"{candidate}^1")
        tree = self.tree_oid(candidate) if parent == base else quarantine.merge(base, candidate)
        if tree is None:
            return None
        return self.tools.quarantine.commit_tree(tree, [base, candidate], message, date)

    def unsound(self, base: str, commit: str) -> str:
        """What git finds wrong with the objects that a commit brings; empty where nothing is."""
        return unsound(self.tools.quarantine, base, commit)

    def experiment(self, number: int, executor_id: str) -> str:
        """The ref that names a candidate's commit, so that nothing loses it."""
        return branch(self._names.experiment(number, executor_id))

    def tidy(self, keep: Sequence[str]) -> None:
        """Throw away the trees and layers of everything but these commits."""
        self.trees.tidy(keep)
        self.tools.layers.keep(keep)
        self._rounds += 1
        if self._rounds % PACKED == 0:
            self.tools.quarantine.tidy()


class Reader:
    """Asks an agent that only reads."""

    def __init__(self, workshop: Workshop, agent: Agent, commit: str) -> None:
        self._workshop = workshop
        self._agent = agent
        self._commit = commit

    def kept(self, key: str) -> KeptReply | None:
        """The reply kept for this very request, if any."""
        return self._workshop.tools.replies.get(key)

    def __call__(self, request: AgentRequest, key: str) -> KeptReply:
        """Ask, and keep the reply; raises AgentFailure, Stopped."""
        tree = self._workshop.reading_tree(self._commit)
        workspace = self._workshop.workspace(tree, request, self._commit, writable=False)
        reply = self._agent.ask(request, workspace)
        kept = KeptReply(
            key=key,
            spec=self._agent.spec,
            session_id=request.session_id,
            reply=reply,
        )
        return self._workshop.tools.replies.put(kept)


class Editor:
    """Asks an executor, and makes a commit of what it did."""

    def __init__(self, workshop: Workshop, agent: Agent, base: str, start: str, date: str) -> None:
        self._workshop = workshop
        self._agent = agent
        self._base = base
        self._start = start
        self._date = date

    def kept(self, key: str) -> KeptReply | None:
        """The reply kept for this very request, if its commit is still there."""
        kept = self._workshop.tools.replies.get(key)
        if kept is None or self._workshop.tools.quarantine.resolve(kept.commit) is None:
            return None
        return kept

    def __call__(self, request: AgentRequest, key: str) -> KeptReply:
        """Ask, commit, and keep the reply with its commit; raises AgentFailure, Stopped."""
        quarantine = self._workshop.tools.quarantine
        wanted = Wanted(self._start, self._agent.needs_git, self._agent.in_room)
        with self._workshop.trees.editing(wanted) as mine:
            workspace = self._workshop.workspace(mine.tree, request, self._start, writable=True)
            reply = self._agent.ask(request, replace(workspace, layers=mine.layers))
            edited = Edited(self._start, mine.edited, mine.before, mine.layers is not None)
            made = collect(quarantine, edited, self._commit(request))
        kept = KeptReply(
            key=key,
            spec=self._agent.spec,
            session_id=request.session_id,
            reply=reply,
            commit=made.commit,
            odd={readable(each.path): each.reason for each in made.odd},
        )
        return self._workshop.tools.replies.put(kept)

    def _commit(self, request: AgentRequest) -> NewCommit:
        ref = self._workshop.experiment(request.round, request.agent_id)
        message = f"Round {request.round}, {request.agent_id}\n"
        return NewCommit(ref, message, self._date, self._base, anywhere=True)


def _analysis(category: Category, what: str, why: str, lesson: str) -> FailureAnalysis:
    return FailureAnalysis(what=what, why=why, category=category, lesson=lesson)


def _forbidden(tree: str, files: tuple[str, ...], wrong: Sequence[Violation]) -> Inspection:
    """A candidate that touched what it must not; a sealed file disqualifies it."""
    sealed = [each for each in wrong if each.kind == "sealed_file_violation"]
    first = (sealed or wrong)[0]
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    told = _analysis(
        first.kind,
        first.message + more,
        "a candidate may change only what is in scope and not sealed",
        f"leave {readable(first.path)} alone",
    )
    cheat = None
    if sealed:
        cheat = Disqualification(technique=first.technique, evidence=first.message + more)
    return Inspection(tree, files, told, cheat)


def _red(name: str, outcome: Outcome | None) -> FailureAnalysis:
    """A guard, or the preparation, that failed on a candidate."""
    if outcome is None:
        return _analysis("infrastructure", f"{name} could not run", "", "see the log")
    said = (outcome.stdout + b"\n" + outcome.stderr).decode("utf-8", "replace").strip()
    how = "timed out" if outcome.timed_out else f"exited with {outcome.exit_code}"
    return _analysis(
        "timeout" if outcome.timed_out else "logic_error",
        f"{name} {how}",
        said[-GUARD_OUTPUT:],
        f"keep {name} green",
    )
