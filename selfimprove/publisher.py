"""Bringing proven wins and measured losers into the user's repository, and noticing its moves."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from selfimprove.contracts.base import Record
from selfimprove.names import RefNames, branch, tag
from selfimprove.store.state import State
from selfimprove.vcs.git import Git
from selfimprove.vcs.publish import BranchInUse, RefUpdate, checked_out, publish
from selfimprove.vcs.quarantine import Quarantine
from selfimprove.vcs.refs import RefMoved, read_refs
from selfimprove.vcs.target import Target


class Move(Record):
    """One ref to move by compare-and-swap; zeros stand for `does not exist`."""

    ref: str
    new: str
    old: str


class Order(Record):
    """What is to be published."""

    improve: str
    """Full ref of the improvement branch."""
    commit: str
    """What it should hold."""
    updates: list[Move]


class Done(Record):
    """What was published."""

    published: str | None = None
    """What the improvement branch holds in the target, where it was moved."""
    tags: list[str] = []
    held_back: bool = False
    where: str = ""
    """The working tree that has the improvement branch checked out."""
    warning: str = ""

    additions = frozenset({"published", "where", "warning"})


@dataclass(frozen=True)
class Publisher:
    """Publishes from the quarantine into the target."""

    target: Target
    quarantine: Quarantine
    names: RefNames

    def experiment(self, number: int, executor_id: str) -> str:
        """The name of an experiment branch."""
        return self.names.experiment(number, executor_id)

    def tags(self, state: State, won: Collection[str]) -> list[str]:
        """The archive tags of the round under way: every measured loser, none disqualified."""
        assert state.round is not None
        number = state.round.number
        return [
            self.names.archive(number, name)
            for name, executor in state.round.executors.items()
            if name not in won
            and executor.candidate
            and executor.result
            and executor.result.benchmark_score is not None
            and executor.result.disqualification is None
        ]

    def order(self, state: State, commit: str, won: Collection[str]) -> Order:
        """What the round under way wants published, less what is in place already."""
        assert state.round is not None
        improve = branch(self.names.improve)
        zeros = "0" * len(commit)
        updates = []
        base = state.facts.base_commit if state.facts else commit
        if commit not in (state.published, base):
            updates.append(Move(ref=improve, new=commit, old=state.published or zeros))
        for name, executor in state.round.executors.items():
            archived = self.names.archive(state.round.number, name)
            if archived in self.tags(state, won) and executor.candidate:
                updates.append(Move(ref=tag(archived), new=executor.candidate.commit, old=zeros))
        there = read_refs(self.target.git, improve, *(update.ref for update in updates))
        # a branch that was moved by a try before a crash is still to be reported as published
        left = [each for each in updates if each.ref == improve or there.get(each.ref) != each.new]
        return Order(improve=improve, commit=commit, updates=left)

    def carry_out(self, order: Order) -> Done:
        """Publish; a win is held back while its branch is checked out, or was moved by its user."""
        self.keep(order.commit)
        tags = [each for each in order.updates if each.ref != order.improve]
        try:
            publish(self.target, self.quarantine, _updates(order.updates))
        except (BranchInUse, RefMoved):
            return self._apart(order, tags)
        wins = len(order.updates) > len(tags)
        return Done(tags=[each.ref for each in tags], published=order.commit if wins else None)

    def _apart(self, order: Order, tags: list[Move]) -> Done:
        """Publish tags and win each for itself, for one of them cannot be moved."""
        wins = [each for each in order.updates if each.ref == order.improve]
        warning = self._publish(tags)
        done = Done(tags=[each.ref for each in tags] if not warning else [], warning=warning)
        if not wins:
            return done
        if read_refs(self.target.git, order.improve).get(order.improve) == order.commit:
            return done.model_copy(update={"published": order.commit})
        where = checked_out(self.target, order.improve)
        if where is not None:
            return done.model_copy(update={"held_back": True, "where": str(where)})
        warning = self._publish(wins)
        if warning:
            return done.model_copy(update={"held_back": True, "warning": warning})
        return done.model_copy(update={"published": order.commit})

    def keep(self, commit: str) -> None:
        """The quarantine holds the win under its own improvement branch, published or not."""
        before = self._kept()
        if before != commit:
            self.quarantine.set_ref(self.improve_ref, commit, before)

    def _kept(self) -> str | None:
        return self.quarantine.resolve(self.improve_ref)

    def _publish(self, moves: list[Move]) -> str:
        if not moves:
            return ""
        try:
            publish(self.target, self.quarantine, _updates(moves))
        except RefMoved as moved:
            return str(moved)
        return ""

    def push(self, commit: str, url: str) -> str:
        """Push the improvement branch to `url` (the target's origin where empty); a warning or "".

        From the private clone and with the person's own configuration, for their credentials; no
        remote-tracking ref of theirs moves.
        """
        git = Git(self.quarantine.path, users_config=True)
        url = url or self._origin()
        if not url:
            return "auto_push: the target has no remote `origin`; set fork_url"
        answer = git.attempt("push", "--quiet", url, f"{commit}:{self.improve_ref}")
        return "" if answer.code == 0 else f"auto_push: {' '.join(answer.stderr.split())[-300:]}"

    def _origin(self) -> str:
        answer = Git(self.target.git_dir, users_config=True).attempt(
            "config", "--get", "remote.origin.url"
        )
        return answer.stdout.decode("utf-8", "surrogateescape").strip()

    @property
    def improve_ref(self) -> str:
        """The improvement branch's full ref."""
        return branch(self.names.improve)

    def found(self) -> str | None:
        """What the improvement branch holds in the target now."""
        return read_refs(self.target.git, self.improve_ref).get(self.improve_ref)

    def held_back_order(self, state: State) -> Order:
        """What is wanted published of wins that were held back."""
        assert state.incumbent is not None
        commit = state.incumbent.commit
        old = state.published or "0" * len(commit)
        move = Move(ref=self.improve_ref, new=commit, old=old)
        return Order(improve=self.improve_ref, commit=commit, updates=[move])

    def moved(self, state: State) -> str:
        """Says how the improvement branch was moved by somebody else; empty where it was not."""
        found = self.found()
        if found == state.published or (found is not None and found == self._kept()):
            return ""  # in the second case a crash came between publishing and its report
        what = "was deleted" if found is None else f"was moved to {found[:12]}"
        left = state.published[:12] if state.published else "nothing"
        return (
            f"{self.names.improve} {what}, this run left it at {left}; "
            "`selfimprove resume --adopt` goes on from it, `--restore` puts it back"
        )


def _updates(moves: Iterable[Move]) -> list[RefUpdate]:
    return [RefUpdate(each.ref, each.new, each.old) for each in moves]
