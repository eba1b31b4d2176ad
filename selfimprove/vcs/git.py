"""Runs git; GitPython is known here alone, and only as the way to start the program.

Every call has its own configuration: nothing of the caller's environment, the user's global
configuration or a repository's hooks decides what happens, and `--git-dir` is always explicit.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from selfimprove.errors import TargetError, ToolError
from selfimprove.process import base_env

if TYPE_CHECKING:
    import git.cmd

MINIMUM = (2, 38)
"""The oldest git with everything that is used (merge-tree --write-tree)."""

# Where the repository's own configuration could start a program or write more than was asked for;
# as "command scope" these win over it.
_OVERRIDES = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.logAllRefUpdates": "false",
    "core.protectHFS": "false",
    "core.protectNTFS": "false",
    "core.quotePath": "false",
    "core.warnAmbiguousRefs": "false",
    "commit.gpgSign": "false",
    "fetch.fsckObjects": "false",
    "fetch.prune": "false",
    "fetch.pruneTags": "false",
    "fetch.recurseSubmodules": "false",
    "fetch.writeCommitGraph": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "submodule.recurse": "false",
}

_ALWAYS = {
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": "/dev/null",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}

_PIPED = 1 << 14
"""Bytes that a pipe takes in at once, on Linux and macOS; more wait in a file."""
_FULL = 1 << 16
"""Bytes left on a disk that is as good as full."""
_NO_PROGRAM = 127
"""The code of env(1) where the program it is to start is not there."""
_KEPT_PREFIXES = ("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_", "GIT_PYTHON_", "GIT_SSL_")
"""Overridden by ours, not git's, or of no effect but on the way to a server one pushes to."""
_USERS_OWN = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")


@dataclass(frozen=True)
class Answer:
    """What one git command said."""

    code: int
    stdout: bytes
    stderr: str


