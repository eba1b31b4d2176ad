"""`run --dry-run`: what a run would execute, ask and take, without doing any of it."""

from __future__ import annotations

import json
from dataclasses import asdict

from selfimprove.app.budget import expected_cost
from selfimprove.app.common import own_skills
from selfimprove.deps import Roster
from selfimprove.room.isolation import probe
from selfimprove.setup.forecast import accounts_in, spenders_in
from selfimprove.setup.trust import trust_facts
from selfimprove.site import Site, benchmark_files
from selfimprove.store.record import load_state


def dry_run(site: Site, *, as_json: bool) -> int:
    """Print the plan of a round and what would be trusted."""
    settings = site.config.settings
    skills = own_skills(site, load_state(site.layout))
    facts = trust_facts(
        settings, probe(settings.sandbox.mode).level, skills=skills, accounts=accounts_in(settings)
    )
    agents = settings.number_of_agents
    critics = settings.number_of_max_critics * (1 + settings.critique_execution)
    calls = 1 + agents * (3 + critics)
    expected = expected_cost(site)
    answer = {
        "target": str(site.target.top),
        "base_commit": site.target.head,
        "branch": site.names(site.goal.slug).improve,
        "rounds": settings.max_iterations,
        "agents": Roster(site.config).specs(),
        "calls_a_round": calls,
        "a_round": {"usual": asdict(expected.usual), "at_most": asdict(expected.most)},
        "a_request": {"at_most": asdict(expected.request)},
        "sealed": benchmark_files(site),
        "accounts": dict(accounts_in(settings)),
        "trust": facts.lines(),
    }
    if as_json:
        print(json.dumps(answer, indent=2, ensure_ascii=False))  # noqa: T201
        return 0
    print(  # noqa: T201
        f"target      {answer['target']} at {site.target.head[:12]}\n"
        f"branch      {answer['branch']}\n"
        f"rounds      at most {settings.max_iterations}, {calls} agent calls a round, "
        f"by {', '.join(Roster(site.config).specs())}\n"
        f"makes the score: {', '.join(benchmark_files(site)) or 'nothing of the repository'}"
    )
    for line in (*(expected.lines() if spenders_in(settings) else ()), *facts.lines()):
        print(line)  # noqa: T201
    return 0
