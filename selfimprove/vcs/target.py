"""The user's repository: found, checked, looked at, and never written here."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, replace
from pathlib import Path

from selfimprove.errors import TargetError
from selfimprove.vcs.git import MINIMUM, Answer, Git, environment, execute, git_version


@dataclass(frozen=True)
class Target:
    """A repository that can be improved, as it stood when it was opened."""

    top: Path
    """Top of the working tree, absolute and resolved."""
    git_dir: Path
    common_dir: Path
    """Where objects and refs are; the same as `git_dir` unless this is a linked worktree."""
    prefix: str
    """"" or "sub/dir/": the part of the repository that was named."""
    branch: str | None
    """None: HEAD is detached."""
    head: str
    shallow: bool
    notes: tuple[str, ...]
    """What is unusual about it and what that means, one line each."""

    @property
    def git(self) -> Git:
        """Git over this repository, without its working tree."""
        return Git(self.git_dir)


def open_target(repo: Path) -> Target:
    """Find the repository around `repo`; raises TargetError with what to do."""
    version = git_version()
    if version < MINIMUM:
        have, want = (".".join(map(str, part)) for part in (version, MINIMUM))
        raise TargetError(f"git {have} is too old", f"install git {want} or newer")
    if not repo.is_dir():
        raise TargetError(f"{repo} is not a folder", "name a git repository")
    top, git_dir, common_dir, prefix, shallow = _discover(repo.resolve())
    git = Git(git_dir)
    config = _config(git)
    _refuse_partial(top, config)
    head = git.attempt("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if head.code != 0:
        raise TargetError(
            f"{top} has no commit to start from", "commit what is to be improved, then try again"
        )
    ref = git.run("symbolic-ref", "--quiet", "HEAD", check=False).decode().strip()
    branch = ref.removeprefix("refs/heads/") or None
    oid = head.stdout.decode().strip()
    target = Target(top, git_dir, common_dir, prefix, branch, oid, shallow, ())
    return replace(target, notes=_notes(target, config))


def dirty_paths(target: Target) -> tuple[list[str], list[str]]:
    """Paths whose work-tree state is not in HEAD: (modified, untracked), from the top."""
    # The user's own excludes and line-ending settings count here, as in their `git status`.
    git = Git(target.git_dir, target.top, users_config=True)
    out = git.run("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames")
    rows = [(row[:2], os.fsdecode(row[3:])) for row in out.split(b"\0") if row]
    untracked = [path for code, path in rows if code == b"??"]
    return [path for code, path in rows if code not in (b"??", b"!!")], untracked


def _discover(repo: Path) -> tuple[Path, Path, Path, str, bool]:
    questions = ("--is-bare-repository", "--is-shallow-repository", "--is-inside-work-tree")
    places = ("--show-toplevel", "--absolute-git-dir", "--git-common-dir", "--show-prefix")
    command = ["git", "-C", str(repo), "rev-parse", "--path-format=absolute", *questions, *places]
    # The user's own configuration: their safe.directory decides whose repositories may be used.
    answer = execute(command, Path("/"), environment(users_config=True))
    said = answer.stdout.split(b"\n")
    if answer.code != 0:
        raise _not_usable(repo, answer, said)
    if len(said) != len(questions) + len(places) + 1:
        raise TargetError(f"{repo}: a line break in its path", "move it to a plain path")
    top, git_dir, common, prefix = (os.fsdecode(part) for part in said[3:7])
    shallow = said[1] == b"true"
    return Path(top), Path(git_dir), Path(common).resolve(), prefix, shallow


def _not_usable(repo: Path, answer: Answer, said: list[bytes]) -> TargetError:
    where = shlex.quote(str(repo))
    if said[:1] == [b"true"]:
        return TargetError(
            f"{repo} is a bare repository", f"name a working tree: git clone {where}"
        )
    if said[2:3] == [b"false"]:
        return TargetError(f"{repo} lies inside a .git folder", "name the working tree itself")
    if "dubious ownership" in answer.stderr or "safe.directory" in answer.stderr:
        return TargetError(
            f"{repo} belongs to another user",
            f"if you trust it: git config --global --add safe.directory {where}",
        )
    if "not a git repository" in answer.stderr:
        return TargetError(
            f"{repo} is not in a git repository",
            f"make one: git -C {where} init && git -C {where} add -A && git -C {where} commit",
        )
    first = (answer.stderr.strip() or "no message").splitlines()[0]
    return TargetError(f"{repo} cannot be read by git: {first}", f"see: git -C {where} status")


def _config(git: Git) -> dict[str, str]:
    rows = git.run("config", "--list", "-z").decode("utf-8", "surrogateescape").split("\0")
    pairs = (row.partition("\n") for row in rows if row)
    return {key.lower(): value for key, _, value in pairs}


def _refuse_partial(top: Path, config: dict[str, str]) -> None:
    promised = "extensions.partialclone" in config or any(
        key.startswith("remote.") and key.endswith((".promisor", ".partialclonefilter"))
        for key in config
    )
    if promised:
        raise TargetError(
            f"{top} is a partial clone: some of its objects are only at its remote",
            "clone it again without --filter",
        )


def _notes(target: Target, config: dict[str, str]) -> tuple[str, ...]:
    sparse = config.get("core.sparsecheckout", "false").lower() in ("true", "1", "yes", "on", "")
    detached = f"detached HEAD: starts from {target.head[:12]}, no branch is named"
    seen = (
        (target.shallow, "shallow clone: history ends where the clone ends"),
        (target.branch is None, detached),
        (sparse, "sparse checkout: candidates hold the whole commit, not only what is checked out"),
        (target.git_dir != target.common_dir, "linked worktree: shares its repository with others"),
        (bool(target.prefix), f"sub-directory: paths in goal.md are read from {target.prefix}"),
    )
    return tuple(note for holds, note in seen if holds)