class Git:
    """One repository, and git commands over it."""

    def __init__(
        self, git_dir: Path, work_tree: Path | None = None, *, users_config: bool = False
    ) -> None:
        """`users_config` lets the user's global configuration count: for what they would see."""
        self.git_dir = git_dir
        self.work_tree = work_tree
        self._prefix = ["git", f"--git-dir={git_dir}"]
        if work_tree is not None:
            self._prefix.append(f"--work-tree={work_tree}")
        self._users_config = users_config

    def run(
        self,
        *args: str,
        stdin: bytes | None = None,
        env: Mapping[str, str] | None = None,
        check: bool = True,
    ) -> bytes:
        """Stdout of one command; raises ToolError when it fails and `check` is set."""
        answer = self.attempt(*args, stdin=stdin, env=env)
        if check and answer.code != 0:
            raise failed(args, self.git_dir, answer)
        return answer.stdout

    def text(self, *args: str) -> str:
        """Stdout of one command as stripped text."""
        return self.run(*args).decode("utf-8", "surrogateescape").strip()

    def attempt(
        self,
        *args: str,
        stdin: bytes | BinaryIO | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Answer:
        """Run one command whose failure is an answer too."""
        return execute(
            [*self._prefix, *args],
            cwd=self.work_tree or self.git_dir,
            env=environment(users_config=self._users_config) | dict(env or {}),
            stdin=stdin,
        )

    def open(self, *args: str, stdin: BinaryIO | int | None = subprocess.PIPE) -> Any:
        """A command that goes on, as GitPython gives it: a Popen that ends with its last user."""
        return _runner(str(self.git_dir)).execute(
            _without_callers([*self._prefix, *args], {}),
            istream=stdin,
            as_process=True,
            env=environment(users_config=self._users_config),
            process_group=0,
        )

    @contextmanager
    def stream(self, *args: str, stdin: bytes = b"") -> Iterator[BinaryIO]:
        """Stdout of one command as it comes, for answers that may be larger than memory."""
        with _as_file(stdin) as source:
            process = self.open(*args, stdin=source)
            try:
                yield process.stdout
                process.stdout.close()
                _, error = process.communicate()
                code = process.returncode
            finally:
                if process.poll() is None:
                    process.terminate()
        if code != 0:
            raise failed(args, self.git_dir, Answer(code, b"", _decode(error)))


def execute(
    command: list[str], cwd: Path, env: Mapping[str, str], stdin: bytes | BinaryIO | None = None
) -> Answer:
    """Run a git command line; only a git that cannot be started is an error here."""
    runner = _runner(str(cwd))
    from git.exc import GitCommandNotFound

    # A group of its own: ^C in the terminal must not kill a git in the middle of a write. Not a
    # session: by that orphans of what runs are told from what is ours.
    with _as_file(stdin) as source:
        try:
            answer: Any = runner.execute(
                _without_callers(command, env),
                istream=source,
                with_extended_output=True,
                with_exceptions=False,
                stdout_as_string=False,
                strip_newline_in_stdout=False,
                env=env,
                process_group=0,
            )
        except GitCommandNotFound:
            raise _not_there("it is not on PATH") from None
    code, out, error = answer
    return Answer(code, out, _decode(error))


def failed(args: tuple[str, ...], git_dir: Path, answer: Answer) -> ToolError:
    """Word a failed command as one line."""
    lines = [line for line in answer.stderr.splitlines() if line.strip()] or ["no message"]
    fatal = [line for line in lines if line.startswith(("fatal:", "error:"))] or lines
    name = next((word for word in args if not word.startswith("-")), "")
    full = next((line for line in lines if os.strerror(errno.ENOSPC) in line), "")
    if full or is_full(git_dir):
        full = full or os.strerror(errno.ENOSPC)  # git does not always say so
        return ToolError(
            f"git {name} failed in {git_dir}: {full.strip()}",
            "free some space, then go on with `selfimprove run`",
        )
    return ToolError(
        f"git {name} failed in {git_dir}: {fatal[-1].strip()} (exit {answer.code})",
        f"check that repository with: git --git-dir='{git_dir}' fsck",
    )


def is_full(path: Path) -> bool:
    """Whether the disk that holds a path is as good as full."""
    try:
        return shutil.disk_usage(path).free < _FULL
    except OSError:
        return False


@cache
def git_version() -> tuple[int, ...]:
    """The version of the git on PATH."""
    answer = execute(["git", "version"], Path("/"), environment())
    if answer.code == _NO_PROGRAM:
        raise _not_there("it is not on PATH")
    found = re.search(rb"(\d+(?:\.\d+)+)", answer.stdout)
    return tuple(int(part) for part in found[1].split(b".")) if found else (0,)


def environment(*, users_config: bool = False) -> dict[str, str]:
    """The variables that every git gets on top of the caller's, less the caller's own GIT_*."""
    made = dict(_ALWAYS)
    overrides = {"core.fsmonitor": "false", "core.hooksPath": "/dev/null"}
    if not users_config:
        overrides = _OVERRIDES
        made["GIT_CONFIG_GLOBAL"] = str(Path(__file__).with_name("gitconfig"))
        made["GIT_CONFIG_SYSTEM"] = "/dev/null"
        made["GIT_CONFIG_NOSYSTEM"] = "1"
    made["GIT_CONFIG_COUNT"] = str(len(overrides))
    for index, (key, value) in enumerate(overrides.items()):
        made[f"GIT_CONFIG_KEY_{index}"] = key
        made[f"GIT_CONFIG_VALUE_{index}"] = value
    return made


def _without_callers(command: list[str], ours: Mapping[str, str]) -> list[str]:
    """The command, started through env(1) when the caller's GIT_* variables must be dropped.

    Those that a call sets itself win over the caller's anyway: in a hook, git sets some of them.
    """
    # GitPython always adds to os.environ and cannot take away from it.
    kept = {*_ALWAYS, *_USERS_OWN, "GIT_CONFIG_COUNT"}
    callers = [
        name
        for name in base_env()
        if name.startswith("GIT_")
        and name not in kept
        and name not in ours
        and not name.startswith(_KEPT_PREFIXES)
    ]
    if not callers:
        return command
    return ["env", *(word for name in callers for word in ("-u", name)), *command]


@cache
def _runner(cwd: str) -> git.cmd.Git:
    try:
        from git.cmd import Git as Command
    except ImportError as error:
        raise _not_there(str(error).splitlines()[0]) from None
    return Command(cwd)


def _not_there(why: str) -> TargetError:
    wanted = ".".join(map(str, MINIMUM))
    return TargetError(f"git cannot be started: {why}", f"install git {wanted} or newer")


@contextmanager
def _as_file(stdin: bytes | BinaryIO | None) -> Iterator[BinaryIO | None]:
    """What can be given to a program as its stdin; a file is flushed, and read from its place."""
    if stdin is None:
        yield None
    elif not isinstance(stdin, bytes):
        stdin.flush()
        yield stdin
    elif len(stdin) <= _PIPED:
        source, sink = os.pipe()
        with os.fdopen(source, "rb") as file:
            with os.fdopen(sink, "wb") as pipe:
                pipe.write(stdin)  # there is room: it need not be read before
            yield file
    else:
        with tempfile.TemporaryFile() as stored:
            stored.write(stdin)
            stored.seek(0)
            yield cast(BinaryIO, stored)


def _decode(error: str | bytes) -> str:
    return error if isinstance(error, str) else error.decode("utf-8", "replace")
