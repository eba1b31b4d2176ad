"""The commands that only look at a run."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from selfimprove.cli.diff import show
from selfimprove.cli.export_schema import DOCUMENTS
from selfimprove.cli.ids import Named, parse_id
from selfimprove.cli.logs import find
from selfimprove.contracts.agent import AgentSettings
from selfimprove.contracts.iteration import IterationState
from selfimprove.errors import UsageError
from selfimprove.store.lock import held
from selfimprove.testing.records import Recorder, set_up, to_end, to_execution


def test_status_json_holds_the_documents(ran, repo, invoke) -> None:
    told = json.loads(invoke("status", repo, "--json").out)
    assert set(told) == {"agent_settings", "iteration_state", "alive", "held_back"}
    assert AgentSettings.parse(told["agent_settings"], "x").status == "max_iterations"
    assert IterationState.parse(told["iteration_state"], "x").iteration == 2
    assert (told["alive"], told["held_back"]) == (False, False)


def test_status_in_words(ran, repo, invoke) -> None:
    invoke("idea", "a new idea", repo)
    out = invoke("status", repo).out
    assert "goal        Faster orders\n" in out
    assert "best        115.26 (19% better)\n" in out
    assert "try a cache: planned as round_2_planner_a" in out
    assert "a new idea: queued" in out


def test_status_says_when_a_run_died(repo, invoke) -> None:
    record = Recorder(repo / ".selfimprove/default")
    record.add(set_up())
    assert "died while running" in invoke("status", repo).out
    with held(record.layout.lock):
        answer = invoke("status", repo, "--json")
    assert json.loads(answer.out)["alive"] is True


def test_a_repository_without_a_run_is_one_line_and_exit_3(repo, invoke) -> None:
    answer = invoke("status", repo)
    assert answer.code == 3
    assert "no run there; start one with `selfimprove run" in answer.err
    assert not (repo / ".selfimprove").exists()


def test_no_repository_and_no_directory_are_exit_3(tmp_path, invoke) -> None:
    assert "not in a git repository" in invoke("status", tmp_path).err
    answer = invoke("status", tmp_path / "nowhere")
    assert (answer.code, "no such directory" in answer.err) == (3, True)


def test_a_run_of_another_topic_is_named(ran, repo, invoke) -> None:
    assert "give --topic: default" in invoke("status", repo, "--topic", "night").err


def test_a_sub_directory_and_a_root_elsewhere_are_found(ran, repo, invoke, monkeypatch) -> None:
    inner = repo / "a/b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert invoke("status").code == 0
    assert invoke("status", "--root", ran.layout.root).code == 0


def test_history_lists_every_candidate(ran, repo, invoke) -> None:
    told = json.loads(invoke("history", repo, "--json").out)
    assert [record["iteration"] for record in told] == [1, 2]
    assert len(json.loads(invoke("history", repo, "--json", "--last", 1).out)) == 1
    out = invoke("history", repo).out
    assert out.count("merged: Caching") == 2
    assert out.count("logic_error: the guard `tests` failed") == 2
    assert "10% better" in out


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("round_1", "history:"),
        ("round_2_planner_c", "rejection_reason: family architecture won the last two rounds"),
        ("round_1_executor_2", "category: logic_error"),
        ("merge_2", "128.07 -> 115.26 (executor_1)"),
    ],
)
def test_show_tells_a_document(name, says, ran, repo, invoke) -> None:
    answer = invoke("show", name, repo)
    assert answer.code == 0
    assert says in answer.out


def test_show_round_json_is_all_of_it(ran, repo, invoke) -> None:
    told = json.loads(invoke("show", "round_1", repo, "--json").out)
    assert list(told) == ["history", "merge_report", "brief", "plans", "results"]
    assert list(told["plans"]) == ["planner_a", "planner_b", "planner_c"]
    assert list(told["results"]) == ["executor_1", "executor_2"]


def test_show_finds_the_plans_of_the_round_under_way(repo, invoke) -> None:
    record = Recorder(repo / ".selfimprove/default")
    record.add(set_up())
    record.add(to_execution(1))
    told = json.loads(invoke("show", "round_1_planner_a", repo, "--json").out)
    assert told["critic_approved"] is True


def test_show_of_what_is_not_there_is_exit_2(ran, repo, invoke) -> None:
    assert invoke("show", "round_9", repo).code == 2
    assert invoke("show", "round_1_researcher", repo).code == 2


def test_a_damaged_document_is_named_and_left_alone(ran, repo, invoke) -> None:
    path = ran.layout.root / "state/merge_reports/round_1.json"
    path.write_text('{"iteration": 0}')
    answer = invoke("show", "merge_1", repo)
    assert answer.code == 3
    assert str(path) in answer.err
    assert path.read_text() == '{"iteration": 0}'


def test_ids() -> None:
    assert parse_id("round_3") == Named(3, "round")
    assert parse_id("round_3_planner_b") == Named(3, "planner", "planner_b")
    assert parse_id("round_12_executor_2") == Named(12, "executor", "executor_2")
    assert parse_id("merge_3") == Named(3, "merge")
    for wrong in ("3", "round_", "round_3_", "merge_x", "../round_3", "round_3_executor_2_x"):
        with pytest.raises(UsageError):
            parse_id(wrong)


def test_diff_is_the_candidates_patch(repo, invoke) -> None:
    def git(*words: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        return subprocess.run(
            ["git", "-C", str(repo), *identity, *words], check=True, capture_output=True, text=True
        ).stdout.strip()

    def commit(text: str) -> str:
        (repo / "a.py").write_text(text)
        git("add", "a.py")
        git("commit", "-qm", text.strip())
        return git("rev-parse", "HEAD")

    base, made, merged = commit("X = 1\n"), commit("X = 2\n"), commit("X = 3\n")
    record = Recorder(repo / ".selfimprove/default")

    def real(drafts):
        known = {"a" * 40: base, "1" * 40: made, "1" * 39 + "e": merged}
        for draft in drafts:
            text = draft.model_dump_json()
            for fake, oid in known.items():
                text = text.replace(fake, oid)
            yield type(draft).model_validate_json(text)

    record.add(real(set_up()))
    record.checkpoint()
    record.add(real(to_execution(1)))
    record.add(real(to_end(1, 142.3, 128.0)))
    for name, value in (("round_1_executor_1", 2), ("round_1_planner_a", 2), ("merge_1", 3)):
        out = invoke("diff", name, repo).out
        assert out.endswith(f"-X = 1\n+X = {value}\n")
    assert "no candidate of that name" in invoke("diff", "round_1_planner_c", repo).err
    answer = invoke("diff", "round_1_executor_2", repo)  # its commit is in no repository
    assert (answer.code, "--trees" in answer.err) == (1, True)


def test_a_patch_commands_no_terminal_and_is_piped_to_the_byte(monkeypatch, tmp_path) -> None:
    drawn = b"+a\x1b]0;mine\x07b\x1b[2J\xff \xe2\x80\xae c\td\n"
    piped = tmp_path / "patch"
    with piped.open("w") as file:
        monkeypatch.setattr(sys, "stdout", file)
        show(drawn)
    assert piped.read_bytes() == drawn
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stdout", terminal)
        show(drawn)
        terminal.flush()
        seen = os.read(ours, 1000).decode()
    os.close(ours)
    monkeypatch.undo()
    assert seen.replace("        d", "\td").rstrip() == "+ab\ufffd  c\td"


def test_logs(ran, repo, invoke) -> None:
    folder = ran.layout.logs / "round_1"
    folder.mkdir(parents=True)
    (folder / "executor_1.log").write_bytes(b"one\x1b[31m red\x1b[0m\n")
    (folder / "executor_12_merged.log").write_bytes(b"twelve\n")
    assert "round_1/executor_1.log" in invoke("logs", repo).out
    assert invoke("logs", repo, "round_1_executor_1").out == "one red\n"
    assert invoke("logs", repo, "round_1/executor_12_merged.log").out == "twelve\n"
    assert find(ran.layout, "round_1_executor_12").name == "executor_12_merged.log"
    (folder / "round_1_planner_b-plan_1.log").write_text("a plan\n")
    (folder / "round_1_researcher.log").write_text("a brief\n")
    assert invoke("logs", repo, "round_1_planner_b").out == "a plan\n"
    assert invoke("logs", repo, "round_1_researcher").out == "a brief\n"
    assert invoke("logs", repo, "round_1_planner_a").code == 2
    assert invoke("logs", repo, "round_1_executor_2").code == 2
    assert invoke("logs", repo, "../state/run.json").code == 2


def test_a_long_log_shows_its_end(ran, repo, invoke) -> None:
    ran.layout.logs.mkdir(exist_ok=True)
    (ran.layout.logs / "big.log").write_text("".join(f"line {n}\n" for n in range(20_000)))
    short, whole = invoke("logs", repo, "big.log").out, invoke("logs", repo, "big.log", "--all").out
    assert short.endswith("line 19999\n")
    assert len(short) <= 1 << 16
    assert whole.startswith("line 0\n")


def test_watch_without_a_terminal_tells_the_last_round_and_ends(ran, repo, invoke) -> None:
    out = invoke("watch", repo).out
    assert "round 2 merged executor_1: 128.07 → 115.26, 10% better" in out
    assert "round 1 merged" not in out


def test_watch_follows_a_living_run_to_its_end(repo) -> None:
    record = Recorder(repo / ".selfimprove/default")
    record.add(set_up())
    with held(record.layout.lock):
        words = [sys.executable, "-m", "selfimprove", "watch", str(repo)]
        child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        record.checkpoint()
        record.add(to_execution(1))
        time.sleep(0.3)
        record.add(to_end(1, 142.3, 128.07))
        record.checkpoint("stopped", status="patience", reason="no win")
    out, _ = child.communicate(timeout=20)
    assert child.returncode == 0
    assert out.count("round 1 merged executor_1") == 1
    assert "no win for too many rounds: no win" in out


def test_validate_finds_and_rebuilds(ran, repo, invoke) -> None:
    assert invoke("validate", repo).out.endswith("sound\n")
    root = ran.layout.root
    before = {p: p.read_bytes() for f in ("state", "tracking") for p in root.glob(f"{f}/**/*.json")}
    for path in before:
        path.unlink()
    answer = invoke("validate", repo, "--json")
    assert answer.code == 1
    assert len(json.loads(answer.out)["findings"]) == len(before)
    assert invoke("validate", repo, "--rebuild").code == 0
    assert {path: path.read_bytes() for path in before} == before


def test_rebuild_keeps_its_hands_off_a_living_run(ran, repo, invoke) -> None:
    ready, done = threading.Event(), threading.Event()

    def hold() -> None:
        with held(ran.layout.lock):
            ready.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    ready.wait(10)
    try:
        answer = invoke("validate", repo, "--rebuild")
    finally:
        done.set()
        thread.join()
    assert answer.code == 5


def test_stop_reaches_a_living_run(ran, repo, invoke) -> None:
    code = f"""
