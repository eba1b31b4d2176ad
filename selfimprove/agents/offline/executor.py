"""The executor: makes the edits of a plan in its tree, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from selfimprove.agents.base import AgentFailure, Workspace
from selfimprove.agents.offline.edits import Hunk, StaleEdit, apply_hunks
from selfimprove.agents.offline.files import SourceFile, read_source
from selfimprove.agents.offline.idea import APPLY_CODEMOD, SET_VALUE
from selfimprove.agents.offline.scan import Scanner
from selfimprove.agents.offline.sources.user_ideas import parse, tunables_of
from selfimprove.agents.offline.tunables import matching, set_value
from selfimprove.contracts.agent import AgentRequest
from selfimprove.syntax import compiles

Edit = tuple[str, Mapping[str, Any]]
"""A tool's name and its arguments."""


def execute(scanner: Scanner, request: AgentRequest, workspace: Workspace) -> dict[str, Any]:
    """Carry a plan out; AgentFailure where its edits do not fit what stands in the tree."""
    del scanner
    if request.context.get("fix_attempt") or request.context.get("revision"):
        # the change is one known edit: there is no second way to make it, and who refused says why
        return {"summary": "no other way to make this change is known; the tree is left as it was"}
    edits = edits_of(request.context.get("plan") or {})
    if not edits:
        raise AgentFailure(
            "output",
            "the plan holds no edit that can be made offline: it wants tool_plan entries of "
            "tunable.set or codemod.apply, or steps of the form path::NAME = value",
        )
    try:
        texts = edited(workspace.tree, edits)
    except StaleEdit as error:
        raise AgentFailure("output", str(error)) from None
    for path, text in texts.items():
        (workspace.tree / path).write_bytes(text.encode())
    return {"summary": "; ".join(_said(edit) for edit in edits)}


def edits_of(plan: Mapping[str, Any]) -> list[Edit]:
    """Give the edits a plan asks for: its tool plan, else its steps where they name a value."""
    uses = [u for u in plan.get("tool_plan") or () if u.get("tool") in (SET_VALUE, APPLY_CODEMOD)]
    found: list[Edit] = [(use["tool"], use.get("args") or {}) for use in uses]
    if found:
        return found
    for step in plan.get("steps") or ():
        parsed = parse(str(step.get("change", "")))
        if parsed is None or len(parsed[2]) != 1:
            return []
        path, name, values = parsed
        found.append((SET_VALUE, {"path": path, "name": name, "new": values[0]}))
    return found


def edited(tree: Path, edits: list[Edit]) -> dict[str, str]:
    """Give the new text of every file the edits touch; raises StaleEdit, writes nothing."""
    before: dict[str, SourceFile] = {}
    after: dict[str, str] = {}
    for tool, args in edits:
        path = str(args.get("path", ""))
        if path not in before:
            before[path] = _read(tree, path)
            after[path] = before[path].text
        now = SourceFile(path, after[path], before[path].language)
        try:
            after[path] = _apply(tool, args, now)
        except (KeyError, TypeError, ValueError) as error:
            raise StaleEdit(f"{path}: {error}") from None
    for path, file in before.items():
        _check(file, after[path])
    return after


def _apply(tool: str, args: Mapping[str, Any], file: SourceFile) -> str:
    if tool == APPLY_CODEMOD:
        hunks = [Hunk(int(e["line"]), str(e["old"]), str(e["new"])) for e in args["edits"]]
        return apply_hunks(file.text, hunks)
    tunables = tunables_of(file)
    wanted = {key: str(args[key]) for key in ("name", "old", "new") if key in args}
    found = matching(tunables, wanted["name"])
    quoted = wanted["new"][:1] in "'\""
    if found is not None and found.text is not None and found.literal[:1] in "'\"" and not quoted:
        wanted["new"] = found.quoted(wanted["new"])
    return set_value(file.text, tunables, wanted)


def _read(tree: Path, path: str) -> SourceFile:
    pure = PurePosixPath(path)
    outside = pure.is_absolute() or ".." in pure.parts or ".git" in pure.parts or not path
    inside = not outside and (tree / path).resolve().is_relative_to(tree.resolve())
    file = read_source(tree, path) if inside else None
    if file is None:
        raise StaleEdit(f"{path or 'a path'}: no text file of the tree that could be edited")
    return file


def _check(file: SourceFile, text: str) -> None:
    if text == file.text:
        raise StaleEdit(f"{file.path}: the edit changes nothing")
    why = compiles(text, file.path) if file.language == "python" else ""
    if why and not compiles(file.text, file.path):
        raise StaleEdit(f"{file.path}: does not compile any more once edited: {why}")


def _said(edit: Edit) -> str:
    tool, args = edit
    if tool == SET_VALUE:
        return f"set {args.get('name')} in {args.get('path')} to {args.get('new')}"
    return f"applied {args.get('rule')} in {args.get('path')}"
