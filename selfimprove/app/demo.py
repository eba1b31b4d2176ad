"""`demo`: a real run on a bundled target, with no key and no network."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from selfimprove import resources
from selfimprove.app.common import say
from selfimprove.app.options import RunOptions
from selfimprove.app.run import run
from selfimprove.errors import TargetError
from selfimprove.places import root_of
from selfimprove.store.layout import Layout
from selfimprove.vcs.create import init_repository

if TYPE_CHECKING:
    from selfimprove.app.options import DemoOptions

EXAMPLE = "examples/accesslog"
SETTINGS = "settings.json"
ITERATIONS = 3


def demo(options: DemoOptions) -> int:
    """Unpack the example into a git repository of its own and run on it."""

    place = options.directory or Path(tempfile.mkdtemp(prefix="selfimprove-demo-"))
    _unpack(place)
    say(f"the demo's target is {place}")
    return run(
        RunOptions(
            repo=place,
            agent=options.agent,
            max_iterations=options.max_iterations or ITERATIONS,
            yes=True,
            json=options.json,
        )
    )


def _unpack(place: Path) -> None:
    if (place / ".selfimprove").is_dir():
        return  # an earlier demo goes on
    if place.exists() and any(place.iterdir()):
        raise TargetError(f"{place} is not empty", "give a directory that does not exist yet")
    shutil.copytree(
        resources.folder(EXAMPLE),
        place,
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("__pycache__", SETTINGS),
    )
    init_repository(place, "the example as it ships")
    # the example's settings lie where a user's would: few pairs, so that it ends soon
    settings = Layout(root_of(place)).settings
    settings.parent.mkdir(parents=True)
    shutil.copy(resources.folder(EXAMPLE) / SETTINGS, settings)
