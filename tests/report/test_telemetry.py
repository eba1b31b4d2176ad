"""Spans of whole runs, as a collector on this machine takes them."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from selfimprove.cli import main
from selfimprove.contracts.iteration import STEPS
from selfimprove.process import StopToken, base_env
from selfimprove.report import telemetry
from selfimprove.report.telemetry import CONTENT, Telemetry, exported, sending
from selfimprove.report.tracing import nanoseconds
from selfimprove.store.fold import fold_one
from selfimprove.store.journal import read_segment, segment_numbers
from selfimprove.store.layout import Layout
from selfimprove.store.state import State
from selfimprove.testing import failing
from selfimprove.testing.collector import Collector, TakenSpan
from selfimprove.testing.models import ModelServer, Prices
from selfimprove.testing.models.brains import lowering, playing, setting
from selfimprove.testing.models.server import KEY, MODEL
from selfimprove.testing.rehearsal import Rehearsal, stopping

pytestmark = pytest.mark.long
Stage = Callable[..., Rehearsal]
ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
SECRET = "sk-ant-" + "abcdefghijklmnopqrstuvwxyz"


def sent(play: Rehearsal, url: str = "", stop: StopToken | None = None, **flags: Any) -> list[str]:
    """Run while spans are sent; gives what a person is told of it."""
    told: list[str] = []
    environ = base_env() | ({ENDPOINT: url} if url else {})
    with sending(Telemetry(environ, play.layout), told.append) as readers:
        play.run(readers, stop, **flags)
    return told


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with Collector() as found:
        monkeypatch.setenv(ENDPOINT, found.url)
        yield found


@pytest.fixture(scope="module")
def ran(module_stage: Stage) -> Iterator[tuple[Rehearsal, Collector]]:
    """Two rounds, watched; the second one's researcher gives no answer."""
    brief = {"repo_analysis_summary": f"it says {SECRET}", "ideas": []}
    play = module_stage(researcher=[brief, failing("output", "prose alone")])
    with Collector() as found, pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENDPOINT, found.url)
        assert sent(play, max_iterations=2) == []
        yield play, found


def roots(collector: Collector) -> list[TakenSpan]:
    found = [span for span in collector.spans if not span.parent]
    return sorted(found, key=lambda span: span.begun)


def names(spans: list[TakenSpan]) -> list[str]:
    return [span.name for span in spans]


def asked(collector: Collector) -> list[TakenSpan]:
    return [span for span in collector.spans if span.name.startswith("invoke_agent ")]


def keys(collector: Collector) -> set[tuple[Any, ...]]:
    return {
        (span.trace, span.id, span.parent, span.name, span.begun, span.ended)
        for span in collector.spans
    }


def exporting(layout: Layout) -> int:
    return exported(Telemetry(base_env(), layout))


def test_a_run_is_one_tree_of_rounds_steps_and_effects(ran: tuple[Rehearsal, Collector]) -> None:
    _, collector = ran
    setup, root = roots(collector)
    assert [setup.name, root.name] == ["selfimprove.setup", "selfimprove.run"]
    assert names(collector.children(setup))[:3] == ["benchmark.run"] * 3
    assert names(collector.children(root)) == ["round 1", "round 2"]
    first, _ = collector.children(root)
    assert names(collector.children(first)) == list(STEPS)
    planning, execution, tournament = (collector.children(first)[k] for k in (1, 3, 4))
    planners = ["invoke_agent planner_a", "invoke_agent planner_b"]
    assert sorted(names(collector.children(planning))) == planners
    assert names(collector.children(execution))[-2:] == ["benchmark.run"] * 2
    assert "benchmark.pair" in names(collector.children(tournament))
    assert "git.publish" in names(collector.children(tournament))
    assert {span.trace for span in collector.spans} == {setup.trace, root.trace}
    assert len({span.id for span in collector.spans}) == len(collector.spans)


def test_each_span_lies_within_the_one_above_it(ran: tuple[Rehearsal, Collector]) -> None:
    _, collector = ran
    above = {span.id: span for span in collector.spans}
    for span in collector.spans:
        assert span.begun <= span.ended
        if span.parent:
            assert above[span.parent].begun <= span.begun
            assert span.ended <= above[span.parent].ended


def test_moments_and_calls_are_those_of_run_json(ran: tuple[Rehearsal, Collector]) -> None:
    play, collector = ran
    report = play.document("state/run.json")
    assert len(asked(collector)) == report["totals"]["calls"] == len(play.calls)
    begun = {nanoseconds(span["started_at"]) for span in report["spans"] if "agent" in span}
    assert begun <= {span.begun for span in asked(collector)}


