"""What of this machine is shown inside the room: the system, the tools on PATH, their homes.

A tool found on PATH drags its closure along: the targets of its symlinks, the interpreter its
first line names, the environment that interpreter belongs to. All of it is shown read-only at its
own path, wherever it lies; the rest of HOME is not.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

SYSTEM = tuple(
    Path(name)
    for name in (
        *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/sys"),
        *("/nix", "/gnu", "/snap", "/run/current-system", "/run/opengl-driver", "/run/wrappers"),
        *("/var/lib/texmf", "/var/lib/ghc", "/var/cache/fontconfig"),
    )
)
"""Shown read-only where they exist; everything else at the top is hidden."""

_SYSTEM_STARTS = tuple(f"{path}/" for path in SYSTEM)

PACKAGED = tuple(Path(name) for name in ("/usr/bin", "/usr/sbin", "/bin", "/sbin"))
"""Filled by the distribution, with the interpreters they name: first lines are not read."""

HOMES = {
    "PYENV_ROOT": ".pyenv",
    "UV_PYTHON_INSTALL_DIR": ".local/share/uv/python",
    "UV_TOOL_DIR": ".local/share/uv/tools",
    "RUSTUP_HOME": ".rustup",
    "CARGO_HOME": ".cargo",
    "NVM_DIR": ".nvm",
    "GOPATH": "go",
    "VOLTA_HOME": ".volta",
    "BUN_INSTALL": ".bun",
    "RBENV_ROOT": ".rbenv",
    "ASDF_DATA_DIR": ".asdf",
    "MISE_DATA_DIR": ".local/share/mise",
    "SDKMAN_DIR": ".sdkman",
    "GOROOT": "",
    "JAVA_HOME": "",
    "CONDA_PREFIX": "",
    "VIRTUAL_ENV": "",
}
"""Homes of toolchains: the variable that names each, and where it is by default below HOME."""

SECRETS = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".pypirc", ".npmrc"),
    *(".config/gh", ".config/hub", ".config/gcloud", ".config/git/credentials", ".git-credentials"),
    *(".config/rclone", ".config/op", ".password-store", ".local/share/keyrings", ".vault-token"),
    *(".claude", ".claude.json", ".config/claude", ".codex", ".gemini", ".config/opencode"),
    *(".aider.conf.yml", ".config/io.datasette.llm", ".cache/huggingface/token", ".terraformrc"),
    *(".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".boto"),
    *(".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties"),
    *(".mozilla", ".config/google-chrome", ".config/chromium"),
    *(".bash_history", ".zsh_history", ".python_history"),
)
"""Below HOME; masked wherever something shown contains them."""

SYSTEM_SECRETS = ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssh")

BIN_NAMES = frozenset({"bin", "sbin", "shims", "condabin", "libexec"})
INSTALLED = ("lib", "lib64", "libexec", "share", "pkg", "pyvenv.cfg", "conda-meta")
"""One of these beside `bin` makes a folder an installation, not where somebody keeps things."""


@dataclass(frozen=True)
class Visible:
    """What is shown read-only, and what is masked inside it."""

    shown: tuple[Path, ...]
    """Outside the system's folders; no path lies below another."""
    masked: tuple[Path, ...]
    path: str
    """PATH as it is set inside."""
    variables: Mapping[str, str]
    """The toolchains' own variables, set to their real places."""


@dataclass
class Closure:
    """Collects what tools need, starting from their files."""

    home: Path
    hidden: tuple[Path, ...]
    """The user's checkout and our caches: never shown by a tool's closure."""
    shown: set[Path] = field(default_factory=set)
    _done: set[Path] = field(default_factory=set)

    def __post_init__(self) -> None:
        homes = both_names(self.home)
        kept = (*homes, *(home / ".local" for home in homes), *self.hidden)
        self._wide = {place for one in kept for place in (one, *one.parents)}
        self._secrets = {home / name for home in homes for name in SECRETS}

    def add_folder(self, folder: Path, read_first_lines: bool = True) -> None:
        """Follow every entry of a folder on PATH."""
        try:
            with os.scandir(folder) as entries:
                found = [Path(e.path) for e in entries if read_first_lines or _leads_out(e)]
        except OSError:
            return
        for entry in found:
            self.add_file(entry, read_first_lines)

    def add_file(self, path: Path, read_first_line: bool = True) -> None:
        """Follow one file: each hop of its symlinks, then its interpreter."""
        waiting = [path]
        while waiting:
            current = waiting.pop()
            if current in self._done:
                continue
            self._done.add(current)
            self.show(prefix_of(current, self._too_wide))
            target = _link_target(current)
            if target is not None:
                waiting += [target, Path(os.path.realpath(current))]
            elif read_first_line and (interpreter := first_line_of(current)) is not None:
                waiting.append(interpreter)
            waiting.extend(_environment_of(current))

    def add_interpreter(self, path: Path) -> None:
        """Follow what one file's first line names, but not the file's own folder."""
        interpreter = first_line_of(Path(os.path.realpath(path)))
        if interpreter is not None:
            self.add_file(interpreter)

    def show(self, path: Path) -> None:
        """Show one path, unless it is the system's or must stay hidden."""
        if not is_below(path, SYSTEM) and not is_below(path, self.hidden) and path.exists():
            self.shown.add(path)

    def _too_wide(self, path: Path) -> bool:
        if path in self._wide:
            return True
        return path in self._secrets


