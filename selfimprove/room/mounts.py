"""Which of the machine each job is shown, where, and as what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path

from selfimprove.room.agent_view import AgentView, mask
from selfimprove.room.environ import Profile
from selfimprove.room.isolation import Mount
from selfimprove.room.job import Job, Layered, RoomSpec
from selfimprove.room.provided import Provided
from selfimprove.room.visible import SYSTEM, SYSTEM_SECRETS, Visible, is_below

TMP = Path("/tmp")
HOST_NETWORK: frozenset[Profile] = frozenset({"deps", "agent"})


class Mounts:
    """The mounts of a room: those that every job has, and each job's own."""

    def __init__(self, spec: RoomSpec, home: Path, visible: Visible, provided: Provided) -> None:
        self._spec = spec
        self._home = home
        self._visible = visible
        self._provided = provided
        self._base = list(self._base_mounts())
        others = (path for path in provided.paths if not provided.is_for("agent", path))
        self._agents = AgentView(spec.agent_paths, home, (spec.target_top, spec.cache, *others))

    def of(self, job: Job, folder: Path, in_tree: Mapping[Path, Path]) -> Iterator[Mount]:
        """All of one job's, its private folders below `folder`."""
        yield from self._base
        yield Mount(TMP, "write", folder / "tmp")
        yield Mount(Path("/var/tmp"), "write", folder / "vartmp")
        if is_below(self.home, [TMP]):
            (folder / "tmp" / self.home.relative_to(TMP)).mkdir(parents=True, exist_ok=True)
        yield Mount(self.home, "write", folder / "home")
        resolver = Path("/etc/resolv.conf").resolve()
        host = uses_host_network(job, self._spec)
        if host and resolver.exists() and not is_below(resolver, SYSTEM):
            yield Mount(resolver, "read", resolver)
        for path in self._provided.paths:
            if self._provided.is_for(job.profile, path):
                yield Mount(path, "read", path)
            elif is_below(path, self._visible.shown):
                yield mask(path)
        for device in self._provided.devices:
            yield Mount(device, "device", device)
        for place, source in in_tree.items():
            yield Mount(self._spec.target_top / place, "read", source)
        if job.profile == "agent":
            yield from self._agents.mounts(job.program_words)
        yield self._tree_mount(job)

    @cached_property
    def home(self) -> Path:
        """HOME inside: at its own path, unless something else has to stand there."""
        home, top = self._home, self._spec.target_top
        taken = home == Path("/") or is_below(home, [*SYSTEM, top])
        return TMP / "home" if taken or not home.is_absolute() else home

    def _base_mounts(self) -> Iterator[Mount]:
        """What every job sees, outer places first."""
        shown = [path for path in SYSTEM if path.is_dir() and not path.is_symlink()]
        secrets = [path for path in map(Path, SYSTEM_SECRETS) if path.exists()]
        cache = self._spec.cache
        hidden = [cache] if is_below(cache, [*shown, *self._visible.shown]) else []
        yield Mount(Path("/run"), "empty")
        yield from (Mount(path, "read", path) for path in (*shown, *self._visible.shown))
        yield from (mask(path) for path in (*secrets, *self._visible.masked, *hidden))

    def _tree_mount(self, job: Job) -> Mount:
        top = self._spec.target_top
        if isinstance(job.tree, Layered):
            return Mount(top, "overlay", job.tree.upper, job.tree.stack, job.tree.work)
        return Mount(top, "read" if job.read_only_tree else "write", job.tree)


def uses_host_network(job: Job, spec: RoomSpec) -> bool:
    """Whether a job is let at the host's own network."""
    return job.profile in HOST_NETWORK or spec.sandbox.network == "host"


@lru_cache(maxsize=1)
def links() -> tuple[str, ...]:
    """Top-level links of a merged /usr, and /var/run, as bubblewrap's arguments."""
    found = [(path.readlink(), path) for path in SYSTEM if path.is_symlink()]
    return tuple(
        word
        for to, at in [*found, (Path("/run"), Path("/var/run"))]
        for word in ("--symlink", str(to), str(at))
    )
