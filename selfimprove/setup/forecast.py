"""What a round's agents may cost: as a rule, and at the very most; pure.

The most is what settings allow: every retry, every revision, every turn. What is usual is read from
the rounds there were; before the first it is assumed, and said to be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from selfimprove.agents.cli_tools.agent import CliAgent
from selfimprove.agents.llm.agent import ModelAgent
from selfimprove.agents.llm.limits import MAX_TOKENS, MOST_INPUT, turns_of
from selfimprove.agents.registry import make_agent, specs_for
from selfimprove.agents.skills import ASKED, AT_SETUP
from selfimprove.contracts.agent import AgentRole
from selfimprove.contracts.settings import Settings
from selfimprove.setup.building import ATTEMPTS
from selfimprove.setup.clarifying import QUESTIONS
from selfimprove.steps.asking import TRIES
from selfimprove.store.state import State

ASSUMED_TURNS = {"executor": 12, "researcher": 10, "planner": 8, "benchmark-builder": 16}
USUAL_QUESTIONS = 6
REVIEWER_TURNS = 4
ASSUMED_PROMPT, ASSUMED_GROWTH, ASSUMED_ANSWER = 8_000, 2_500, 500
"""Tokens: of a prompt with its tools, what each turn adds to it, and what a model says in one."""
ASSUMED_OWN = 9_000
"""Tokens of what a coding CLI says to its model by itself, with each request."""
ASSUMED_SECONDS = 10.0
"""Of one turn."""


@dataclass(frozen=True)
class Cost:
    """What a round's agents cost."""

    calls: int = 0
    tokens: int | None = 0
    """None where nobody can say: some coding CLIs ask their model as often as they like."""
    usd: float | None = 0.0
    """None where the price of a model is not known."""
    minutes: float = 0.0
    """Of all agents together, most of whom work side by side."""

    def __str__(self) -> str:
        dollars = "dollars not known" if self.usd is None else f"${self.usd:,.2f}"
        tokens = "tokens not known" if self.tokens is None else f"{self.tokens:,} tokens"
        return f"{self.calls:,} calls, {tokens}, {dollars}, {self.minutes:,.0f} agent minutes"


@dataclass(frozen=True)
class Forecast:
    """A round's cost."""

    usual: Cost
    most: Cost
    rounds: int
    """How many rounds `usual` is the mean of; 0 where it is assumed."""
    request: Cost = Cost()
    """The dearest single request that a model may be asked."""

    def lines(self, of: str = "a round of agents") -> list[str]:
        """How it reads to a person."""
        basis = f"mean of {self.rounds} rounds" if self.rounds else "assumed, nothing was measured"
        return [
            f"{of}, usually: {self.usual} ({basis})",
            f"{of}, at most: {self.most}",
            *self._one_request(),
        ]

    def _one_request(self) -> list[str]:
        """What is reserved before a request, and so what a budget may leave unspent."""
        if not self.request.tokens:
            return []
        usd = "" if self.request.usd is None else f", ${self.request.usd:,.2f}"
        told = f"one request, at most: {self.request.tokens:,} tokens{usd}"
        return [f"{told}; none is made that might pass a budget"]


@dataclass(frozen=True)
class _Seat:
    """One holder of a role, and how often a round asks it."""

    role: AgentRole
    spec: str
    usual: int
    most: int


Spender = ModelAgent | CliAgent
"""An agent that reads and writes tokens: a model, or a program that asks one."""


def spenders_in(settings: Settings, roles: Sequence[AgentRole] = ASKED) -> list[Spender]:
    """The models and coding CLIs that may be asked in these roles, each spec once."""
    specs = dict.fromkeys(seat.spec for seat in _seats(settings, roles))
    agents = (make_agent(spec, settings) for spec in specs)
    return [agent for agent in agents if isinstance(agent, Spender)]


def accounts_in(settings: Settings, roles: Sequence[AgentRole] = ASKED) -> list[tuple[str, str]]:
    """Each coding CLI's spec in these roles, and who pays for it."""
    clis = (each for each in spenders_in(settings, roles) if isinstance(each, CliAgent))
    paying = ((each.spec, each.account()) for each in clis)
    return [(spec, account.words if account else "nobody is logged in") for spec, account in paying]


def forecast(settings: Settings, state: State, roles: Sequence[AgentRole] = ASKED) -> Forecast:
    """What a round costs: the mean of the rounds in the record, else what is assumed.

    For roles of set-up, what that costs.
    """
    seats = list(_seats(settings, roles))
    most = _sum([_most(seat, settings) for seat in seats])
    rounds = state.settings.iterations if state.settings else 0
    if not rounds or not set(ASKED) & set(roles):
        usual = _sum([_usual(seat, settings) for seat in seats])
        return Forecast(usual, most, 0, _dearest(spenders_in(settings, roles)))
    total = state.totals
    asked = [span for span in state.spans if span.agent]
    minutes = sum(span.duration_s for span in asked) / 60
    shown = len({span.round for span in asked}) or 1
    mean = Cost(
        round(total.calls / rounds),
        round(total.tokens / rounds),
        total.usd / rounds,
        minutes / shown,
    )
    return Forecast(mean, most, rounds, _dearest(spenders_in(settings, roles)))