import signal, sys, time
from pathlib import Path
from selfimprove.store.lock import held
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
with held(Path({str(ran.layout.lock)!r})):
    print("held", flush=True)
    time.sleep(30)
"""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    assert "asked to stop" in invoke("stop", repo).out
    assert child.wait(timeout=10) == 7
    child.stdout.close()
    assert ran.layout.stop_file.exists()


def test_stop_with_nothing_alive_leaves_no_stop_file(ran, repo, invoke) -> None:
    answer = invoke("stop", repo)
    assert (answer.code, "nothing runs" in answer.out) == (0, True)
    assert not ran.layout.stop_file.exists()


def test_idea_is_queued_once(ran, repo, invoke) -> None:
    assert "1 waiting" in invoke("idea", "src/pool.py::WORKERS = 2, 4", repo).out
    assert "1 waiting" in invoke("idea", "src/pool.py::WORKERS = 2, 4", repo).out
    assert "2 waiting" in invoke("idea", "another", repo).out


def test_chart_draws_both(ran, repo, invoke, tmp_path) -> None:
    answer = invoke("chart", repo)
    paths = [Path(line) for line in answer.out.splitlines()]
    assert [path.name for path in paths] == ["progress.png", "progress.svg"]
    assert all(path.stat().st_size > 10_000 for path in paths)
    assert invoke("chart", repo, "-o", tmp_path / "x.jpg").code == 2


GOAL = """# Goal
## Objective
Answer faster
## Target Metric
- Metric name: total_ms
- Direction: lower
## Scope
- In scope: src/
## Benchmark
- Command: python bench.py
"""


def test_config_tells_where_each_value_came_from(repo, invoke, monkeypatch) -> None:
    (repo / "Goal.md").write_text(GOAL)
    settings = repo / ".selfimprove/default/config/settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"patience": 4}')
    monkeypatch.setenv("SELFIMPROVE_MAX_ITERATIONS", "7")
    monkeypatch.setenv("SELFIMPROVE_PATIENTS", "7")
    answer = invoke("config", repo, "--json")
    told = json.loads(answer.out)
    assert told["benchmark_command"] == {"value": "python bench.py", "source": "goal.md"}
    assert told["patience"] == {"value": 4, "source": "settings.json"}
    assert told["max_iterations"] == {"value": 7, "source": "environment"}
    assert told["number_of_agents"]["source"] == "default"
    assert "SELFIMPROVE_PATIENTS" in answer.err
    shown = invoke("config", repo, "--set-only").out
    assert "number_of_agents" not in shown
    assert "patience" in shown


def test_config_without_a_goal_says_how_to_get_one(repo, invoke) -> None:
    answer = invoke("config", repo)
    assert (answer.code, "goal --template" in answer.err) == (3, True)


def test_goal_template_and_reading(repo, invoke) -> None:
    assert "## Objective" in invoke("goal", "--template").out
    (repo / "goal.md").write_text(GOAL)
    assert "lower_is_better" in invoke("goal", repo, "--json").out
    assert "total_ms" in invoke("goal", repo).out
    (repo / "goal.md").write_text("# Goal\n")
    assert invoke("goal", repo).code == 3


def test_export_schema_is_one_object_keyed_by_document(invoke) -> None:
    told = json.loads(invoke("export", "schema").out)
    assert list(told) == list(DOCUMENTS)
    assert told["plan"]["properties"]["hypothesis"]["type"] == "string"
    assert told["raw_data"]["type"] == "array"
    assert all(schema["$schema"].startswith("https://json-schema.org/") for schema in told.values())


def test_looking_writes_nothing(ran, repo, invoke) -> None:
    def seen() -> dict[str, int]:
        return {
            str(path): path.stat().st_mtime_ns
            for folder, _, names in os.walk(repo)
            for path in (Path(folder) / name for name in names)
        }

    before = seen()
    for words in (["status"], ["history"], ["watch"], ["validate"], ["logs"], ["show", "round_1"]):
        assert invoke(*words, repo).code == 0
    assert seen() == before
