from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from selfimprove.contracts.tracking import RawDataRow
from selfimprove.errors import ContractError
from selfimprove.report.markdown import cell, fence, table
from selfimprove.report.sources import read_history, read_reports, read_rows
from selfimprove.report.summary import PATCH_LINES, Sources, render, summarize
from selfimprove.store.changes import changed
from selfimprove.testing.records import Recorder, finished, set_up, to_end, to_execution


def sources(record: Recorder, **more) -> Sources:
    reports = read_reports(record.layout)
    return Sources(
        state=record.state,
        target=Path("/home/me/my repo"),
        quarantine=Path("/cache/quarantine.git"),
        history=read_history(record.layout),
        reports=reports,
        **more,
    )


def test_a_run_with_wins(tmp_path) -> None:
    record = finished(tmp_path)
    text = render(sources(record, patches={"1" * 39 + "e": "-a\n+b\n"}))
    for part in (
        "# Faster orders\n",
        "Stopped: the number of rounds is used up (2 rounds).\n",
        "| score                      | 142.3        | 115.26           | 19% better |\n",
        "| interval                   | 141 to 143.5 | 114.26 to 116.26 |            |\n",
        "\nTarget 100: not reached.\n",
        "The gain of the run was not measured: ",
        "| 1     | 11111111",
        "### Round 1: Caching the total should improve\n\n```diff\n-a\n+b\n```\n",
        "| round_1_planner_b | –                | data   |",
        "logic_error: the guard `tests` failed",
        "- try a cache: planned as round_2_planner_a\n",
        "6 agent calls, 40 tokens (20 in, 20 out), $0.44. A win came to $0.22, 20 tokens.\n",
        "git -C '/home/me/my repo' diff aaaaaaaaaaaa improve/faster_orders\n",
        "git -C '/home/me/my repo' switch main\n",
        "git -C '/home/me/my repo' branch -D improve/faster_orders\n",
    ):
        assert part in text
    assert "Held back" not in text
    assert "\n\n\n" not in text


def test_a_run_without_a_win_offers_no_commands(tmp_path) -> None:
    record = Recorder(tmp_path)
    record.add(set_up())
    record.checkpoint()
    record.add(to_execution(1))
    record.add(to_end(1, 142.3, 141.0, wins=False))
    record.checkpoint("stopped", status="patience", reason="")
    text = render(sources(record))
    assert "None: no candidate proved better" in text
    assert "| score                      | 142.3        | 142.3        | unchanged |" in text
    assert "| plan              | qualifying score | family" in text
    assert "| round_1_planner_a | 141              |" in text
    assert "```sh" not in text
    assert "\n\n\n" not in text


def test_before_any_round(tmp_path) -> None:
    record = Recorder(tmp_path)
    record.add(set_up())
    text = render(sources(record))
    assert "Nothing that was tried failed." in text
    assert "No agent was called." in text


def test_held_back_wins_are_told_with_their_place_and_reviewed_there(tmp_path) -> None:
    record = finished(tmp_path)
    record.state = changed(record.state, published="a" * 40)
    text = render(sources(record))
    assert "## Held back" in text
    assert "the wins wait in `/cache/quarantine.git`" in text
    assert "git --git-dir /cache/quarantine.git diff aaaaaaaaaaaa 222222222222\n" in text
    assert "branch -D" not in text


def test_a_long_patch_is_cut_and_says_where_the_rest_is(tmp_path) -> None:
    record = finished(tmp_path, 1)
    commit = record.state.wins[0].commit
    shown = summarize(sources(record, patches={commit: "+x\n" * 500})).wins[0]
    assert shown.patch.count("\n") == PATCH_LINES
    assert shown.patch.endswith(f"… {500 - PATCH_LINES} more lines: git show -m {commit}")


def test_another_topics_tags_alone_are_dropped(tmp_path) -> None:
    record = finished(tmp_path)
    facts = changed(record.state.facts, topic="night", target_branch="")
    record.state = changed(record.state, facts=facts)
    text = render(sources(record))
    assert "'refs/tags/archive/night/' |" in text
    assert " switch " not in text


def test_the_drop_commands_drop(tmp_path) -> None:
    repo = tmp_path / "my repo"
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", *identity, "-C", str(repo), *words], check=True, capture_output=True, text=True
        )
        return done.stdout

    subprocess.run(["git", "init", "-q", "-b", "main", str(repo)], check=True)
    git("commit", "-q", "--allow-empty", "-m", "x")
    git("branch", "improve/faster_orders")
    git("tag", "archive/round_1_executor_2")
    git("tag", "archive/night/round_1_executor_2")
    git("tag", "mine")
    record = finished(tmp_path / "root")
    commands = summarize(
        Sources(state=record.state, target=repo, history=record.state.recent)
    ).commands
    for line in commands[-1].lines:
        subprocess.run(["sh", "-c", line], check=True, capture_output=True)
    left = git("for-each-ref", "--format=%(refname:short)").split()
    assert left == ["main", "archive/night/round_1_executor_2", "mine"]


def test_words_of_others_stay_in_their_cell() -> None:
    drawn = table(["a", "b"], [["x | y\nz", "\x1b[31m`q`"], ["\\|", ""]])
    assert drawn.splitlines() == [
        "| a        | b   |",
        "| -------- | --- |",
        "| x \\| y z | `q` |",
        "| \\\\\\|     |     |",
    ]
    assert cell("y" * 200).endswith("…")
    assert fence("a ```` b") == "`````"
    assert fence("plain") == "```"


def test_rows_that_are_none_are_named(tmp_path) -> None:
    layout = finished(tmp_path).layout
    path = tmp_path / "tracking/raw_data.json"
    for wrong in ("{}", "[1]", "[", '[{"iteration": 1}]'):
        path.write_text(wrong)
        with pytest.raises(ContractError, match="raw_data"):
            read_rows(layout, "tracking/raw_data.json", RawDataRow)
