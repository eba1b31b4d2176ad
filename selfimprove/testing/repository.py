"""Builds real git repositories to improve, the same commit for the same files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from selfimprove.errors import ToolError
from selfimprove.process import Child, base_env, run_child

DATE = "2024-01-01T00:00:00+0000"
Files = Mapping[str, "str | bytes"]


@dataclass(frozen=True)
class Repository:
    """A git repository of a test's own."""

    path: Path

    def git(self, *args: str) -> str:
        """Run git in it, with neither the user's configuration nor the clock."""
        env = {k: v for k, v in base_env().items() if not k.startswith("GIT_")} | {
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_SYSTEM": "/dev/null",
            "GIT_AUTHOR_DATE": DATE,
            "GIT_COMMITTER_DATE": DATE,
        }
        done = run_child(Child(argv=("git", *args), cwd=self.path, env=env, timeout=60))
        if done.exit_code != 0:
            told = done.error or done.stderr.decode(errors="replace").strip()
            raise ToolError(f"git {' '.join(args)} in {self.path}: {told}")
        return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")

    def write(self, files: Files) -> None:
        """Write files, without committing them."""
        for name, content in files.items():
            place = self.path / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(self, files: Files, message: str = "change") -> str:
        """Write files and commit everything; give the commit."""
        self.write(files)
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.head

    @property
    def head(self) -> str:
        """The commit checked out."""
        return self.git("rev-parse", "HEAD")


def build_repository(path: Path, files: Files, goal: str | None = None) -> Repository:
    """Make a repository with one commit of these files, and of goal.md where one is given."""
    path.mkdir(parents=True, exist_ok=True)
    repository = Repository(path)
    repository.git("init", "--quiet", "--initial-branch=main")
    repository.git("config", "user.name", "A User")
    repository.git("config", "user.email", "user@example.com")
    repository.commit({**files, **({"goal.md": goal} if goal is not None else {})}, "start")
    return repository


def goal_text(command: str, scope: str = "src/", metric: str = "score", **lines: str) -> str:
    """Give a goal.md: lower is better and the answer is JSON, unless `direction`, `format`,
    `target` or `objective` say otherwise."""
    target = f"- Target value: {lines['target']}\n" if "target" in lines else ""
    return f"""# Goal

## Objective
{lines.get("objective", f"Lower the {metric}")}

## Target Metric
- Metric name: {metric}
{target}- Direction: {lines.get("direction", "lower_is_better")}

## Scope
- In scope: {scope}

## Benchmark
- Command: `{command}`
- Format: {lines.get("format", "json")}
"""
