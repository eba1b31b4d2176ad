"""What somebody else changes in the user's repository while a run is at work: told, left alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from selfimprove.cli import main
from selfimprove.report.summary import Sources, render
from selfimprove.store.rebuild import findings
from selfimprove.testing.rehearsal import Rehearsal

Stage = Callable[..., Rehearsal]


def test_it_is_told_in_the_record_in_status_and_at_the_end(
    stage: Stage, capfd: pytest.CaptureFixture[str]
) -> None:
    play = stage()
    done: list[str] = []

    def meddle(envelope: Any, _state: Any) -> None:
        if envelope.payload.get("event") == "executors_named" and not done:
            done.append("once")
            play.repository.write({".git/hooks/post-merge": "#!/bin/sh\n", "src/a": "77\n"})
            play.repository.git("branch", "theirs")

    state = play.run([meddle], max_iterations=2).state
    assert state.wins_total == 2
    found, *later = state.outside
    assert [each.changed for each in later] in ([], [["status (src/a)"]])
    assert found.iteration == 1
    assert found.changed[:2] == ["refs (refs/heads/theirs)", "hooks (hooks/post-merge)"]
    assert found.changed[2:] in ([], ["status (src/a)"])  # files are looked at only so often
    told = [line["payload"] for line in play.lines(1)]
    assert [each["changed"] for each in told if each.get("event") == "outside_changed"] == [
        found.changed
    ]
    assert (play.repository.path / "src/a").read_text() == "77\n"
    assert (play.repository.path / ".git/hooks/post-merge").exists()
    assert "theirs" in play.repository.git("branch", "--list", "theirs")
    capfd.readouterr()
    assert main(["status", str(play.repository.path)]) == 0
    status = capfd.readouterr().out
    assert "not ours    round 1, in your repository: refs (refs/heads/theirs)" in status
    summary = render(Sources(state=state, target=play.repository.path))
    assert "by round 1, and not by this run; left as it is: refs (refs/heads/theirs)" in summary
    assert findings(play.layout) == []


def test_a_run_that_is_left_alone_has_nothing_to_tell(stage: Stage) -> None:
    play = stage()
    play.repository.write({"src/b": "half done\n"})  # before it begins
    state = play.run(max_iterations=2).state
    assert state.wins_total == 2
    assert state.outside == []
