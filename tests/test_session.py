"""Taking a run on: the target left alone, branches held back and moved, finished runs."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from selfimprove.errors import ConfigError, LockedError, TargetError, TrustError
from selfimprove.process import StopToken
from selfimprove.publisher import Done, Order, Publisher
from selfimprove.session import Asked, take_on
from selfimprove.store import lock
from selfimprove.store.rebuild import findings
from selfimprove.testing.rehearsal import Rehearsal
from selfimprove.vcs.state import user_state
from selfimprove.vcs.target import open_target

Stage = Callable[..., Rehearsal]
IMPROVE = "refs/heads/improve/lower_the_score"


def git_files(play: Rehearsal) -> dict[str, bytes]:
    """Everything in .git but objects and the refs that runs publish."""
    folder = play.repository.path / ".git"
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not path.relative_to(folder)
        .as_posix()
        .startswith(("objects/", "refs/heads/improve/", "refs/tags/archive/", "refs/selfimprove/"))
    }


def make_dirty(play: Rehearsal) -> None:
    """Leave the working tree, the index and the stash as a person in the middle of work would."""
    repository = play.repository
    repository.write({"src/b": "77\n"})
    repository.git("stash", "push", "--quiet", "--message", "later")
    repository.write({"src/c": "1000\n", "src/new file": "ü\n", "notes.txt": "half done\n"})
    repository.git("add", "notes.txt")
    repository.write({"notes.txt": "half done, and more\n", ".git/info/exclude": "*.secret\n"})
    hook = "#!/bin/sh\ntouch HOOK-RAN\nexit 1\n"
    for name in ("pre-commit", "reference-transaction", "post-update", "pre-receive"):
        repository.write({f".git/hooks/{name}": hook, "x.secret": "s\n"})
        (repository.path / f".git/hooks/{name}").chmod(0o755)


def test_a_dirty_target_is_left_as_it_is_byte_for_byte(stage: Stage) -> None:
    play = stage()
    make_dirty(play)
    target = open_target(play.repository.path)
    before, git_before, refs = user_state(target), git_files(play), play.refs()
    outcome = play.run(max_iterations=2)
    assert outcome.state.wins_total == 2
    assert outcome.state.baseline is not None
    assert outcome.state.baseline.score == 90  # the commit's numbers, not the checkout's
    assert user_state(open_target(play.repository.path)).differences(before) == []
    assert git_files(play) == git_before
    assert not (play.repository.path / "HOOK-RAN").exists()
    new = {ref for ref in play.refs() if ref not in refs}
    tags = {f"refs/tags/archive/round_{n}_executor_2" for n in (1, 2)}
    assert new == {IMPROVE, *tags, "refs/selfimprove/default"}
    assert refs.items() <= play.refs().items()


@pytest.mark.long
def test_the_target_is_as_it_was_after_a_stop_too(stage: Stage) -> None:
    play = stage()
    make_dirty(play)
    before = user_state(open_target(play.repository.path))
    stop = StopToken()
    play.run([lambda e, _: stop.set() if e.payload.get("tool") == "git.publish" else None], stop)
    assert user_state(open_target(play.repository.path)).differences(before) == []


def test_a_finished_run_says_why_and_goes_on_with_a_raised_limit(stage: Stage) -> None:
    play = stage()
    first = play.run(max_iterations=1)
    lines = play.layout.segment(1).read_bytes()
    again = play.run(max_iterations=1)
    assert (again.went_on, again.exit_code, first.exit_code) == (False, 0, 0)
    assert play.said[-1] == (
        "this run has ended: 1 of 1 iterations are done; raise that limit to go on"
    )
    assert play.layout.segment(1).read_bytes() == lines
    more = play.run(max_iterations=2)
    assert more.went_on
    assert more.state.number == 2
    event = play.document("tracking/events.json")[-1]
    assert event["event_type"] == "config_change"
    assert event["details"]["field"] == "max_iterations"
    assert (event["details"]["old_value"], event["details"]["new_value"]) == (1, 2)


def test_wins_are_held_back_while_their_branch_is_checked_out(stage: Stage, tmp_path: Path) -> None:
    play = stage()
    play.run(max_iterations=1)
    first = play.refs(IMPROVE)[IMPROVE]
    tree = tmp_path / "a worktree"
    play.repository.git("worktree", "add", "--quiet", str(tree), "improve/lower_the_score")
    held = play.run(max_iterations=3)
    assert play.refs(IMPROVE)[IMPROVE] == first
    assert held.state.held_back
    assert held.state.incumbent is not None
    assert held.state.wins_total == 3
    assert play.document("state/merge_reports/round_2.json")["held_back"] is True
    assert "held_back" not in play.document("state/merge_reports/round_1.json")
    assert (tree / "src/a").read_text() == "27\n"
    play.repository.git("worktree", "remove", str(tree))
    after = play.run(max_iterations=3)
    assert not after.state.held_back
    assert play.refs(IMPROVE)[IMPROVE] == held.state.incumbent.commit
    assert play.repository.git("log", "--format=%s", "--first-parent", f"{first}..{IMPROVE}").count("set the number") == 2  # fmt: skip  # noqa: E501
    play.run(max_iterations=4)
    assert findings(play.layout) == []


def move_branch(play: Rehearsal, value: int = 5) -> str:
    """Commit something of the user's own on the improvement branch."""
    git = play.repository.git
    blob = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"], input=f"{value}\n".encode(),
        cwd=play.repository.path, check=True, capture_output=True,
    ).stdout.decode().strip()  # fmt: skip
    entries = git("ls-tree", IMPROVE + ":src").replace("\t", " ").splitlines()
    lines = [f"{m} {k} {blob if name == 'c' else oid}\t{name}" for m, k, oid, name in map(str.split, entries)]  # fmt: skip  # noqa: E501
    made = subprocess.run(
        ["git", "mktree"], input="\n".join(lines).encode() + b"\n",
        cwd=play.repository.path, check=True, capture_output=True,
    ).stdout.decode().strip()  # fmt: skip
    top = git("ls-tree", IMPROVE).splitlines()
    top = [f"040000 tree {made}\tsrc" if line.endswith("\tsrc") else line for line in top]
    tree = subprocess.run(
        ["git", "mktree"], input="\n".join(top).encode() + b"\n",
        cwd=play.repository.path, check=True, capture_output=True,
    ).stdout.decode().strip()  # fmt: skip
    mine = git("commit-tree", tree, "-p", IMPROVE, "-m", "mine")
    git("update-ref", IMPROVE, mine)
    return mine


