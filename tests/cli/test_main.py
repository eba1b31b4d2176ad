"""The command line as a whole: every command there, cheap help, one line for each error."""

from __future__ import annotations

import resource
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from selfimprove import __version__, cli
from selfimprove.cli import COMMANDS, main
from selfimprove.errors import LockedError, Stopped

PUBLIC = shlex.split(
    "demo goal init run resume stop status history config doctor watch logs idea benchmark show "
    "diff chart validate replay export clean prune skills"
)


@pytest.mark.parametrize("name", [*PUBLIC, "export schema"])
def test_every_public_command_has_help_with_an_example(name: str, invoke) -> None:
    answer = invoke(*name.split(), "--help")
    assert answer.code == 0
    assert f"selfimprove {name}" in answer.out.partition("Example:")[2]


def test_the_table_lists_the_public_commands_and_no_others(invoke) -> None:
    assert sorted(COMMANDS) == sorted(PUBLIC)
    listed = invoke("--help").out
    assert all(f"\n  {name} " in listed for name in PUBLIC)


def test_every_option_has_help() -> None:
    bare = []
    for name in COMMANDS:
        command = cli.cli.get_command(click.Context(cli.cli), name)
        assert command is not None
        bare += [
            f"{name} {option.opts}"
            for option in command.params
            if isinstance(option, click.Option) and not option.help
        ]
    assert bare == []


def test_help_is_cheap_and_imports_nothing_heavy() -> None:
    heavy = shlex.split("pydantic rich filelock git jinja2 matplotlib optuna platformdirs")
    code = f"""
import sys
from selfimprove.cli import main
assert main(["--help"]) == 0
print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)
"""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.stderr.strip() == "[]"
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert spent <= 0.3


def test_version(invoke) -> None:
    assert invoke("--version").out == f"selfimprove {__version__}\n"


def test_python_dash_m_works() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "selfimprove", "statos"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr == "selfimprove: error: no command 'statos'; did you mean 'status'?\n"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["status", "--topik", "x"], "--topic"),
        (["run", "--until", "25:99"], "07:30"),
        (["run", "--for", "soon"], "8h"),
        (["run", "--agents", "0"], "1<=x<=26"),
        (["run", "--no-budget", "--budget-usd", "3"], "contradicts"),
        (["run", "--until", "07:30", "--for", "1h"], "contradicts"),
        (["init", "--direction", "sideways"], "lower or higher"),
        (["status", "--topic", "Not A Topic"], "a-z"),
        (["show", "round_x"], "merge_3"),
        (["idea", "  "], "quotes"),
        (["logs", "a", "b", "c"], "[REPO] [ID]"),
    ],
)
def test_a_command_line_that_cannot_be_meant_is_one_line_and_exit_2(words, says, invoke) -> None:
    answer = invoke(*words)
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.count("\n") == 1
    assert says in answer.err


def raising(error: BaseException):
    def command(*_: object, **__: object) -> None:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (LockedError("held", "wait"), 5, "selfimprove: error: held; wait\n"),
        (KeyboardInterrupt(), 130, "selfimprove: stopped: by you\n"),
        (Stopped("a person\nasked"), 130, "selfimprove: stopped: a person asked\n"),
        (click.Abort(), 130, "selfimprove: stopped: by you\n"),
        (OSError(28, "No space left on device", "/x"), 1, "/x: No space left on device; free"),
        (SystemExit(4), 4, ""),
    ],
)
def test_what_a_command_raises_becomes_its_exit_code(error, code, says, invoke, monkeypatch):
    monkeypatch.setattr(cli.cli, "main", raising(error))
    answer = invoke("status")
    assert answer.code == code
    assert says in answer.err
    assert answer.err.count("\n") <= 1


def test_a_note_on_an_error_is_told_with_it(invoke, monkeypatch) -> None:
    error = LockedError("held", "wait")
    error.add_note("while starting")
    monkeypatch.setattr(cli.cli, "main", raising(error))
    assert invoke("status").err == "selfimprove: error: held; wait (while starting)\n"


def test_a_bug_ends_in_a_log_of_the_user_that_is_named(invoke, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(cli.cli, "main", raising(ZeroDivisionError("oh")))
    answer = invoke("status")
    assert answer.code == 1
    assert answer.err.startswith("selfimprove: bug: ZeroDivisionError: oh; please report it with ")
    log = Path(answer.err.split("with ")[1].strip())
    assert log.is_relative_to(tmp_path / "user-state")
    assert "Traceback" in log.read_text()


def test_a_bug_in_a_run_ends_in_the_logs_of_its_root(ran, repo, invoke, monkeypatch) -> None:
    monkeypatch.setattr("selfimprove.store.lock.alive", raising(ZeroDivisionError("oh")))
    answer = invoke("status", repo)
    assert answer.code == 1
    assert Path(answer.err.split("with ")[1].strip()).parent == ran.layout.logs


def test_a_reader_that_goes_away_is_no_traceback(ran, repo) -> None:
    script = "from selfimprove.cli import main; import sys; sys.exit(main())"
    words = [sys.executable, "-c", script, "export", "schema"]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.close()
    assert child.stderr is not None
    assert child.stderr.read() == b""
    child.stderr.close()
    assert child.wait() == 1


def test_main_returns_what_the_command_answers(ran, repo) -> None:
    assert main(["validate", str(repo)]) == 0
    (ran.layout.root / "tracking/baseline.json").write_text("{}")
    assert main(["validate", str(repo)]) == 1
