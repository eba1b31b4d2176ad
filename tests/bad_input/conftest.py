"""The real command line against real repositories that are not as they should be."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from selfimprove.app import run as run_module
from selfimprove.cli import main
from selfimprove.testing import Repository, build_repository, goal_text
from selfimprove.vcs.state import user_state
from selfimprove.vcs.target import open_target

BENCH = """sed -n 's/^LIMIT = \\(.*\\)/{"score": \\1}/p' src/conf.py\n"""
FILES = {"src/conf.py": "LIMIT = 100\n", "src/other.py": "SIZE = 7\n", "bench.sh": BENCH}
COMMAND = "sh bench.sh"


later = partial(pytest.param, marks=pytest.mark.long)
"""One more of a kind, of which the quick suite has enough."""


@dataclass
class Answer:
    """What one command said."""

    code: int
    out: str
    err: str

    def line(self) -> str:
        """The one line that says what is wrong; everything else on standard error is progress."""
        assert "Traceback" not in self.err + self.out
        assert "selfimprove: bug:" not in self.err, self.err
        told = [row for row in self.err.splitlines() if row.startswith("selfimprove: error: ")]
        assert len(told) == 1, self.err
        assert self.err.splitlines()[-1] == told[0]
        return told[0].removeprefix("selfimprove: error: ")

    def refused(self, code: int, *says: str) -> str:
        """One line with all these words, this exit code, nothing on standard output."""
        told = self.line()
        assert self.code == code, told
        missing = [words for words in says if words not in told]
        assert not missing, f"{missing} not in: {told}"
        assert self.out == ""
        return told

    def worked(self) -> Answer:
        """It ran to its end and said nothing of an error."""
        assert self.code == 0, self.err
        assert "selfimprove: error:" not in self.err
        assert "selfimprove: bug:" not in self.err
        assert "Traceback" not in self.err
        return self


@dataclass
class Machine:
    """One user's machine: the command line, and where it keeps its private trees."""

    call: Callable[..., Answer]
    trees: Path
    flags: list[str] = field(default_factory=list)

    def run(self, repo: Path, *more: object, agent: str = "improve") -> Answer:
        """`selfimprove run` with one scripted planner and one round."""
        spec = agent if ":" in agent else f"scripted:bad_input.agents:{agent}"
        usual = ["--yes", "--agents", 1, "--max-iterations", 1, "--agent", spec]
        return self.call("run", repo, *usual, "--trees", self.trees, *more)

    def improved(self, repo: Path, *more: object) -> Answer:
        """A run that has to end in a published win, and leave the rest of the target alone."""
        with untouched(repo):
            answer = self.run(repo, *more).worked()
        assert "1 win" in answer.out, answer.err
        assert "conditions have changed" not in answer.err
        return answer


@contextmanager
def untouched(repo: Path) -> Iterator[None]:
    """Hold that nothing of the user's changes: work tree, index, HEAD, refs, configuration, …"""
    before = user_state(open_target(repo))
    yield
    assert before.differences(user_state(open_target(repo))) == []


@pytest.fixture
def machine(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Machine:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "user-state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user-cache"))
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))  # a measuring slot of the test's own
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setattr(run_module, "draw_chart", lambda _: "")  # a second of CPU each time

    def call(*words: object) -> Answer:
        capfd.readouterr()
        code = main([str(word) for word in words])
        said = capfd.readouterr()
        bugs = list((tmp_path / "user-state").rglob("bug-*.log"))
        assert bugs == [], bugs[0].read_text()
        return Answer(code, said.out, said.err)

    return Machine(call, tmp_path / "trees")


@pytest.fixture
def target(tmp_path: Path) -> Repository:
    """A repository whose score is the LIMIT in src/conf.py."""
    return build_repository(tmp_path / "target", FILES, goal_text(COMMAND))


def git(cwd: Path, *args: str) -> str:
    """The user's own git."""
    words = ["git", "-c", "protocol.file.allow=always", *args]
    done = subprocess.run(words, cwd=cwd, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def branches(repo: Path) -> list[str]:
    """Every ref but those that keep the record, which no branch or tag tells of."""
    refs = git(repo, "for-each-ref", "--format=%(refname)").splitlines()
    return [ref for ref in refs if not ref.startswith("refs/selfimprove/")]


def tracked(repo: Path, ref: str, path: str) -> str:
    return git(repo, "show", f"{ref}:{path}")
