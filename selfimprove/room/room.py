"""The room: one command, in one tree, at the target's own path, with nothing else in reach.

Editing, preparing, guarding and measuring all see the tree at the same absolute path, so shebangs,
editable installs and build caches point at the candidate. The machine is looked over once, when
the room is made; each job adds its own tree and its private, empty HOME and temporary folders.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from selfimprove.contracts.settings import Provide
from selfimprove.errors import ConfigError
from selfimprove.process import Child, Limits, Outcome, StopToken, base_env, run_child
from selfimprove.proctree import collect
from selfimprove.room.agent_view import (
    AgentView,
    check_agent_paths,
    mask,
    named_paths,
    program_paths,
)
from selfimprove.room.channels import (
    Pipe,
    as_arguments,
    check_started,
    counted,
    first_process,
    handed_over,
    left_behind,
    programmed,
    shell,
)
from selfimprove.room.environ import Profile, job_env, moved
from selfimprove.room.files import (
    MountPoint,
    is_free,
    keep_result,
    mount_point,
    remove_tree,
    take_away,
)
from selfimprove.room.isolation import (
    NAMESPACES,
    Level,
    Mount,
    Probe,
    mount_arguments,
    probe,
)
from selfimprove.room.job import Job, Layered, RoomSpec, ToolCheck
from selfimprove.room.reduced import points_back
from selfimprove.room.visible import SYSTEM, SYSTEM_SECRETS, is_below, see

__all__ = ["Job", "Layered", "Room", "RoomSpec", "ToolCheck"]

TMP = Path("/tmp")
RESULT = "result"
HOST_NETWORK: frozenset[Profile] = frozenset({"deps", "agent"})
AUDIENCE: dict[Profile, frozenset[str]] = {
    "deps": frozenset({"benchmark"}),
    "prepare": frozenset({"benchmark"}),
    "benchmark": frozenset({"benchmark"}),
    "guard": frozenset({"benchmark"}),
    "holdout": frozenset({"benchmark", "holdout"}),
    "agent": frozenset({"agents"}),
}
"""Whose provided paths each profile is given."""


OPEN_WITHOUT_MOUNTS = (
    "a candidate can use the network, read your files, and write your checkout and what is provided"
)
LIMITED: frozenset[Profile] = frozenset({"prepare", "benchmark", "guard", "holdout"})
"""Whom the sandbox's limits bind: what a candidate runs, not the agents nor `deps_command`."""
OURS = 3
"""Processes of the room's own around a command."""


