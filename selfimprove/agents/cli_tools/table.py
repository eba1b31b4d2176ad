"""The coding CLIs there are."""

from __future__ import annotations

from selfimprove.agents.cli_tools.aider import AIDER
from selfimprove.agents.cli_tools.claude_code import CLAUDE_CODE
from selfimprove.agents.cli_tools.codex import CODEX
from selfimprove.agents.cli_tools.gemini import GEMINI
from selfimprove.agents.cli_tools.opencode import OPENCODE

ROWS = {row.scheme: row for row in (CLAUDE_CODE, CODEX, GEMINI, OPENCODE, AIDER)}