def _seats(settings: Settings, roles: Sequence[AgentRole]) -> Iterator[_Seat]:
    every = (*_round_seats(settings), *_setup_seats(settings))
    return (seat for seat in every if seat.role in roles)


def _setup_seats(settings: Settings) -> Iterator[_Seat]:
    clarifier, builder = (specs_for(settings, role)[0] for role in AT_SETUP)
    yield _Seat("goal-clarifier", clarifier, USUAL_QUESTIONS, QUESTIONS + 1)
    yield _Seat("benchmark-builder", builder, 1, ATTEMPTS)


def _round_seats(settings: Settings) -> Iterator[_Seat]:
    planners, critics = settings.number_of_agents, settings.number_of_max_critics
    attempts = 1 + (settings.max_plan_retries if settings.adaptive_refinement else 0)
    plans = attempts * settings.max_critique_rounds
    changes = settings.max_critique_rounds if settings.critique_execution and critics else 0
    edits = max(1, changes) + settings.max_fix_attempts
    criticised = planners + planners * bool(changes)
    yield _Seat("researcher", specs_for(settings, "researcher")[0], 1, 1)
    for spec in specs_for(settings, "planner", planners):
        yield _Seat("planner", spec, 1, plans)
    yield _Seat("architect", specs_for(settings, "architect")[0], planners, planners * plans)
    for spec in specs_for(settings, "critic", critics):
        yield _Seat("critic", spec, criticised, planners * (plans + changes))
    for spec in specs_for(settings, "executor", planners):
        yield _Seat("executor", spec, 1, edits)


def _usual(seat: _Seat, settings: Settings) -> Cost:
    agent = make_agent(seat.spec, settings)
    if not isinstance(agent, Spender):
        return Cost(seat.usual)
    turns = ASSUMED_TURNS.get(seat.role, REVIEWER_TURNS)
    first = ASSUMED_PROMPT + (ASSUMED_OWN if isinstance(agent, CliAgent) else 0)
    reads = [first + turn * ASSUMED_GROWTH for turn in range(turns)]
    tokens = sum(reads) + turns * ASSUMED_ANSWER
    usd = sum(_usd(agent, read, ASSUMED_ANSWER) for read in reads)
    minutes = turns * ASSUMED_SECONDS / 60
    calls = 1 if isinstance(agent, CliAgent) else turns
    return _times(seat.usual, Cost(calls, tokens, usd if agent.priced else None, minutes))


def _most(seat: _Seat, settings: Settings) -> Cost:
    agent = make_agent(seat.spec, settings)
    asked, minutes = seat.most * TRIES, settings.agent_timeout / 60
    if not isinstance(agent, Spender):
        return _times(asked, Cost(1, minutes=minutes))
    turns = turns_of(seat.role)
    usd = turns * _usd(agent, MOST_INPUT, MAX_TOKENS) if agent.priced else None
    tokens = turns * (MOST_INPUT + MAX_TOKENS)
    if isinstance(agent, CliAgent):
        return _times(asked, _most_of_program(agent, Cost(1, tokens, usd, minutes)))
    return _times(asked, Cost(turns, tokens, usd, minutes))


def _most_of_program(agent: CliAgent, by_turns: Cost) -> Cost:
    """What a call may come to where the program can be held to its turns; else only its time is."""
    if agent.row.takes_turns:
        return by_turns
    return replace(by_turns, tokens=None, usd=None if agent.by_token else 0.0)


def _dearest(spenders: list[Spender]) -> Cost:
    """The request that may cost most of all models' requests."""
    models = [each for each in spenders if isinstance(each, ModelAgent)]
    if not models:
        return Cost()
    known = all(model.priced for model in models)
    usd = max(_usd(each, MOST_INPUT, MAX_TOKENS) for each in models) if known else None
    return Cost(1, MOST_INPUT + MAX_TOKENS, usd)


def _usd(agent: Spender, read: int, written: int) -> float:
    if agent.price is None or (isinstance(agent, CliAgent) and not agent.by_token):
        return 0.0
    return agent.price.worst(read, written)


def _times(count: int, cost: Cost) -> Cost:
    usd = None if cost.usd is None else count * cost.usd
    tokens = None if cost.tokens is None else count * cost.tokens
    return Cost(count * cost.calls, tokens, usd, count * cost.minutes)


def _sum(costs: list[Cost]) -> Cost:
    dollars = [cost.usd for cost in costs if cost.usd is not None]
    tokens = [cost.tokens for cost in costs if cost.tokens is not None]
    return Cost(
        sum(cost.calls for cost in costs),
        sum(tokens) if len(tokens) == len(costs) else None,
        sum(dollars) if len(dollars) == len(costs) else None,
        sum(cost.minutes for cost in costs),
    )
