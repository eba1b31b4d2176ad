"""Makes a repository of a folder, for targets that this tool brings along."""

from __future__ import annotations

from pathlib import Path

from selfimprove.vcs.git import Git, environment, execute, failed

_WHO = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "selfimprove"), ("EMAIL", "selfimprove@localhost"))
}


def init_repository(folder: Path, message: str) -> None:
    """Commit everything in `folder` on a new branch `main`; raises ToolError."""
    command = ["git", "init", "--quiet", "--initial-branch=main", "--", str(folder)]
    answer = execute(command, folder, environment())
    if answer.code != 0:
        raise failed(("init",), folder, answer)
    git = Git(folder / ".git", folder)
    git.run("add", "--all")
    git.run("commit", "--quiet", f"--message={message}", env=_WHO)
