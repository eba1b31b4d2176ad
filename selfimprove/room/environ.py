"""The variables a job is given: built from an allow-list, never inherited, but for agents."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from selfimprove.room.visible import Visible, is_below, path_entries

Profile = Literal["deps", "prepare", "benchmark", "guard", "holdout", "agent"]

OWN = "SELFIMPROVE_"
CHOICES = frozenset({"PYENV_VERSION", "RUSTUP_TOOLCHAIN", "CONDA_DEFAULT_ENV", "NODE_VERSION"})
"""Which of several toolchains the caller has chosen."""
NETWORK = re.compile(
    r"(?i)(https?|ftp|all|no)_proxy|.*CA_BUNDLE|SSL_CERT_(FILE|DIR)|NODE_EXTRA_CA_CERTS"
    r"|(PIP|UV|NPM_CONFIG|YARN|CARGO|POETRY)_.+|GO(PROXY|PRIVATE|SUMDB|NOSUMDB|FLAGS)"
)
"""What is needed to reach the network from here, and the user's own mirrors."""
SESSION = frozenset({"XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "TMP", "TEMP", "OLDPWD", "PWD"})
"""Of the caller's session; they would name places that are not there."""


def job_env(
    profile: Profile, environ: Mapping[str, str], visible: Visible, names: Iterable[str]
) -> dict[str, str]:
    """The variables of a job, but for HOME and TMPDIR, which the room sets."""
    if profile == "agent":
        kept_back = {*SESSION, *names}  # what benchmarks are given is no agent's business
        own = {k: v for k, v in environ.items() if not k.startswith(OWN) and k not in kept_back}
        return own | {"PATH": visible.path}
    kept = {name: environ[name] for name in ("USER", "LOGNAME", *CHOICES) if name in environ}
    env = {"LANG": "C.UTF-8", "SHELL": "/bin/sh", **kept, **visible.variables}
    if profile == "deps":
        env |= {k: v for k, v in environ.items() if NETWORK.fullmatch(k)}
    else:
        env |= {name: environ[name] for name in names if name in environ}
    return env | {"PATH": visible.path}


def tool_env(environ: Mapping[str, str], visible: Visible) -> dict[str, str]:
    """The variables of a tool that is let have nothing else of the caller's."""
    kept = ("USER", "LOGNAME", "TZ", *CHOICES)
    own = {k: v for k, v in environ.items() if k in kept or NETWORK.fullmatch(k)}
    base = {"LANG": "C.UTF-8", "SHELL": "/bin/sh", **visible.variables}
    return {**base, **own, "PATH": visible.path}


def moved(env: Mapping[str, str], top: Path, tree: Path) -> dict[str, str]:
    """Where no mount is possible: variables that name the checkout, made to name the tree."""
    changed = dict(env)
    changed["PATH"] = os.pathsep.join(
        str(tree / entry.relative_to(top)) if is_below(entry, [top]) else str(entry)
        for entry in path_entries(env["PATH"])
    )
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if name in env and is_below(Path(env[name]), [top]):
            changed[name] = str(tree / Path(env[name]).relative_to(top))
    return changed
