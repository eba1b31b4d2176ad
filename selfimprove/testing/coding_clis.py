"""Small programs that are called like the coding CLIs and print what those print."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from selfimprove.testing.documents import ANSWERS, a_plan

TARGET = "src/work.py"
PROGRAMS = {
    "claude-code": "claude",
    "codex": "codex",
    "gemini": "gemini",
    "opencode": "opencode",
    "aider": "aider",
}
PROGRAM = """#!{python} -I
import json, os, re, sys, time
KIND, ANSWERS = {kind!r}, json.loads({answers!r})
if "--version" in sys.argv:
    print("WARNING: something else")
    print(KIND, "1.2.3")
    sys.exit()
file = "--message-file" in sys.argv
prompt = open(sys.argv[sys.argv.index("--message-file") + 1]).read() if file else sys.stdin.read()
found = re.search(r"you are (\\w+?)(?:_\\w)?\\.", prompt)
role = found[1] if found else ""
answer = dict(ANSWERS.get(role, {{}}))
trouble = re.search(r"trouble: (.*)", prompt)
trouble = trouble[1] if trouble else ""
if trouble == "slow":
    time.sleep(20)
if trouble == "crash":
    os.kill(os.getpid(), 9)
if trouble == "silent":
    print("I have no time", file=sys.stderr)
    sys.exit(3)
if role == "executor":
    text = open({target!r}).read().replace("LIMIT = 1000", "LIMIT = 500")
    with open({target!r}, "w") as out:
        out.write(text)
    answer["argv"], answer["env"] = sys.argv[1:], dict(os.environ)
text = "no answer today" if trouble == "words" else json.dumps(answer)

def lines(*events):
    for event in events:
        print(json.dumps(event))

def claude():
    usage = {{"inputTokens": 10, "outputTokens": 7, "cacheReadInputTokens": 80}}
    usage["cacheCreationInputTokens"] = 20
    lines({{"type": "system", "subtype": "init"}})
    parts = [{{"type": "text", "text": "I looked"}}]
    lines({{"type": "assistant", "message": {{"id": "m1", "content": parts}}}})
    done = {{"type": "result", "subtype": "success", "is_error": False, "result": text}}
    done |= {{"modelUsage": {{"claude-haiku-5-5": usage}}, "total_cost_usd": 99.0}}
    if trouble == "limit":
        until = time.time() + 100
        info = {{"status": "rejected", "resetsAt": until}}
        lines({{"type": "rate_limit_event", "rate_limit_info": info}})
    status = {{"limit": 429, "login": 401, "model": 404, "down": 529}}.get(trouble)
    if status:
        done |= {{"is_error": True, "api_error_status": status, "result": "it said " + trouble}}
        done["modelUsage"] = {{}}
    elif trouble != "words":
        done["structured_output"] = answer
    lines(done)
    return 1 if status else 0

def codex():
    lines({{"type": "thread.started"}}, {{"type": "turn.started"}})
    told = {{
        "limit": "You’ve hit your usage limit. Try again at 4:47 PM.",
        "login": "unexpected status 401 Unauthorized: no, url: http://here",
        "model": "unexpected status 404 Not Found: model, url: http://here",
        "down": "exceeded retry limit, last status: 503 Service Unavailable",
    }}.get(trouble)
    if told:
        lines({{"type": "error", "message": told}})
        lines({{"type": "turn.failed", "error": {{"message": told}}}})
        return 1
    item = {{"type": "agent_message", "text": "I looked"}}
    lines({{"type": "item.completed", "item": item}})
    lines({{"type": "item.completed", "item": item | {{"text": text}}}})
    usage = {{"input_tokens": 110, "cached_input_tokens": 80, "output_tokens": 7}}
    lines({{"type": "turn.completed", "usage": usage | {{"cache_write_input_tokens": 20}}}})

def gemini():
    told = {{
        "limit": "Resource has been exhausted (e.g. check quota).",
        "login": "Please set an Auth method in your settings.json",
        "model": "got status: 404 NOT_FOUND",
        "down": "got status: 503 UNAVAILABLE",
    }}.get(trouble)
    used = {{"prompt": 110, "candidates": 4, "cached": 80, "thoughts": 3, "tool": 0, "total": 117}}
    done = {{"response": text, "stats": {{"models": {{"gemini-9": {{"tokens": used}}}}}}}}
    if told:
        done = {{"error": {{"type": "Error", "message": told, "code": 1}}}}
    print("Loaded cached credentials.", file=sys.stderr)
    print(json.dumps(done, indent=2), file=sys.stderr if told else sys.stdout)
    return 1 if told else 0

def opencode():
    told = {{"limit": 429, "login": 401, "model": 404, "down": 503}}.get(trouble)
    if told:
        data = {{"message": "it said " + trouble, "statusCode": told}}
        lines({{"type": "error", "error": {{"name": "APIError", "data": data}}}})
        return 1
    for part, reason in (("I looked", "tool-calls"), (text, "stop")):
        lines({{"type": "step_start", "part": {{}}}}, {{"type": "text", "part": {{"text": part}}}})
        tokens = {{"input": 5, "output": 3, "reasoning": 0, "cache": {{"read": 40, "write": 10}}}}
        if reason == "stop":
            tokens["reasoning"] = 1
        lines({{"type": "step_finish", "part": {{"reason": reason, "tokens": tokens, "cost": 99}}}})

def aider():
    told = {{
        "limit": "litellm.RateLimitError: RateLimitError: slow down",
        "login": "litellm.AuthenticationError: no such key",
        "model": "litellm.NotFoundError: no such model",
        "down": "litellm.InternalServerError: overloaded",
    }}.get(trouble)
    print("Aider v1.2.3")
    if told:
        print(told)
        return 0
    print(text)
    print("Tokens: 30 sent, 80 cache hit, 7 received. Cost: $99 message, $99 session.")

sys.exit(globals()[{function!r}]())
"""


def write_program(folder: Path, kind: str) -> Path:
    """Write the program that stands for a CLI into a folder; gives the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    plan = a_plan(TARGET, "src/work.py::LIMIT = 500")
    answers: dict[str, Any] = {str(role): each for role, each in ANSWERS.items()}
    answers["planner"] = plan
    text = PROGRAM.format(
        python=sys.executable,
        kind=kind,
        answers=json.dumps(answers),
        target=TARGET,
        function=PROGRAMS[kind],
    )
    program = folder / PROGRAMS[kind]
    program.write_text(text)
    program.chmod(0o755)
    return folder
