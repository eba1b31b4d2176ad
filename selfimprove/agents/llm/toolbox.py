"""The tools of a role, as the LLM library wants them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator

from pydantic_ai import Tool

from selfimprove.agents.base import Workspace
from selfimprove.agents.llm.desk import Desk, RefusedError
from selfimprove.agents.llm.editing import Editor
from selfimprove.contracts.agent import AgentRequest
from selfimprove.contracts.settings import Settings


def tools_for(
    request: AgentRequest, workspace: Workspace, settings: Settings, until: float
) -> list[Tool[None]]:
    """What a role may do: everybody reads, executors edit and run what is allowed."""
    desk = Desk(
        tree=workspace.tree,
        stop=workspace.stop,
        history_rows=tuple(request.context.get("history") or ()),
        commits=workspace.commits,
    )
    tools = [_tool(each) for each in (desk.list_files, desk.search, desk.read, desk.log)]
    tools.append(_tool(desk.history))
    if workspace.writable:
        plan = request.context.get("plan") or {}
        files = tuple(plan.get("target_files") or ())
        editor = Editor(desk, workspace, files, allowed(settings), until)
        edits = (editor.replace, editor.write, editor.apply_patch, editor.run)
        tools += [_tool(each, sequential=True) for each in edits]
    return tools


def allowed(settings: Settings) -> dict[str, str]:
    """What executors may run, by what it is called: the guards, and what settings name."""
    return dict(_commands(settings))


def _commands(settings: Settings) -> Iterator[tuple[str, str]]:
    prepare = f"{{ {settings.prepare_command}\n}} && " if settings.prepare_command else ""
    for guard in settings.guards:
        command = f"{prepare}{{ {guard.command}\n}}"
        yield guard.name, command
        yield guard.command.strip(), command
    for command in settings.agent_commands:
        yield command.strip(), f"{prepare}{{ {command}\n}}"


def sendable(text: str) -> str:
    """A text without the half characters by which Python keeps bytes that are no UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _tool(method: Callable[..., str], *, sequential: bool = False) -> Tool[None]:
    """A tool that answers a refusal with its words: the model reads them and goes on."""

    @functools.wraps(method)
    def tool(*args: object, **kwargs: object) -> str:
        try:
            return sendable(method(*args, **kwargs))
        except RefusedError as refusal:
            return sendable(f"refused: {refusal}")

    tool.__signature__ = inspect.signature(method)  # type: ignore[attr-defined]
    return Tool(tool, name=method.__name__, takes_ctx=False, sequential=sequential)
