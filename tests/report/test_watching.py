"""Lines, view and tail: what a run tells while it goes on."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from datetime import datetime, time, timedelta

import pytest
from rich.console import Console

from selfimprove.contracts.envelope import control, tool_call, tool_result
from selfimprove.report.live import JsonLines, PlainLines, View
from selfimprove.report.picture import Scene, picture
from selfimprove.report.plain import clean, one_line
from selfimprove.report.tail import Tail
from selfimprove.report.wording import Line, line_of
from selfimprove.store.journal import Journal
from selfimprove.store.layout import Layout
from selfimprove.store.state import State
from selfimprove.testing.records import Recorder, finished, set_up, to_end, to_execution


def lines_of(record: Recorder) -> list[str]:
    return [line.text for envelope, state in record.seen if (line := line_of(envelope, state))]


def drawn(scene: Scene, now: datetime | None = None, height: int = 40, width: int = 110) -> str:
    out = io.StringIO()
    now = now or datetime.fromisoformat(
        scene.state.round.updated_at if scene.state.round else "2026-01-01T00:00:00Z"
    )
    Console(file=out, width=width).print(picture(scene, now, height))
    return out.getvalue()


@pytest.fixture
def under_way(tmp_path) -> Recorder:
    """A run with two executors at work in its first round."""
    record = Recorder(tmp_path)
    record.add(set_up())
    record.checkpoint()
    record.add(to_execution(1))
    return record


def test_each_notable_event_is_one_line(tmp_path) -> None:
    told = lines_of(finished(tmp_path, 1))
    assert told == [
        "goal: Faster orders",
        "baseline run 1: 141",
        "baseline run 2: 142",
        "baseline run 3: 143",
        "baseline: total_ms 142.3",
        "round 1 begins from 142.3",
        "took up 1 idea of yours",
        "research: 0 ideas",
        *(
            f"planner_{x} ({family}): Caching the total should improve planner_{x} because it is "
            "asked twice"
            for x, family in (("a", "optimization"), ("b", "data"), ("c", "architecture"))
        ),
        "planner_a approved",
        "planner_b approved",
        "planner_c rejected: family architecture won the last two rounds",
        "executor_1 changed 1 file",
        "executor_2 changed 1 file",
        "executor_1 measured 128.07 (10% better, qualifying)",
        "executor_2 error: the guard `tests` failed",
        "executor_1 is measured again beside the incumbent",
        "executor_1 holds: better in 8 of 8 pairs",
        "round 1 merged executor_1: 142.3 → 128.07, 10% better: Caching the total should improve",
        "stopped: the number of rounds is used up: 1 rounds",
    ]


def test_news_of_all_other_kinds_has_words(under_way) -> None:
    ask = tool_call("round_1/execution/executor_1", "agent.ask", agent="executor_1")
    failed = {"agent": "executor_1", "ok": False, "error": "exit 3"}
    under_way.seen.clear()
    under_way.add(
        [
            tool_result(ask, failed),
            control("x", "planner_failed", planner="planner_b", error="timed out"),
            control("x", "waiting", reason="usage limit", until="07:30"),
            control("x", "warning", message="push failed"),
            control("x", "gate", planner="planner_a", decision="retry", reason="0.5 < 0.9"),
        ]
    )
    assert lines_of(under_way) == [
        "executor_1 failed: exit 3",
        "planner_b left out: timed out",
        "waiting until 07:30: usage limit",
        "warning: push failed",
        "planner_a revises its plan: 0.5 < 0.9",
    ]


def test_words_of_others_cannot_play_with_the_terminal() -> None:
    assert clean("a\x1b[2Jb\x1b]0;title\x07c\x00\u202ed\x1b") == "abcd"
    assert clean("naïve\tcafé\n東京") == "naïve\tcafé\n東京"
    assert one_line("  a\n b  ", 10) == "a b"
    assert one_line("abcdef", 4) == "abc…"


def test_plain_lines_have_the_time_and_survive_the_end_of_their_stream(tmp_path) -> None:
    record = finished(tmp_path, 1)
    out = io.StringIO()
    plain = PlainLines(out)
    for envelope, state in record.seen:
        plain(envelope, state)
    told = out.getvalue().splitlines()
    assert [line[10:] for line in told] == lines_of(record)
    time.fromisoformat(told[0][:8])
    out.close()
    for observer in (plain, JsonLines(out)):
        for envelope, state in record.seen:
            observer(envelope, state)  # goes nowhere, and raises nothing


def test_plain_lines_on_an_ascii_stream(tmp_path) -> None:
    raw = io.BytesIO()
    plain = PlainLines(io.TextIOWrapper(raw, encoding="ascii"))
    for envelope, state in finished(tmp_path, 1).seen:
        plain(envelope, state)
    assert b"142.3 ? 128.07" in raw.getvalue()


def test_json_lines_are_the_journals_lines(tmp_path) -> None:
    record = Recorder(tmp_path)
    record.add(set_up())
    out = io.StringIO()
    observer = JsonLines(out)
    for envelope, state in record.seen:
        observer(envelope, state)
    assert out.getvalue().encode() == record.layout.segment(0).read_bytes()
    assert json.loads(out.getvalue().splitlines()[0])["seq"] == 1


def test_the_view_shows_agents_scores_steps_and_what_comes_next(under_way) -> None:
    state = under_way.state
    now = datetime.fromisoformat(state.round.started_at) + timedelta(seconds=75)
    told = drawn(Scene(state, (Line("planner_c rejected", "bad"),), 20), now)
    for part in (
        "Faster orders", "total_ms (lower is better)", "best 142.3, the baseline", "target 100",
        "round 1 of 20 · 1 min 1", "✓ critic review", "▶ execution", "· tournament",
        "family architecture won", "next: tournament", "planner_c rejected",
    ):  # fmt: skip
        assert part in told
    executor = next(line for line in told.splitlines() if "executor_1" in line)
    assert "running" in executor
    assert "1 min 1" in executor
    assert "planner_a" in executor


def test_the_view_while_the_baseline_is_measured_and_before_anything(tmp_path) -> None:
    record = Recorder(tmp_path)
    record.add(list(set_up())[:7])
    assert "measuring the baseline, 2 runs so far" in drawn(Scene(record.state))
    assert "waiting for a run to begin" in drawn(Scene(State()))


def test_the_view_after_a_win_and_after_the_end(under_way) -> None:
    under_way.add(to_end(1, 142.3, 128.07))
    told = drawn(Scene(under_way.state))
    assert "best 128.07, 10% better than the baseline 142.3" in told
    assert "merged" in next(line for line in told.splitlines() if "executor_1" in line)
    assert "1 win" in told
    assert "$0.22" in told
    under_way.checkpoint("stopped", status="user_stopped", reason="")
    assert "`selfimprove resume` goes on" in drawn(Scene(under_way.state))
    under_way.checkpoint("stopped", status="patience", reason="")
    assert "the run has ended" in drawn(Scene(under_way.state))


def test_the_view_follows_a_confirmation_to_its_verdict(under_way) -> None:
    def row() -> str:
        told = drawn(Scene(under_way.state))
        return next(line for line in told.splitlines() if "executor_1" in line)

    steps = list(to_end(1, 142.3, 141.0, wins=False))
    at = next(k for k, draft in enumerate(steps) if draft.payload.get("event") == "confirming")
    under_way.add(steps[: at + 1])
    assert "confirming" in row()
    assert "0 of at most 32 pairs" in row()
    under_way.add(steps[at + 1 : at + 2])
    assert "lost" in row()
    assert "better in 1 of 8 pairs" in row()


def test_the_view_fits_a_small_window(under_way) -> None:
    under_way.add(
        [
            control("x", "families_assigned", attempt=0, planners={
                f"planner_{letter}": {"families": ["data"]} for letter in "abcdefghijklmnop"
            })
        ]
    )  # fmt: skip
    told = drawn(Scene(under_way.state, (Line("news"),) * 6), height=20, width=60)
    assert len(told.splitlines()) <= 20
    assert "executor_1" in told
    assert "more" in told


def test_the_view_draws_in_place_on_a_terminal(under_way) -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, height=40)
    with View(console, 2) as view:
        for envelope, state in under_way.seen:
            view(envelope, state)
    assert "▶ execution" in out.getvalue()


def test_the_view_survives_a_terminal_that_hung_up(under_way) -> None:
    out = io.StringIO()
    with View(Console(file=out, force_terminal=True)) as view:
        view(*under_way.seen[-1])
        out.close()


@pytest.mark.long
def test_a_run_goes_on_when_its_terminal_hangs_up(tmp_path) -> None:
    code = f"""