def test_what_a_run_is_and_came_to_stands_on_it(ran: tuple[Rehearsal, Collector]) -> None:
    play, collector = ran
    _, root = roots(collector)
    told = {name.removeprefix("selfimprove."): value for name, value in root.attributes.items()}
    assert told["run.id"] == play.document("state/run.json")["run_id"]
    assert (told["status"], told["rounds"], told["wins"]) == ("max_iterations", 2, 2)
    assert told["score"] == 84.0
    first = collector.children(root)[0].attributes
    assert first["selfimprove.winner"] == "round_1_planner_a"
    assert collector.resources[0]["service.name"] == "selfimprove"


def test_decisions_stand_on_their_step(ran: tuple[Rehearsal, Collector]) -> None:
    _, collector = ran
    reviewed = next(span for span in collector.spans if span.name == "critic_review")
    gates = [event.attributes for event in reviewed.events if event.name == "gate"]
    assert gates == [
        {"selfimprove.planner": f"planner_{k}", "selfimprove.decision": "commit"} for k in "ab"
    ]
    assert reviewed.begun <= reviewed.events[0].at <= reviewed.ended


def test_a_call_without_an_answer_is_an_error(ran: tuple[Rehearsal, Collector]) -> None:
    _, collector = ran
    failed = [span for span in collector.spans if span.failed]
    assert names(failed) == ["invoke_agent researcher"] * 2
    assert {span.attributes["error.type"] for span in failed} == {"output"}


def test_what_was_said_is_sent_to_nobody(ran: tuple[Rehearsal, Collector]) -> None:
    _, collector = ran
    everything = str([(span.attributes, span.events) for span in collector.spans])
    for words in ("it says", "messages", "lowering src/a", "prose alone", "should"):
        assert words not in everything


