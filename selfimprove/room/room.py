"""The room: one command, in one tree, at the target's own path, with nothing else in reach.

Editing, preparing, guarding and measuring all see the tree at the same absolute path, so shebangs,
editable installs and build caches point at the candidate. The machine is looked over once, when
the room is made; each job adds its own tree and its private, empty HOME and temporary folders.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from selfimprove.contracts.settings import Service
from selfimprove.outputs import Log
from selfimprove.process import Child, Limits, Outcome, StopToken, base_env, run_child
from selfimprove.proctree import collect
from selfimprove.room import cgroups
from selfimprove.room.agent_view import check_agent_paths, named_paths, program_paths
from selfimprove.room.around import Channels, Told, around, judged, others_time, told
from selfimprove.room.channels import (
    Pipe,
    as_arguments,
    check_started,
    first_process,
    handed_over,
    programmed,
    shell,
)
from selfimprove.room.environ import Profile, job_env, moved, tool_env
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
    own_user,
    probe,
)
from selfimprove.room.job import Job, Layered, RoomSpec, ToolCheck
from selfimprove.room.landlock import allowed, restricted
from selfimprove.room.mounts import TMP, Mounts, links, uses_host_network
from selfimprove.room.network import HOSTS, Ways, ways_out
from selfimprove.room.provided import Provided
from selfimprove.room.visible import is_below, see

if TYPE_CHECKING:
    from selfimprove.room.relay import Relay

__all__ = ["Job", "Layered", "Room", "RoomSpec", "ToolCheck"]

RESULT = "result"
SERVICE_LOG = "services.log"
MEASURED: frozenset[Profile] = frozenset({"benchmark", "guard", "holdout"})
"""Who is given services, and the sockets and ports that are named."""
LIMITED: frozenset[Profile] = frozenset({"prepare", *MEASURED})
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
        self._ways = ways_out(spec.sandbox.network)
        check_agent_paths(spec.agent_paths, self._home, spec.target_top)
        self.provided = Provided(spec, self._home, mounts=self.probe.bwrap is not None)
        hidden = (spec.target_top, spec.cache)
        self.visible = see(self._environ, self._home, hidden, self.provided.tools())
        self._mounts = Mounts(spec, self._home, self.visible, self.provided)

    @property
    def level(self) -> Level:
        """`bubblewrap`, `landlock`, `reduced` or `off`."""
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
                outcome = self._contained(bound, folder, in_tree, descriptors)
            else:
                outcome = self._bare(bound, folder, in_tree, descriptors)
            if job.result_file is not None:
                keep_result(folder / "tmp" / RESULT, job.result_file)
            self._keep_service_log(job, folder)
            return replace(outcome, report=report.read()) if report else outcome

    def which(self, command: str, tree: Path) -> ToolCheck:
        """Compare where a command's program is found outside and inside the room."""
        from selfimprove.room.which import check_tool

        return check_tool(self, command, tree)

    def places_for(self, profile: Profile) -> dict[Path, Path]:
        """Where provided paths go in a tree that is kept: relative to its top -> the user's path.

        All of them where they are mounted over: a frozen tree takes no more. A link stays, so
        only those that the profile is given.
        """
        return self.provided.inside(None if self.probe.bwrap is not None else profile)

    def describe(self) -> list[str]:
        """What jobs see and may use, a line each: for the trust screen."""
        from selfimprove.room.describing import describe

        return describe(self)

    def clean(self) -> None:
        """Remove what jobs of a killed run left; none may be running."""
        remove_tree(self.spec.cache / "jobs")
        cgroups.sweep()

    # one job

    def _contained(
        self, job: Job, folder: Path, in_tree: dict[Path, Path], more: tuple[int, ...]
    ) -> Outcome:
        mounts = [Mount(Path("/dev/shm"), "empty"), *self._mounts_of(job, folder, in_tree)]
        arguments = [*NAMESPACES, *own_user(), *self._network(job), *links()]
        arguments += ["--dev", "/dev", "--proc", "/proc"]
        arguments += mount_arguments(mounts, _in_memory(job.limits))
        arguments += ["--remount-ro", "/dev", "--remount-ro", "/"]
        arguments += ["--chdir", str(self.spec.target_top / self._folder_of(job))]
        env = self._env(job) | {"HOME": str(self._mounts.home), "TMPDIR": str(TMP), **job.env}
        with ExitStack() as stack:
            given = stack.enter_context(handed_over(as_arguments(arguments)))
            status, left = stack.enter_context(Pipe()), stack.enter_context(Pipe())
            log = stack.enter_context(self._service_log(job, folder))
            script = self._script(job, str(TMP / RESULT), Channels(left.given, log))
            options = ["--args", str(given), "--json-status-fd", str(status.given)]
            passed = [given, status.given, left.given, *((log,) if log >= 0 else ()), *more]
            relay = stack.enter_context(self._relay(job))
            if relay is not None:
                options += ["--info-fd", str(relay.descriptors[0])]
                options += ["--block-fd", str(relay.descriptors[1])]
                passed += relay.descriptors
            group = stack.enter_context(cgroups.bounded(job.limits))
            words = group.joined((str(self.probe.bwrap), *options, "--", *script))
            child = self._child(job, words, Path("/"), env)
            outcome = run_child(replace(child, contained=True, pass_fds=tuple(passed)), self.stop)
            said = status.read()
            # bubblewrap ends before its namespace does, whose first process then is our orphan
            collect(first_process(said))
            if relay is not None:
                relay.check()
            check_started(outcome, said)
            outcome = replace(outcome, exceeded=outcome.exceeded or group.exceeded())
            return self._judged(job, outcome, told(left.read(), bool(self._services(job))))

    def _bare(
        self, job: Job, folder: Path, in_tree: dict[Path, Path], more: tuple[int, ...]
    ) -> Outcome:
        assert isinstance(job.tree, Path), "layered trees need overlays"
        top, home = self.spec.target_top, folder / "home"
        env = moved(self._env(job), top, job.tree)
        if job.profile != "agent":
            env["PYTHONDONTWRITEBYTECODE"] = "1"  # or it would go into what is provided
        env |= {"HOME": str(home), "TMPDIR": str(folder / "tmp"), **job.env}
        if job.profile == "agent":
            self._link_named(home, job.shares)
        with ExitStack() as stack:
            left, log = Pipe(), stack.enter_context(self._service_log(job, folder))
            stack.enter_context(left)
            script = self._script(job, str(folder / "tmp" / RESULT), Channels(left.given, log))
            passed = [left.given, *((log,) if log >= 0 else ()), *more]
            if self.level == "landlock":
                rules = allowed(self._mounts_of(job, folder, in_tree), self._ports(job))
                passed.append(stack.enter_context(handed_over(rules.document())))
                script = restricted(passed[-1], script)
            group = stack.enter_context(cgroups.bounded(job.limits))
            child = self._child(job, group.joined(script), job.tree / self._folder_of(job), env)
            child = replace(child, pass_fds=tuple(passed))
            outcome = run_child(child, stop=self.stop)
            outcome = replace(outcome, exceeded=outcome.exceeded or group.exceeded())
            if not self._services(job):
                return outcome
            found = told(left.read(), services=True)
            return self._judged(job, outcome, replace(found, left=outcome.survivors + found.left))

    def _script(self, job: Job, result: str, channels: Channels) -> tuple[str, ...]:
        """The words that run a job: its command, and what stands around it."""
        bare = self.probe.bwrap is None and job.profile != "agent"
        tree = job.tree if isinstance(job.tree, Path) else None

        def here(command: str) -> str:
            """Where there are no mounts, a command that names the checkout means the tree."""
            top = re.escape(str(self.spec.target_top))
            return re.sub(top + r"(?![\w.-])", str(tree), command) if bare else command

        command = here(job.command) if isinstance(job.command, str) else job.command
        parts = ("start", "ready", "stop", "reset")
        services = [
            one.model_copy(update={part: here(getattr(one, part)) for part in parts})
            for one in self._services(job)
        ]
        return around(shell(command, result), channels, services, self.probe.bwrap is not None)

    def _services(self, job: Job) -> tuple[Service, ...]:
        return self.spec.services if job.services and job.profile in MEASURED else ()

    def _judged(self, job: Job, outcome: Outcome, found: Told) -> Outcome:
        outcome = replace(outcome, survivors=found.left)
        return judged(outcome, found, job.timeout) if self._services(job) else outcome

    @contextmanager
    def _service_log(self, job: Job, folder: Path) -> Iterator[int]:
        """A descriptor for what services print; -1 where there are none."""
        if not self._services(job):
            yield -1
            return
        with (folder / SERVICE_LOG).open("ab") as file:
            yield file.fileno()

    def _keep_service_log(self, job: Job, folder: Path) -> None:
        """Put what services printed beside the job's own log, cleaned like that."""
        if job.log is None or not self._services(job):
            return
        log = Log(job.log.with_suffix(f".{SERVICE_LOG}"), Child.log_cap, self.spec.redactor)
        with (folder / SERVICE_LOG).open("rb") as file:
            while data := file.read(1 << 20):
                log.add(data)
        log.close()

    @contextmanager
    def _relay(self, job: Job) -> Iterator[Relay | None]:
        """What carries connections to the ports that are named, where a job has any."""
        if not self._ways_of(job).ports:
            yield None
            return
        from selfimprove.room.relay import Relay

        with Relay(self._ways.ports) as relay:
            yield relay

    def _mounts_of(self, job: Job, folder: Path, in_tree: dict[Path, Path]) -> list[Mount]:
        shared = (self._shared(place, path) for place, path in job.shares.items())
        return [*self._mounts.of(job, folder, in_tree), *shared, *self._ways_in(job, folder)]

    def _shared(self, place: str, path: Path) -> Mount:
        """A file of the user's in its place; without mounts a link leads to its folder."""
        return Mount(self._mounts.home / place, "write", path if self.probe.bwrap else path.parent)

    def _ports(self, job: Job) -> tuple[int, ...] | None:
        """TCP ports that a job may connect to; None for any, and to listen."""
        if uses_host_network(job, self.spec) or self._services(job):
            return None
        return tuple(one.number for one in self._ways_of(job).ports)

    def _ways_in(self, job: Job, folder: Path) -> Iterator[Mount]:
        """The sockets that are named, and where the hosts of named ports are found inside."""
        ways = self._ways_of(job)
        for place in ways.places():
            yield Mount(place, "read", place)
        if ways.ports and HOSTS.exists():
            (folder / "hosts").write_text(ways.hosts())
            yield Mount(HOSTS, "read", folder / "hosts")

    def _ways_of(self, job: Job) -> Ways:
        return self._ways if job.profile in MEASURED else Ways()

    def _child(self, job: Job, argv: tuple[str, ...], cwd: Path, env: dict[str, str]) -> Child:
        timeout = job.timeout
        if timeout is not None:
            timeout += others_time(self._services(job))
        child = Child(argv, cwd, env, timeout, stdin=job.stdin, output_cap=job.output_cap)
        child = replace(child, log=job.log, redactor=self.spec.redactor, limits=job.limits)
        return replace(child, cpus=job.cpus, halted=job.halted)

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
        if job.alone:
            return tool_env(self._environ, self.visible)
        return job_env(job.profile, self._environ, self.visible, self.spec.env_names)

    def _network(self, job: Job) -> list[str]:
        return [] if uses_host_network(job, self.spec) else ["--unshare-net"]

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
        places, top = self.provided.inside(job.profile), self.spec.target_top
        if job.profile == "agent":
            folders = [job.tree] if isinstance(job.tree, Path) else [*job.tree.stack]
            for path in program_paths(job.program_words, self._home, top):
                at = path.relative_to(top) if is_below(path, [top]) else None
                if at is not None and all(is_free(folder / at, path) for folder in folders):
                    places[at] = path
        return places

    def _link_named(self, home: Path, shares: Mapping[str, Path]) -> None:
        """Without mounts, parts of HOME that `agent_paths` names are links in the private one, and
        so are the folders of files that are shared: a file that is put in a link's place is lost.
        """
        paths = self.spec.agent_paths
        for path in named_paths([*paths.read, *paths.write], self._home, self.spec.target_top):
            if path != self._home and is_below(path, [self._home]) and path.exists():
                mount_point(home, path.relative_to(self._home), path, link=True)
        for place, path in shares.items():
            mount_point(home, Path(place).parent, path.parent, link=True)


def _in_memory(limits: Limits | None) -> int | None:
    """What files that are kept in memory may take: they are bound like memory, and like disk."""
    found = [one for one in (limits.memory_bytes, limits.disk_bytes) if one] if limits else []
    return min(found, default=None)


def _stands(tree: Layered, at: Path) -> bool:
    return any((layer / at).exists() for layer in (*tree.stack, tree.upper))