import signal, sys, time
from pathlib import Path
from rich.console import Console
from selfimprove.app.common import say
from selfimprove.report.live import View
from selfimprove.testing.records import Recorder, set_up, to_execution
signal.signal(signal.SIGHUP, signal.SIG_IGN)
record = Recorder(Path({str(tmp_path)!r}))
with View(Console(stderr=True)) as view:
    record.add(set_up())
    view(*record.seen[-1])
    sys.stdin.readline()
    say("still here")
    record.add(to_execution(1))
    view(*record.seen[-1])
    time.sleep(0.8)
Path({str(tmp_path / "end")!r}).touch()
"""
    master, slave = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=slave, stderr=slave
    )
    os.close(slave)
    shown = b""
    while b"Faster orders" not in shown:
        shown += os.read(master, 4096)
    os.close(master)
    child.communicate(b"\n", timeout=20)
    assert child.returncode == 0
    assert (tmp_path / "end").exists()


def test_a_tail_gives_the_last_segment_then_what_is_new(tmp_path) -> None:
    record = Recorder(tmp_path)
    record.add(set_up())
    record.checkpoint()
    record.add(to_execution(1))
    tail = Tail(Layout(tmp_path))
    first = tail.poll()
    assert first[0][0].payload["event"] == "round_started"
    assert tail.state == record.state
    assert tail.poll() == []
    record.add(to_end(1, 142.3, 128.07))
    record.checkpoint()
    record.add(list(to_execution(2))[:3])
    more = tail.poll()
    assert [envelope.seq for envelope, _ in first + more] == [
        envelope.seq for envelope, _ in record.seen if envelope.seq >= first[0][0].seq
    ]
    assert tail.state == record.state


def test_a_tail_waits_for_the_first_line_and_for_the_end_of_each(tmp_path) -> None:
    layout = Layout(tmp_path)
    tail = Tail(layout)
    assert tail.poll() == []
    Journal(layout.journal, "run_1").append(control("x", "warning", message="m"))
    whole = layout.segment(0).read_bytes()
    layout.segment(0).write_bytes(whole[:-5])
    assert tail.poll() == []
    layout.segment(0).write_bytes(whole)
    assert len(tail.poll()) == 1


def test_a_tail_opens_on_a_closed_segment(tmp_path) -> None:
    record = finished(tmp_path, 2)
    tail = Tail(record.layout)
    seen = tail.poll()
    assert seen[-1][0].payload["event"] == "stopped"
    assert tail.state == record.state