class Room:
    """Runs jobs; safe to use from several threads."""

    def __init__(self, spec: RoomSpec, stop: StopToken) -> None:
        self.spec = spec
        self.stop = stop
        self.probe: Probe = probe(spec.sandbox.mode, spec.cache)
        self._environ = base_env()
        self._home = Path(self._environ.get("HOME") or Path.home())
        if isinstance(spec.sandbox.network, list):
            raise ConfigError(
                "sandbox.network: named sockets and ports are not understood yet",
                "use 'none' or 'host'",
            )
        check_agent_paths(spec.agent_paths, self._home, spec.target_top)
        self._provided = {self._place(one): one for one in spec.provide}
        self._check_provided()
        self._hidden = (spec.target_top, spec.cache)
        tools = [
            folder
            for path, one in self._provided.items()
            if set(one.for_) != {"holdout"}
            for folder in (path / "bin", path / ".bin", path)
            if folder.exists() and (folder != path or path.is_file())
        ]
        self.visible = see(self._environ, self._home, self._hidden, tools)
        self._base = self._base_mounts()
        self._links = self._top_links()
        others = [path for path, one in self._provided.items() if "agents" not in one.for_]
        self._agents = AgentView(spec.agent_paths, self._home, (*self._hidden, *others))

    @property
    def level(self) -> Level:
        """`bubblewrap`, `reduced` or `off`."""
        return self.probe.level

    def run(self, job: Job) -> Outcome:
        """Run one job to its end; a candidate's failure is an outcome, ours a ToolError."""
        in_tree = self._inside_tree(job)
        with (
            self._folders() as folder,
            self._mount_points(job, in_tree),
            programmed(job) as (given, descriptors, report),
        ):
            bound = replace(given, limits=self._limits(job, folder))
            if self.probe.bwrap is not None:
                mounts = [*self._base, *self._own_mounts(job, folder, in_tree)]
                outcome = self._contained(bound, mounts, descriptors)
            else:
                outcome = self._bare(bound, folder, descriptors)
            if job.result_file is not None:
                keep_result(folder / "tmp" / RESULT, job.result_file)
            return replace(outcome, report=report.read()) if report else outcome

    def which(self, command: str, tree: Path) -> ToolCheck:
        """Compare where a command's program is found outside and inside the room."""
        from selfimprove.room.which import check_tool

        return check_tool(self, command, tree)

    def provided_inside(self, profile: Profile | None = None) -> dict[Path, Path]:
        """Provided paths that lie in the tree: place relative to its top -> the user's path."""
        top = self.spec.target_top
        return {
            path.relative_to(top): path
            for path, one in self._provided.items()
            if is_below(path, [top]) and (profile is None or AUDIENCE[profile] & set(one.for_))
        }

    def describe(self) -> list[str]:
        """What jobs see and may use, a line each: for the trust screen."""
        spec, network = self.spec, self.spec.sandbox.network
        why = f" ({self.probe.reason})" if self.probe.reason else ""
        provided = (f"{path} for {', '.join(one.for_)}" for path, one in self._provided.items())
        named = (*spec.agent_paths.read, *(f"{path} (writable)" for path in spec.agent_paths.write))
        rows = {
            "isolation": f"{self.level}{why}",
            "tree": f"{spec.target_top} shows the candidate, never your checkout",
            "read-only": ", ".join(map(str, self.visible.shown)) or "the system alone",
            "provided": "; ".join(provided) or "nothing",
            "network": f"benchmarks: {network}; agents and deps_command: host",
            "variables": ", ".join(spec.env_names) or "none of yours but PATH and toolchain homes",
            "agents": f"your environment; paths: {', '.join(named) or 'none more'}",
        }
        if self.probe.bwrap is None:
            rows["not stopped at this level"] = OPEN_WITHOUT_MOUNTS
        limits = {
            name: getattr(spec.sandbox, name) for name in ("memory_mb", "processes", "disk_mb")
        }
        if any(limits.values()):
            told = (f"{name} {value}" for name, value in limits.items() if value)
            rows["limits"] = ", ".join(told)
        return [f"{name}: {value}" for name, value in rows.items()]

    def clean(self) -> None:
        """Remove what jobs of a killed run left; none may be running."""
        remove_tree(self.spec.cache / "jobs")

    # one job

    def _contained(self, job: Job, mounts: list[Mount], more: tuple[int, ...]) -> Outcome:
        arguments = [*NAMESPACES, *self._network(job), *self._links, "--dev", "/dev"]
        arguments += ["--proc", "/proc", *mount_arguments(mounts), "--remount-ro", "/"]
        arguments += ["--chdir", str(self.spec.target_top / self._folder_of(job))]
        command = shell(job.command, str(TMP / RESULT))
        env = self._env(job) | {"HOME": str(self._inner_home), "TMPDIR": str(TMP), **job.env}
        with handed_over(as_arguments(arguments)) as given, Pipe() as status, Pipe() as left:
            options = ("--args", str(given), "--json-status-fd", str(status.given), "--")
            words = (str(self.probe.bwrap), *options, *counted(command, left.given))
            child = replace(self._child(job, words, Path("/"), env), contained=True)
            child = replace(child, pass_fds=(given, status.given, left.given, *more))
            outcome = run_child(child, self.stop)
            said = status.read()
            # bubblewrap ends before its namespace does, whose first process then is our orphan
            collect(first_process(said))
            check_started(outcome, said)
            return replace(outcome, survivors=left_behind(left.read()))

    def _bare(self, job: Job, folder: Path, more: tuple[int, ...]) -> Outcome:
        assert isinstance(job.tree, Path), "layered trees need overlays"
        top, home = self.spec.target_top, folder / "home"
        env = moved(self._env(job), top, job.tree)
        if job.profile != "agent":
            env["PYTHONDONTWRITEBYTECODE"] = "1"  # or it would go into what is provided
        env |= {"HOME": str(home), "TMPDIR": str(folder / "tmp"), **job.env}
        command: str | tuple[str, ...] = job.command
        if job.profile == "agent":
            self._link_named(home)
        elif isinstance(command, str):
            command = re.sub(re.escape(str(top)) + r"(?![\w.-])", str(job.tree), command)
        argv = shell(command, str(folder / "tmp" / RESULT))
        child = self._child(job, argv, job.tree / self._folder_of(job), env)
        return run_child(replace(child, pass_fds=more), stop=self.stop)

    def _child(self, job: Job, argv: tuple[str, ...], cwd: Path, env: dict[str, str]) -> Child:
        child = Child(argv, cwd, env, job.timeout, stdin=job.stdin, output_cap=job.output_cap)
        return replace(
            child, log=job.log, redactor=self.spec.redactor, limits=job.limits, cpus=job.cpus
        )

    def _limits(self, job: Job, folder: Path) -> Limits | None:
        """What a candidate's command may use, as far as settings say it."""
        sandbox = self.spec.sandbox
        if job.profile not in LIMITED:
            return None
        tree = job.tree.upper if isinstance(job.tree, Layered) else job.tree
        return Limits(
            sandbox.memory_mb << 20 if sandbox.memory_mb else None,
            sandbox.processes + OURS if sandbox.processes else None,
            sandbox.disk_mb << 20 if sandbox.disk_mb else None,
            (folder, tree),
        )

    def _folder_of(self, job: Job) -> str:
        """Where a job starts: agents at the top, which their paths are told from."""
        return "" if job.profile == "agent" else self.spec.prefix

    def _env(self, job: Job) -> dict[str, str]:
        return job_env(job.profile, self._environ, self.visible, self.spec.env_names)

    def _network(self, job: Job) -> list[str]:
        shared = job.profile in HOST_NETWORK or self.spec.sandbox.network == "host"
        return [] if shared else ["--unshare-net"]

    @contextmanager
    def _folders(self) -> Iterator[Path]:
        """A job's private HOME and temporary folders, on disk."""
        jobs = self.spec.cache / "jobs"
        jobs.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=jobs))
        try:
            for name in ("tmp", "vartmp", "home"):
                (folder / name).mkdir()
            yield folder
        finally:
            remove_tree(folder)

    @contextmanager
    def _mount_points(self, job: Job, places: Mapping[Path, Path]) -> Iterator[None]:
        """Places for provided paths in a tree that was not frozen with them."""
        if isinstance(job.tree, Path):
            made = self.make_mount_points(job.tree, places)
        else:  # made before freezing, but for what this job alone is given
            missing = {at: path for at, path in places.items() if not _stands(job.tree, at)}
            made = self.make_mount_points(job.tree.upper, missing)
        try:
            yield
        finally:
            if (
                not job.read_only_tree
            ):  # a tree shared by readers keeps them: others may be using it
                take_away(made)

    def make_mount_points(self, tree: Path, places: Mapping[Path, Path]) -> list[MountPoint]:
        """Make the places of provided paths in a tree; returns those that were not there."""
        link = self.probe.bwrap is None
        made = [mount_point(tree, place, source, link) for place, source in places.items()]
        return [one for one in made if one is not None]

    def _inside_tree(self, job: Job) -> dict[Path, Path]:
        """What is laid over a job's tree, with an agent's own program where the tree has none."""
        places, top = self.provided_inside(job.profile), self.spec.target_top
        if job.profile == "agent":
            folders = [job.tree] if isinstance(job.tree, Path) else [*job.tree.stack]
            for path in program_paths(job.command, self._home, top):
                at = path.relative_to(top) if is_below(path, [top]) else None
                if at is not None and all(is_free(folder / at, path) for folder in folders):
                    places[at] = path
        return places

    # mounts

    def _base_mounts(self) -> list[Mount]:
        """What every job sees, outer places first."""
        shown = [path for path in SYSTEM if path.is_dir() and not path.is_symlink()]
        secrets = [path for path in map(Path, SYSTEM_SECRETS) if path.exists()]
        cache = (
            [self.spec.cache] if is_below(self.spec.cache, [*shown, *self.visible.shown]) else []
        )
        return [
            Mount(Path("/run"), "empty"),
            *(Mount(path, "read", path) for path in (*shown, *self.visible.shown)),
            *(mask(path) for path in (*secrets, *self.visible.masked, *cache)),
        ]

    def _own_mounts(self, job: Job, folder: Path, in_tree: Mapping[Path, Path]) -> Iterator[Mount]:
        """What one job has for itself: private folders, its tree, what is provided to it."""
        yield Mount(TMP, "write", folder / "tmp")
        yield Mount(Path("/var/tmp"), "write", folder / "vartmp")
        if is_below(self._inner_home, [TMP]):
            (folder / "tmp" / self._inner_home.relative_to(TMP)).mkdir(parents=True, exist_ok=True)
        yield Mount(self._inner_home, "write", folder / "home")
        resolver = Path("/etc/resolv.conf").resolve()
        if not self._network(job) and resolver.exists() and not is_below(resolver, SYSTEM):
            yield Mount(resolver, "read", resolver)
        for path, one in self._provided.items():
            if AUDIENCE[job.profile] & set(one.for_):
                yield Mount(path, "read", path)
            elif is_below(path, self.visible.shown):
                yield mask(path)
        for device in map(Path, self.spec.sandbox.devices):
            yield Mount(device, "device", device)
        for place, source in in_tree.items():
            yield Mount(self.spec.target_top / place, "read", source)
        if job.profile == "agent":
            yield from self._agents.mounts(job.command)
        yield self._tree_mount(job)

    def _tree_mount(self, job: Job) -> Mount:
        top = self.spec.target_top
        if isinstance(job.tree, Layered):
            return Mount(top, "overlay", job.tree.upper, job.tree.stack, job.tree.work)
        return Mount(top, "read" if job.read_only_tree else "write", job.tree)

    @cached_property
    def _inner_home(self) -> Path:
        """HOME inside: at its own path, unless something else has to stand there."""
        home, top = self._home, self.spec.target_top
        taken = home == Path("/") or is_below(home, [*SYSTEM, top])
        return TMP / "home" if taken or not home.is_absolute() else home

    def _top_links(self) -> list[str]:
        """Top-level links of a merged /usr, and /var/run."""
        links = [(path.readlink(), path) for path in SYSTEM if path.is_symlink()]
        return [
            word
            for to, at in [*links, (Path("/run"), Path("/var/run"))]
            for word in ("--symlink", str(to), str(at))
        ]

    # what is provided

    def _place(self, one: Provide) -> Path:
        path = named_paths([one.path], self._home, self.spec.target_top)[0]
        return Path(os.path.normpath(path))

    def _check_provided(self) -> None:
        for device in map(Path, self.spec.sandbox.devices):
            if not is_below(device, [Path("/dev")]) or not device.exists():
                raise ConfigError(
                    f"sandbox.devices: {device} is no device of this machine",
                    "name files below /dev, such as /dev/nvidia0",
                )
        for path in self._provided:
            if not path.exists():
                raise ConfigError(
                    f"provide: {path} does not exist", "create it, or take it out of `provide`"
                )
            found = points_back(path, self.spec.target_top) if self.probe.bwrap is None else ""
            if found:
                raise ConfigError(
                    f"provide: {path} points back into your checkout ({found}), so without "
                    "bubblewrap a benchmark would measure your files instead of the candidate's",
                    "install bubblewrap and allow user namespaces, or install without -e or links",
                )

    def _link_named(self, home: Path) -> None:
        """Without mounts, parts of HOME that `agent_paths` names are links in the private one."""
        paths = self.spec.agent_paths
        for path in named_paths([*paths.read, *paths.write], self._home, self.spec.target_top):
            if path != self._home and is_below(path, [self._home]) and path.exists():
                mount_point(home, path.relative_to(self._home), path, link=True)


def _stands(tree: Layered, at: Path) -> bool:
    return any((layer / at).exists() for layer in (*tree.stack, tree.upper))
