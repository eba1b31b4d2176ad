"""What a model says and does besides its answer: a line each in the agent's log."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic_ai.messages import TextPart, ToolCallPart, ToolReturnPart

KEPT = 64 << 10
SHOWN = 200
"""Characters of a tool's arguments, and of what it answered."""


class Transcript:
    """Writes to the log as it happens, so that `selfimprove watch` and `logs` can follow."""

    def __init__(self, log: Path) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        self._log = log
        self._said: list[str] = []

    def note(self, line: str) -> None:
        """Add a line."""
        at = datetime.now(UTC).strftime("%H:%M:%S")
        with self._log.open("a", encoding="utf-8", errors="replace") as file:
            file.write(f"{at} {line}\n")

    def node(self, node: Any) -> None:
        """Add what one step of a conversation brought: an answer of the model, or of its tools."""
        response = getattr(node, "model_response", None)
        request = getattr(node, "request", None)
        for part in getattr(response or request, "parts", ()):
            if isinstance(part, TextPart) and part.content.strip():
                self._said.append(part.content)
                self.note(part.content.strip())
            elif isinstance(part, ToolCallPart):
                self.note(f"-> {part.tool_name} {_short(part.args)}")
            elif isinstance(part, ToolReturnPart):
                self.note(f"<- {part.tool_name}: {_short(part.content)}")

    def said(self) -> str:
        """The model's own words, the last of them where there are many."""
        return "\n\n".join(self._said)[-KEPT:]


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else f"{line[:SHOWN]}..."
