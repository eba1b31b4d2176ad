"""Run, stop, die, go on, edit, commit, lose the root, prune, clean: in any order."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from selfimprove.app.options import RunOptions
from selfimprove.app.restoring import bring_back
from selfimprove.app.tidying import clean
from selfimprove.app.validating import all_findings
from selfimprove.errors import ConfigError
from selfimprove.places import private_of
from selfimprove.process import StopToken
from selfimprove.store.pruning import prune
from selfimprove.store.rebuild import findings
from selfimprove.store.record import load_state
from selfimprove.testing.rehearsal import Rehearsal
from selfimprove.vcs.state import user_state
from selfimprove.vcs.target import open_target

IMPROVE = "refs/heads/improve/lower_the_score"
SETTINGS = {"patience": 1000, "plateau_window": 1000, "circuit_breaker_threshold": 1000}


class Died(BaseException):
    """Stands for the end of the process: nothing of the run's own catches it."""


class AnyOrder(RuleBasedStateMachine):
    """One target, its user, and whoever starts and ends runs on it."""

    def __init__(self, play: Rehearsal) -> None:
        super().__init__()
        self.play = play
        self.rounds = 0
        self.moved = False
        self.wins = 0

    @initialize()
    def set_up(self) -> None:
        self._run()

    def _run(self, observers: Any = (), stop: StopToken | None = None, moved: str = "") -> Any:
        """Start or go on, and hold that what is the user's stays as it is."""
        before = user_state(open_target(self.play.repository.path))
        try:
            return self.play.run(observers, stop, moved=moved, max_iterations=self.rounds)
        finally:
            assert before.differences(user_state(open_target(self.play.repository.path))) == []

    # whoever runs it

    @precondition(lambda self: not self.moved)
    @rule()
    def one_more_round(self) -> None:
        self.rounds = load_state(self.play.layout).number + 1
        outcome = self._run()
        assert outcome.state.status == "max_iterations"
        assert outcome.state.wins_total > self.wins
        assert all_findings(self.play.layout, self.play.repository.path) == []

    @precondition(lambda self: not self.moved)
    @rule(after=st.integers(1, 90), die=st.booleans())
    def ended_early(self, after: int, die: bool) -> None:
        self.rounds = load_state(self.play.layout).number + 1
        stop, seen = StopToken(), []

        def observe(envelope: Any, _state: Any) -> None:
            seen.append(envelope)
            if len(seen) == after and die:
                raise Died
            if len(seen) == after:
                stop.set()

        try:
            self._run([observe], stop)
        except Died:
            assert die

    # its user

    @rule(value=st.integers(31, 99))
    def commits_elsewhere(self, value: int) -> None:
        self.play.repository.commit({"notes.txt": f"{value}\n"})

    @rule(value=st.integers(31, 99))
    def leaves_edits(self, value: int) -> None:
        self.play.repository.write({"src/c": f"{value}\n", "new file": "mine\n"})

    @rule(value=st.integers(5, 20))
    def edits_settings(self, value: int) -> None:
        file = self.play.layout.settings
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"agent_timeout": value * 100}))

    @rule()
    def edits_the_goal(self) -> None:
        goal = self.play.repository.path / "goal.md"
        goal.write_text(goal.read_text() + "\n<!-- a word -->\n")

    @precondition(lambda self: IMPROVE in self.play.refs() and not self.moved)
    @rule(gone=st.booleans())
    def moves_the_branch(self, gone: bool) -> None:
        words = ("-d", IMPROVE) if gone else (IMPROVE, f"{IMPROVE}^1")
        self.play.repository.git("update-ref", *words)
        self.moved = True

    @precondition(lambda self: self.moved)
    @rule()
    def is_told_of_it(self) -> None:
        before = self.play.refs(IMPROVE)
        self.rounds = load_state(self.play.layout).number + 1
        with pytest.raises(ConfigError, match="--restore"):
            self._run()
        assert self.play.refs(IMPROVE) == before

    @precondition(lambda self: self.moved)
    @rule()
    def has_it_put_back(self) -> None:
        self._run(moved="restore")
        self.moved = False

    # its folder

    @precondition(lambda self: not self.moved)
    @rule()
    def loses_the_root(self) -> None:
        state = load_state(self.play.layout)
        if state.open_deeds or (state.round and state.round.status != "completed"):
            return  # what came after the last stored commit is lost with it
        self.play.repository.git("clean", "-ffdxq", ".selfimprove")
        bring_back(RunOptions(self.play.repository.path, trees=self.play.trees))

    @rule(keep=st.integers(1, 3))
    def prunes(self, keep: int) -> None:
        if findings(self.play.layout) == []:
            try:
                prune(self.play.layout, keep)
            except ConfigError as error:
                assert "nothing to prune" in str(error)  # noqa: PT017

    @rule()
    def cleans(self) -> None:
        clean(self.play.layout, private_of(self.play.layout.root, self.play.trees))

    # what holds always

    @invariant()
    def no_win_is_lost(self) -> None:
        if not self.play.layout.journal.is_dir():
            return
        state = load_state(self.play.layout)
        assert state.wins_total >= self.wins
        self.wins = state.wins_total
        if state.published and not self.moved and not state.open_deeds:
            assert self.play.refs(IMPROVE)[IMPROVE] == state.published


@pytest.mark.long
@pytest.mark.timeout(900)
def test_in_any_order(stage: Callable[..., Rehearsal]) -> None:
    run_state_machine_as_test(
        lambda: AnyOrder(stage(settings=SETTINGS)),
        settings=settings(max_examples=6, stateful_step_count=12, deadline=None),
    )
