"""The agent that is a language model; what it needs is imported when it is asked."""

from __future__ import annotations

from functools import partial

from selfimprove.agents.base import Workspace
from selfimprove.agents.llm.meter import Meter
from selfimprove.agents.llm.names import COMPATIBLE, ModelName, ensure_installed, parse_name
from selfimprove.agents.llm.prices import price_of
from selfimprove.agents.llm.warmth import Warmth
from selfimprove.contracts.agent import AgentReply, AgentRequest
from selfimprove.contracts.settings import Settings


class ModelAgent:
    """Asks a provider's model, with tools for the tree, until it gives an answer that fits."""

    needs_git = False
    in_room = False

    def __init__(self, scheme: str, argument: str, settings: Settings) -> None:
        """Raises ConfigError where the argument names no model or a package is missing."""
        self.name: ModelName = parse_name(scheme, argument)
        ensure_installed(self.name)
        self.price = price_of(scheme, self.name.model, settings)
        self._settings = settings
        self._warmth = Warmth()

    @property
    def spec(self) -> str:
        """How it is written in settings."""
        return self.name.spec

    @property
    def model(self) -> str:
        """The provider's name of it."""
        return self.name.model

    @property
    def paid(self) -> bool:
        """Whether somebody pays for it."""
        return self.name.paid

    @property
    def priced(self) -> bool:
        """Whether its dollars can be told."""
        return self.price is not None or not self.paid

    def ask(self, request: AgentRequest, workspace: Workspace) -> AgentReply:
        """Ask the model; its failures carry what they cost."""
        workspace.stop.raise_if_set()
        from selfimprove.agents.llm.conversation import Conversation

        asked = (self.name, request, workspace, self._settings)
        return Conversation(*asked, Meter(self.price), self._warmth).reply()

    def probe(self, seconds: float) -> None:
        """Ask the provider whether it knows the key and the model, for nothing; or ConfigError."""
        from selfimprove.agents.llm.probing import probe

        probe(self.name, seconds)


anthropic = partial(ModelAgent, "anthropic")
openai = partial(ModelAgent, "openai")
compatible = partial(ModelAgent, COMPATIBLE)