def both_names(home: Path) -> tuple[Path, ...]:
    """A home by its name and by where that leads: on some systems /home is a link."""
    return tuple(dict.fromkeys((home, Path(os.path.realpath(home)))))


def is_below(path: Path, roots: Iterable[Path]) -> bool:
    """Whether `path` is one of `roots` or lies below one."""
    text = f"{path}/"
    return any(text.startswith(f"{str(root).rstrip('/')}/") for root in roots)


def prefix_of(tool: Path, too_wide: Callable[[Path], bool]) -> Path:
    """The installation a tool belongs to: `P` for `P/bin/tool`, else the tool's own folder."""
    folder = tool.parent
    if "node_modules" in tool.parts:
        at = tool.parts.index("node_modules") + 1
        return Path(*tool.parts[:at])
    above = folder.parent
    installed = folder.name in BIN_NAMES and any((above / name).exists() for name in INSTALLED)
    if installed and not too_wide(above):
        return above
    return tool if too_wide(folder) else folder


def _leads_out(entry: os.DirEntry[str]) -> bool:
    """Whether an entry of a packaged folder is a link out of the system."""
    return entry.is_symlink() and not os.path.realpath(entry.path).startswith(_SYSTEM_STARTS)


def _link_target(path: Path) -> Path | None:
    try:
        text = path.readlink()
    except OSError:
        return None
    return Path(os.path.normpath(path.parent / text))


def first_line_of(path: Path) -> Path | None:
    """The interpreter that a script's first line names; not `env`, which looks on PATH."""
    try:
        with path.open("rb") as file:
            first = file.readline(512)
    except OSError:
        return None
    words = first[2:].split() if first.startswith(b"#!") else []
    if not words:
        return None
    named = Path(os.fsdecode(words[0]))
    return named if named.is_absolute() and named.name != "env" else None


def _environment_of(path: Path) -> Iterator[Path]:
    """The interpreter a Python environment was made from."""
    if path.parent.name != "bin" or not path.name.startswith("python"):
        return
    try:
        text = (path.parent.parent / "pyvenv.cfg").read_text(errors="replace")
    except OSError:
        return
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "home" and value.strip():
            yield Path(value.strip()) / path.name


def path_entries(path: str) -> list[Path]:
    """The absolute folders of a PATH, once each, in order; what does not exist is left in."""
    entries = [Path(os.path.normpath(entry)) for entry in path.split(os.pathsep) if entry]
    return list(dict.fromkeys(entry for entry in entries if entry.is_absolute()))


def see(
    environ: Mapping[str, str],
    home: Path,
    hidden: tuple[Path, ...],
    extra: Iterable[Path] = (),
) -> Visible:
    """Look the machine over once: what the tools on PATH, and `extra` files and folders, need."""
    closure = Closure(home, hidden)
    entries = path_entries(environ.get("PATH", "") or os.defpath)
    for entry in entries:
        closure.show(entry)
        if entry.is_symlink():
            closure.show(Path(os.path.realpath(entry)))
        closure.add_folder(entry, read_first_lines=entry not in PACKAGED)
    if home / ".local" / "bin" in entries:
        closure.show(home / ".local" / "lib")  # where `pip install --user` puts what they import
    variables = {}
    for name, default in HOMES.items():
        place = environ.get(name) or (str(home / default) if default else "")
        if place and Path(place).is_dir():
            variables[name] = place
            closure.show(Path(place))
    for path in extra:
        (closure.add_folder if path.is_dir() else closure.add_file)(path)
    shown = outermost(closure.shown)
    return Visible(
        shown,
        secrets_below(shown, home),
        os.pathsep.join(map(str, entries)),
        variables,
    )


def outermost(paths: Iterable[Path]) -> tuple[Path, ...]:
    """The paths that lie below none of the others, sorted."""
    kept: list[Path] = []
    for path in sorted(set(paths)):
        if not is_below(path, kept):
            kept.append(path)
    return tuple(kept)


def secrets_below(
    shown: Iterable[Path], home: Path, named: Iterable[Path] = ()
) -> tuple[Path, ...]:
    """Secrets that something shown would lay open, less what a person named themselves."""
    shown, named = tuple(shown), tuple(named)
    below_home = (place / name for place in both_names(home) for name in SECRETS)
    return tuple(
        secret
        for secret in below_home
        if is_below(secret, shown)
        and secret.exists()
        and not any(is_below(path, [secret]) for path in named)
    )
