"""`run --detach`: the same run in a process of its own, in a session without a terminal."""

from __future__ import annotations

import sys

from selfimprove.process import base_env, start_detached
from selfimprove.site import Site


def detach(site: Site) -> int:
    """Start the run again without --detach and leave it; its lines go to logs/run.log."""
    arguments = [word for word in sys.argv[1:] if word != "--detach"]
    log = site.layout.logs / "run.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    pid = start_detached((sys.executable, "-m", "selfimprove", *arguments), base_env(), log)
    print(f"process {pid} runs on; watch it with `selfimprove watch`, its log is {log}")  # noqa: T201
    return 0
