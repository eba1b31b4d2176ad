"""The private bare clone in which everything happens before it is proven."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from selfimprove.errors import ToolError
from selfimprove.vcs.changes import Change
from selfimprove.vcs.git import Git, environment, execute, failed, is_full
from selfimprove.vcs.objects import Objects, missing, whole
from selfimprove.vcs.refs import RefUpdate, read_refs, update_refs
from selfimprove.vcs.target import Target

MARKER = "selfimprove-quarantine"
"""Written last: a clone without it was interrupted and is made again."""

_SEEDS = "refs/target/"
"""Keeps what came from the target; the user's own branch names are left free."""
_CACHED_TREES = 12

Seen = dict[str, "Entry"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One path of a commit."""

    mode: str
    """100644, 100755, 120000 (symlink) or 160000 (submodule)."""
    kind: str
    """`blob` or `commit`."""
    oid: str


class Quarantine:
    """The private clone: reads and makes commits; its refs move by compare-and-swap."""

    def __init__(self, path: Path, target: Target) -> None:
        self.path = path
        self.git = Git(path)
        self.objects = Objects(self.git)
        self.target = target
        self.notes: tuple[str, ...] = ()
        """What was unusual when it was opened, one line each."""
        self._trees: dict[str, str] = {}
        self._entries: dict[str, Seen] = {}

    @staticmethod
    def open(path: Path, target: Target) -> Quarantine:
        """Make the clone, or take up the one that is there; whole after a crash at any point."""
        path.parent.mkdir(parents=True, exist_ok=True)
        for leftover in path.parent.glob(f"{path.name}.making-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        damaged = _set_aside(path) if (path / MARKER).is_file() and not _is_whole(path) else None
        if not (path / MARKER).is_file():
            _remove_unfinished(path)
            making = Path(tempfile.mkdtemp(prefix=f"{path.name}.making-", dir=path.parent))
            _make(making, target)
            making.rename(path)
        quarantine = Quarantine(path, target)
        quarantine._clear_leftovers()
        quarantine.take(target.head)
        if damaged is not None:
            quarantine._rescue(damaged)
        return quarantine

    # --- reading ---

    def resolve(self, name: str) -> str | None:
        """The id of the commit that a name stands for, an id or a full ref; None where none is."""
        if name in self._trees:
            return name
        found = self.objects.facts([f"{name}^{{commit}}"])[0]
        return found.oid if found is not None else None

    def refs(self, *prefixes: str) -> dict[str, str]:
        """Refs below the given full prefixes and the commits they name."""
        return read_refs(self.git, *prefixes)

    def tree_oid(self, commit: str) -> str:
        """The id of a commit's tree."""
        if commit not in self._trees:
            found = self.objects.facts([f"{commit}^{{tree}}"])[0]
            if found is None:
                raise missing(commit)
            self._trees[commit] = found.oid
        return self._trees[commit]

    def entries(self, commit: str) -> Seen:
        """Every path of a commit; do not change the answer, it is shared."""
        tree = self.tree_oid(commit)
        found = self._entries.get(tree)
        if found is None:
            found = parse_tree(self.git.run("ls-tree", "-r", "-z", "--full-tree", tree))
            remember(self._entries, tree, found)
        return found

    def remember_edited(self, commit: str, start: str, changes: Iterable[Change]) -> None:
        """Spare a look at a commit that is `start` but for some changes."""
        old = self.entries(start)
        entries = dict(old)
        for change in changes:
            if change.oid and change.path not in old:
                return  # it could take the place of a folder
            entries.pop(change.path, None)
            if change.oid:
                entries[change.path] = Entry(change.mode, "blob", change.oid)
        remember(self._entries, self.tree_oid(commit), entries)

    def blob(self, oid: str) -> bytes:
        """The bytes of one blob, as stored."""
        return self.blobs([oid])[oid]

    def blobs(self, oids: Sequence[str]) -> dict[str, bytes]:
        """The bytes of several blobs; for small ones."""
        wanted = list(dict.fromkeys(oids))
        with self.objects.contents(wanted) as out:
            return {oid: whole(out, oid) for oid in wanted}

    def sizes(self, oids: Sequence[str]) -> dict[str, int]:
        """How many bytes each of several blobs has."""
        sizes: dict[str, int] = {}
        for oid, found in zip(oids, self.objects.facts(oids), strict=True):
            if found is None:
                raise missing(oid)
            sizes[oid] = found.size
        return sizes

    def file(self, commit: str, path: str) -> bytes | None:
        """The bytes of one file of a commit; None where there is no such file."""
        entry = self.entries(commit).get(path)
        return self.blob(entry.oid) if entry is not None and entry.kind == "blob" else None

    def diff(self, old: str, new: str, *, binary: bool = False) -> str:
        """The change between two commits or trees as patch text; `binary` makes it appliable."""
        wide = ["--binary", "--full-index"] if binary else []
        out = self.git.run(*_RAW_DIFF, "-p", *wide, old, new)
        return out.decode("utf-8", "replace")

    def numstat(self, old: str, new: str) -> dict[str, tuple[int, int]]:
        """Lines added and deleted for each changed path; (0, 0) for binary files."""
        rows = self.git.run(*_RAW_DIFF, "--numstat", "-z", old, new).split(b"\0")
        parts = (row.split(b"\t", 2) for row in rows if row)
        return {os.fsdecode(path): (_count(a), _count(d)) for a, d, path in parts}

    def log(self, commit: str, count: int) -> str:
        """The latest commits that led to one, newest first: id, day and subject, a line each."""
        out = self.git.run("log", f"--max-count={count}", "--format=%h %as %s", commit)
        return out.decode("utf-8", "replace").strip()

    def is_ancestor(self, old: str, new: str) -> bool:
        """Whether `old` is `new` or in its history."""
        args = ("merge-base", "--is-ancestor", old, new)
        answer = self.git.attempt(*args)
        if answer.code not in (0, 1):
            raise failed(args, self.path, answer)
        return answer.code == 0

    # --- writing ---

    def set_ref(self, ref: str, new: str, old: str | None) -> None:
        """Move a ref from `old` (None: it must not exist) to `new`; raises RefMoved."""
        update_refs(self.git, [RefUpdate(ref, new, old or "0" * len(new))])

    def delete_ref(self, ref: str, old: str) -> None:
        """Remove a ref that stands at `old`; raises RefMoved."""
        update_refs(self.git, [RefUpdate(ref, "0" * len(old), old)])

    def commit_tree(self, tree: str, parents: Sequence[str], message: str, date: str) -> str:
        """Make a commit; the same arguments make the same id, so a second try finds the first."""
        who = {
            f"GIT_{role}_{part}": value
            for role in ("AUTHOR", "COMMITTER")
            for part, value in (
                ("NAME", "selfimprove"),
                ("EMAIL", "selfimprove@localhost"),
                ("DATE", date),
            )
        }
        args = [word for parent in parents for word in ("-p", parent)]
        out = self.git.run("commit-tree", tree, *args, "-F", "-", stdin=message.encode(), env=who)
        commit = out.decode().strip()
        self._trees[commit] = tree
        return commit

    def merge(self, ours: str, theirs: str) -> str | None:
        """The tree of two commits merged without a working tree; None when they conflict."""
        args = ("merge-tree", "--write-tree", "--no-messages", ours, theirs)
        answer = self.git.attempt(*args)
        if answer.code not in (0, 1):
            raise failed(args, self.path, answer)
        return answer.stdout.decode().split()[0] if answer.code == 0 else None

    def store(self, data: bytes) -> str:
        """Keep some bytes as a blob; gives its id."""
        return self.git.run("hash-object", "-w", "--stdin", stdin=data).decode().strip()

    def take(self, commit: str) -> None:
        """Fetch a commit of the target, with what it needs, where it is not here yet."""
        if self.resolve(commit) == commit:
            return
        self.git.run(
            "fetch",
            *("--quiet", "--no-tags", "--no-write-fetch-head", "--update-shallow"),
            str(self.target.common_dir),
            f"+{commit}:{_SEEDS}{commit}",
        )

    def tidy(self) -> None:
        """Pack refs and loose objects: git looks through them all, and each round adds some."""
        self.git.run("pack-refs", "--all")
        _pack(self.git)

    def scratch(self) -> tempfile.TemporaryDirectory[str]:
        """A folder for private indexes and the like; a later start clears what a kill left."""
        return tempfile.TemporaryDirectory(prefix="tmp-", dir=self.path / "scratch")

    def _rescue(self, damaged: Path) -> None:
        """Bring over the branches of a damaged clone that are still whole in it."""
        answer = Git(damaged).attempt("for-each-ref", "--format=%(objectname) %(refname)")
        for row in answer.stdout.decode("utf-8", "surrogateescape").splitlines():
            oid, _, ref = row.partition(" ")
            options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--update-shallow")
            self.git.attempt("fetch", *options, str(damaged), f"+{oid}:{ref}")
        self.notes = (f"the private clone was damaged and is made anew; what it was: {damaged}",)

    def _clear_leftovers(self) -> None:
        # The run's lock is held, so nobody else is at work here: what lies about is a dead run's.
        for lock in [*self.path.glob("*.lock"), *(self.path / "refs").rglob("*.lock")]:
            lock.unlink(missing_ok=True)
        shutil.rmtree(self.path / "scratch", ignore_errors=True)
        (self.path / "scratch").mkdir(exist_ok=True)


def remember(seen: dict[str, Seen], tree: str, entries: Seen) -> None:
    """Keep the paths of a tree in place of those that have been kept longest."""
    while len(seen) >= _CACHED_TREES:
        seen.pop(next(iter(seen)), None)
    seen[tree] = entries


_RAW_DIFF = ("diff-tree", "-r", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-color")


def _make(making: Path, target: Target) -> None:
    """Clone into an empty folder: hard-linked objects, no remote, none of the user's branches."""
    source = str(target.common_dir)
    # --dissociate: with borrowed objects (alternates) copies are made, nothing stays borrowed.
    # --single-branch: with all objects linked anyway, the refs are not wanted.
    # --template=: nobody's hooks.
    options = ["--quiet", "--bare", "--single-branch", "--no-tags", "--dissociate", "--template="]
    command = ["git", "clone", *options, "--", source, str(making)]
    answer = execute(command, Path("/"), environment())
    if answer.code != 0:
        full = is_full(making)
        shutil.rmtree(making, ignore_errors=True)
        if full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(making.parent))
        raise failed(("clone",), target.common_dir, answer)
    git = Git(making)
    git.run("symbolic-ref", "HEAD", "refs/heads/none")
    cloned = read_refs(git)
    zeros = "0" * len(target.head)
    moves = [RefUpdate(ref, zeros, oid) for ref, oid in cloned.items()]
    moves += [RefUpdate(f"{_SEEDS}{oid}", oid, zeros) for oid in set(cloned.values())]
    update_refs(git, moves)
    git.run("config", "--remove-section", "remote.origin")
    _pack(git)
    (making / MARKER).write_text(f"1\n{target.common_dir}\n", encoding="utf-8")


def _pack(git: Git) -> None:
    """Every repository an executor gets is packed from here; loose objects cost it each time."""
    git.run("repack", "-d", "-q")


def _is_whole(path: Path) -> bool:
    """Whether git can read the clone, and every ref names an object that is there."""
    git = Git(path)
    refs = git.attempt("for-each-ref", "--format=%(objectname)")
    if refs.code != 0:
        return False
    there = git.attempt("cat-file", "--batch-check", stdin=refs.stdout)
    return there.code == 0 and b" missing" not in there.stdout


def _set_aside(path: Path) -> Path:
    """Move a damaged clone away: it may hold the only copy of a win that was held back."""
    aside = Path(tempfile.mkdtemp(prefix=f"{path.name}.damaged-", dir=path.parent))
    return path.rename(aside)


def _remove_unfinished(path: Path) -> None:
    if not path.exists():
        return
    ours = not any(path.iterdir()) or (path / "objects").is_dir() or (path / "refs").is_dir()
    if not ours:
        raise ToolError(
            f"{path} is in the way of the private clone and was not made by this tool",
            "move it away, or choose another place with --trees",
        )
    shutil.rmtree(path)


def parse_tree(listing: bytes) -> Seen:
    """Read the output of ls-tree -r -z."""
    found: Seen = {}
    for row in listing.split(b"\0"):
        if row:
            facts, _, path = row.partition(b"\t")
            mode, kind, oid = facts.decode().split()
            found[os.fsdecode(path)] = Entry(mode, kind, oid)
    return found


def _count(number: bytes) -> int:
    return 0 if number == b"-" else int(number)
