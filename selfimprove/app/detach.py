"""`run --detach`: the same run in a process of its own, in a session without a terminal."""

from __future__ import annotations

import sys

from selfimprove.app.common import confirm_facts, own_skills
from selfimprove.process import base_env, start_detached
from selfimprove.room.isolation import probe
from selfimprove.session import prepare_root
from selfimprove.setup.trust import trust_facts
from selfimprove.site import Site
from selfimprove.store import lock
from selfimprove.store.record import load_state


def detach(site: Site, *, yes: bool) -> int:
    """Start the run again without --detach and leave it; its lines go to logs/run.log.

    What would end it at once, a lock that is held or trust that is missing, is said here: nobody
    watches over there.
    """
    with lock.held(site.layout.lock):
        prepare_root(site)
        state = load_state(site.layout)
    settings = site.config.settings
    level = probe(settings.sandbox.mode).level
    facts = trust_facts(settings, level, skills=own_skills(site, state))
    confirm_facts(facts, state.trust, yes=yes)
    arguments = [word for word in sys.argv[1:] if word != "--detach"]
    if "--yes" not in arguments:
        arguments.append("--yes")
    # -P: the directory one stands in, often the target, is no place to import from
    log = site.layout.logs / "run.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    pid = start_detached((sys.executable, "-P", "-m", "selfimprove", *arguments), base_env(), log)
    print(f"process {pid} runs on; watch it with `selfimprove watch`, its log is {log}")  # noqa: T201
    return 0