def test_answers_are_sent_where_asked_for_and_without_secrets(
    ran: tuple[Rehearsal, Collector], collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    play, _ = ran
    monkeypatch.setenv(CONTENT, "true")
    reply = next(path for path in play.layout.replies.glob("*.json") if "it says" in text_of(path))
    assert SECRET not in text_of(reply)
    reply.write_text(text_of(reply).replace("it says ***", f"it says {SECRET}"))
    exporting(play.layout)
    said = [span.attributes.get("gen_ai.output.messages", "") for span in asked(collector)]
    assert sum(bool(each) for each in said) == len(said) - 2
    assert any("it says ***" in each for each in said)
    assert SECRET not in str(said)


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_sent_again_they_are_the_same_spans(
    ran: tuple[Rehearsal, Collector], collector: Collector, capsys: pytest.CaptureFixture[str]
) -> None:
    play, live = ran
    assert main(["export", "otel", str(play.repository.path)]) == 0
    assert capsys.readouterr().out == f"{len(live.spans)} spans were sent\n"
    assert keys(collector) == keys(live)


def test_the_command_sends_them(
    stage: Stage, collector: Collector, capsys: pytest.CaptureFixture[str]
) -> None:
    play = stage(settings={"number_of_agents": 1})
    play.layout.settings.parent.mkdir(parents=True)
    play.layout.settings.write_text('{"sandbox": {"mode": "off"}}')
    place = [str(play.repository.path), "--trees", str(play.trees)]
    words = ["--agent", play.spec, "--agents", "1", "--max-iterations", "1", "--yes"]
    assert main(["run", *place, *words]) == 0
    assert names(roots(collector)) == ["selfimprove.setup", "selfimprove.run"]
    assert "spans" not in capsys.readouterr().err


def test_a_run_that_goes_on_is_another_trace(stage: Stage, collector: Collector) -> None:
    stop = StopToken()
    play = stage()
    halt = stopping(stop, lambda each: each.payload.get("step") == "execution")
    with sending(Telemetry(base_env(), play.layout), print) as readers:
        play.run([*readers, halt], stop, max_iterations=1)
    assert sent(play, max_iterations=1) == []
    setup, first, second = roots(collector)
    assert first.trace != second.trace
    assert first.attributes["selfimprove.status"] == "user_stopped"
    (round_,) = [span for span in collector.children(second) if span.name == "round 1"]
    assert round_.attributes["selfimprove.resumed"] is True
    assert names(collector.children(round_))[0] == "execution"
    assert round_.begun >= second.begun
    assert {span.trace for span in collector.spans} == {setup.trace, first.trace, second.trace}
    ids = {span.id for span in collector.spans}
    assert [span.name for span in collector.spans if span.parent and span.parent not in ids] == []
    live = keys(collector)
    collector.spans.clear()
    exporting(play.layout)
    assert keys(collector) == live


def test_of_a_killed_run_the_journal_still_makes_whole_traces(
    ran: tuple[Rehearsal, Collector], collector: Collector, tmp_path: Path
) -> None:
    """The journal of a process that was killed between a question and its answer."""
    play, live = ran
    cut = Layout(tmp_path)
    cut.journal.mkdir(parents=True)
    for number in (0, 1):
        data = play.layout.segment(number).read_bytes().splitlines(keepends=True)
        upto = len(data)
        if number == 1:
            upto = 1 + next(
                n for n, e in enumerate(data) if b'"tool_call"' in e and b'"planner_b"' in e
            )
        cut.segment(number).write_bytes(b"".join(data[:upto]))
    sent_now = exporting(cut)
    assert sent_now == len(collector.spans) < len(live.spans)
    setup, root = roots(collector)
    assert [setup.id, root.id] == [span.id for span in roots(live)]
    assert not setup.failed
    broken = [span.name for span in collector.spans if span.attributes.get("error.type")]
    assert "invoke_agent planner_b" in broken
    assert "selfimprove.run" in broken
    last = read_segment(cut.segment(1))[-1]
    assert root.ended == nanoseconds(last.timestamp)


def test_of_a_set_up_nothing_is_said_to_last_until_the_run(
    stage: Stage, collector: Collector
) -> None:
    """One process sets up, as `init` does, and sends nothing; another runs, much later."""
    play = stage()
    play.run(max_iterations=0)
    lines = read_segment(play.layout.segment(0))
    assert sent(play, max_iterations=1) == []
    live = keys(collector)
    assert names(roots(collector)) == ["selfimprove.run"]
    collector.spans.clear()
    exporting(play.layout)
    setup, *_, run = roots(collector)
    assert live <= keys(collector)
    assert setup.ended <= nanoseconds(lines[-1].timestamp) <= run.begun


def test_what_agents_of_the_set_up_spent_belongs_to_it(
    ran: tuple[Rehearsal, Collector], collector: Collector
) -> None:
    """A question of set-up is booked afterwards: there is a result, and no moment of its own."""
    layout = ran[0].layout
    answered = next(e for e in read_segment(layout.segment(1)) if e.type == "tool_result")
    told: list[str] = []
    with sending(Telemetry(base_env(), layout), told.append) as (reader,):
        state = State()
        for envelope in read_segment(layout.segment(0)):
            state = fold_one(state, envelope)
            reader(envelope, state)
            if envelope.payload.get("event") == "trusted":
                about = {"correlation_id": "setup/clarify_1", "timestamp": envelope.timestamp}
                reader(answered.model_copy(update=about), state)
    assert told == []
    (setup,) = roots(collector)
    asked_ = collector.children(setup)[0]
    assert asked_.name.startswith("invoke_agent ")
    assert asked_.begun == asked_.ended


def test_rounds_that_were_pruned_are_left_out(
    stage: Stage, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    play = stage()
    play.run(max_iterations=3)
    place = [str(play.repository.path), "--trees", str(play.trees)]
    assert main(["prune", *place, "--keep", "1"]) == 0
    assert segment_numbers(play.layout.journal) == [3]
    exporting(play.layout)
    (root,) = roots(collector)
    assert names(collector.children(root)) == ["round 3"]


def test_models_are_told_in_the_words_of_the_conventions(
    stage: Stage, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    price = {"input": 3.0, "output": 15.0, "cache_read": 0.3, "cache_write": 3.75}
    roles = ("researcher", "planner", "architect", "critic", "executor")
    with ModelServer(playing(planner=lowering, executor=setting), prices=Prices(**price)) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        settings = {f"agents.{role}": f"anthropic:{MODEL}" for role in roles}
        play = stage(settings={**settings, "prices": {MODEL: price}, "number_of_agents": 1})
        assert sent(play, max_iterations=1) == []
    spans = asked(collector)
    totals = play.document("state/run.json")["totals"]

    def total(name: str) -> float:
        return sum(span.attributes[name] for span in spans)

    assert total("gen_ai.usage.input_tokens") == totals["input_tokens"] > 0
    assert total("gen_ai.usage.input_tokens") == server.ledger.input_tokens
    assert total("gen_ai.usage.output_tokens") == totals["output_tokens"]
    assert total("selfimprove.usd") == pytest.approx(totals["usd"])
    assert total("selfimprove.calls") == totals["calls"]
    told = spans[0].attributes
    assert told["gen_ai.provider.name"] == told["gen_ai.system"] == "anthropic"
    assert told["gen_ai.request.model"] == MODEL
    assert told["gen_ai.operation.name"] == "invoke_agent"
    assert told["gen_ai.agent.name"] == "researcher"
    assert told["gen_ai.conversation.id"].endswith("/round_1/researcher")
    assert {span.kind for span in spans} == {3}  # CLIENT


def test_headers_and_names_are_the_users_own(
    ran: tuple[Rehearsal, Collector],
    collector: Collector,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=blue")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "mine")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment=lab")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
    exporting(ran[0].layout)
    assert collector.headers[0]["x-team"] == "blue"
    assert collector.resources[0]["service.name"] == "mine"
    assert collector.resources[0]["deployment"] == "lab"
    assert len(collector.spans) == len(ran[1].spans)
    assert capfd.readouterr().err == ""


def dead() -> str:
    """An address where nobody listens."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{found.getsockname()[1]}"


def test_a_dead_collector_costs_a_short_wait_and_a_line(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(ENDPOINT, dead())
    monkeypatch.setattr(telemetry, "FLUSH_S", 1.0)
    play = stage()
    ended: list[float] = []
    with sending(Telemetry(base_env(), play.layout), play.said.append) as readers:
        assert play.run(readers, max_iterations=1).state.wins_total == 1
        ended.append(time.monotonic())
    assert time.monotonic() - ended[0] < 4
    assert "spans were not sent" in play.said[-1]
    assert f"is the collector of {ENDPOINT} there?" in play.said[-1]
    assert sum("spans" in line for line in play.said) == 1
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("trouble", [{"delay": 30.0}, {"status": 500}, {"status": 403}])
def test_a_collector_that_dawdles_or_refuses_is_no_worse(
    ran: tuple[Rehearsal, Collector],
    monkeypatch: pytest.MonkeyPatch,
    trouble: dict[str, Any],
) -> None:
    monkeypatch.setattr(telemetry, "FLUSH_S", 1.0)
    with Collector(**trouble) as collector:
        monkeypatch.setenv(ENDPOINT, collector.url)
        told: list[str] = []
        begun = time.monotonic()
        with sending(Telemetry(base_env(), ran[0].layout), told.append) as (reader,):
            replay(reader, ran[0].layout)
        assert time.monotonic() - begun < 5
    (line,) = told
    assert f"{len(ran[1].spans)} of {len(ran[1].spans)} spans were not sent: " in line


def replay(reader: Any, layout: Layout) -> None:
    """Give a reader the messages of a run that has ended."""
    state = State()
    for number in segment_numbers(layout.journal):
        for envelope in read_segment(layout.segment(number)):
            state = fold_one(state, envelope)
            reader(envelope, state)


def test_export_to_nobody_fails_in_words(
    ran: tuple[Rehearsal, Collector],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    where = ["export", "otel", str(ran[0].repository.path)]
    assert main(where) == 3
    assert f"no collector is named; set {ENDPOINT}=" in capsys.readouterr().err
    with Collector(status=403) as collector:
        monkeypatch.setenv(ENDPOINT, collector.url)
        assert main(where) == 1
    assert "spans were not sent" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({}, ""),
        ({ENDPOINT: ""}, ""),
        ({ENDPOINT: "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"}, ""),
        ({ENDPOINT: "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"}, ""),
        (
            {ENDPOINT: "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            "'grpc' is not spoken; set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
        ),
        (
            {ENDPOINT: "http://127.0.0.1:1", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "9999"},
            f"{ENDPOINT} is set, and no spans are sent: ",
        ),
    ],
)
def test_nothing_is_sent_where_nobody_asks_or_it_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], told: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    said: list[str] = []
    with sending(Telemetry(dict(os.environ), Layout(tmp_path)), said.append) as readers:
        assert list(readers) == []
    assert [told in line for line in said] == ([True] if told else [])


def test_without_the_extra_a_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, collector: Collector
) -> None:
    monkeypatch.setitem(sys.modules, "selfimprove.report.otlp", None)
    said: list[str] = []
    with sending(Telemetry(base_env(), Layout(tmp_path)), said.append) as readers:
        assert list(readers) == []
    (line,) = said
    assert line.startswith(f"{ENDPOINT} is set, and no spans are sent: ")
    assert line.endswith("; pip install 'selfimprove[otel]'")