def test_a_branch_that_its_user_moved_stops_the_run(stage: Stage) -> None:
    play = stage()
    play.run(max_iterations=1)
    mine = move_branch(play)
    with pytest.raises(ConfigError, match=r"was moved to [0-9a-f]{12}.*--adopt.*--restore"):
        play.run(max_iterations=2)
    assert play.refs(IMPROVE)[IMPROVE] == mine


def test_a_branch_moved_in_the_middle_of_a_run_stops_it_before_the_next_round(stage: Stage) -> None:
    play = stage()
    moved: list[str] = []

    def move(envelope: Any, _state: Any) -> None:
        if envelope.payload.get("event") == "recorded" and not moved:
            moved.append(move_branch(play))

    outcome = play.run([move], max_iterations=5)
    assert (outcome.state.status, outcome.state.number, outcome.exit_code) == ("failed", 1, 1)
    assert play.refs(IMPROVE)[IMPROVE] == moved[0]
    assert findings(play.layout) == []


def test_a_moved_branch_is_adopted_and_measured_anew(stage: Stage) -> None:
    play = stage()
    play.run(max_iterations=1)
    mine = move_branch(play)
    outcome = play.run(moved="adopt", max_iterations=2)
    history = play.document("state/iteration_history/round_2.json")
    assert history["baseline_score"] == 27 + 30 + 5
    assert outcome.state.wins_total == 2
    assert play.repository.git("merge-base", IMPROVE, mine) == mine
    events = [row["details"] for row in play.document("tracking/events.json")]
    branch = [each for each in events if each["field"] == "improvement_branch"]
    assert [(each["new_value"], each["source"]) for each in branch] == [(mine, "user")]
    assert findings(play.layout) == []


@pytest.mark.long
def test_a_moved_branch_is_put_back(stage: Stage) -> None:
    play = stage()
    play.run(max_iterations=1)
    before = play.refs(IMPROVE)[IMPROVE]
    move_branch(play)
    play.run(moved="restore", max_iterations=1)
    assert play.refs(IMPROVE)[IMPROVE] == before
    play.repository.git("update-ref", "-d", IMPROVE)
    with pytest.raises(ConfigError, match="was deleted"):
        play.run(max_iterations=2)
    with pytest.raises(ConfigError, match="nothing to adopt"):
        play.run(moved="adopt", max_iterations=2)
    outcome = play.run(moved="restore", max_iterations=2)
    assert play.repository.git("merge-base", IMPROVE, before) == before
    assert outcome.state.wins_total == 2
    assert findings(play.layout) == []


class Died(BaseException):
    """The end of the process."""


@pytest.mark.parametrize("times", [2, pytest.param(1, marks=pytest.mark.long)])
def test_a_win_that_was_published_as_the_process_died_is_reported(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    play = stage()
    carry_out = Publisher.carry_out
    left = [times]

    def die_afterwards(self: Publisher, order: Order) -> Done:
        done = carry_out(self, order)
        if left[0]:
            left[0] -= 1
            raise Died
        return done

    monkeypatch.setattr(Publisher, "carry_out", die_afterwards)
    for _ in range(times):
        with pytest.raises(Died):
            play.run(max_iterations=2)
    outcome = play.run(max_iterations=2)
    assert outcome.state.wins_total == 2
    assert outcome.state.published == play.refs(IMPROVE)[IMPROVE]
    log = play.repository.git("log", "--first-parent", "--format=%s", f"main..{IMPROVE}")
    assert len(log.splitlines()) == 2
    assert findings(play.layout) == []


def test_one_run_at_a_time(stage: Stage) -> None:
    play = stage()
    play.layout.root.mkdir(parents=True)
    with lock.held(play.layout.lock), pytest.raises(LockedError, match="another run holds"):
        play.run(max_iterations=1)
    assert not play.layout.goal.exists()  # the goal in force is that of the run that holds it


def test_nothing_runs_that_nobody_has_confirmed(stage: Stage) -> None:
    play = stage()

    def refuse(*_: object) -> str:
        raise TrustError("not confirmed")

    with pytest.raises(TrustError):
        take_on(play.site(), Asked(confirm=refuse), StopToken())
    assert play.calls == []
    assert not list(play.layout.logs.rglob("*")) if play.layout.logs.exists() else True
    assert play.run(max_iterations=1).state.wins_total == 1


@pytest.mark.parametrize(
    ("ref", "refused"),
    [
        ("refs/heads/improve/lower_the_score", True),
        ("refs/tags/archive/round_1_executor_1", True),
        ("refs/tags/archive/night/round_1_executor_1", False),
        ("refs/heads/improve/night-lower_the_score", False),
    ],
)
def test_refs_of_another_topic_are_nobodys_leftovers(stage: Stage, ref: str, refused: bool) -> None:
    play = stage()
    play.repository.git("update-ref", ref, "HEAD")
    if refused:
        with pytest.raises(TargetError, match="no record of the run that made it"):
            play.run(max_iterations=0)
    else:
        assert play.run(max_iterations=0).exit_code == 0


@pytest.mark.parametrize("ref", ["refs/heads/improve", "refs/tags/archive"])
def test_a_name_in_the_way_is_refused_at_set_up(stage: Stage, ref: str) -> None:
    play = stage()
    play.repository.git("update-ref", ref, "HEAD")
    with pytest.raises(TargetError, match="in the way"):
        play.run(max_iterations=1)
    assert play.calls == []
