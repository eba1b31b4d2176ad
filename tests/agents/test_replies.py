from __future__ import annotations

from pathlib import Path

from selfimprove.agents.replies import KeptReply, ReplyStore, request_key
from selfimprove.contracts.agent import AgentReply, Usage
from selfimprove.testing import a_request


def kept(key: str, commit: str = "") -> KeptReply:
    reply = AgentReply(output={"summary": "ü"}, usage=Usage(usd=0.5), transcript="said")
    return KeptReply(key=key, spec="offline", session_id="s", reply=reply, commit=commit)


def test_the_key_is_the_request_s_and_the_agent_s() -> None:
    one = a_request("critic", plan={"a": 1, "b": [{"c": 2, "d": 3}]})
    same = a_request("critic", plan={"b": [{"d": 3, "c": 2}], "a": 1})
    assert request_key(one, "offline") == request_key(same, "offline")
    others = {
        request_key(one, "offline"),
        request_key(one, "command:x"),
        request_key(a_request("critic", 2, plan=one.context["plan"]), "offline"),
        request_key(a_request("critic", plan={"a": 2}), "offline"),
        request_key(a_request("critic", plan={"a": 1}, feedback="again"), "offline"),
    }
    assert len(others) == 5


def test_a_kept_reply_comes_back_whole(tmp_path: Path) -> None:
    key = request_key(a_request("executor"), "offline")
    ReplyStore(tmp_path / "replies").put(kept(key, "a" * 40))
    assert ReplyStore(tmp_path / "replies").get(key) == kept(key, "a" * 40)
    assert [path.name for path in (tmp_path / "replies").iterdir()] == [f"{key}.json"]


def test_what_is_not_there_or_damaged_is_asked_again(tmp_path: Path) -> None:
    store = ReplyStore(tmp_path)
    assert store.get("0" * 64) is None
    store.put(kept("1" * 64))
    path = tmp_path / f"{'1' * 64}.json"
    path.write_bytes(path.read_bytes()[:-20])
    assert store.get("1" * 64) is None
    store.put(kept("2" * 64))
    (tmp_path / f"{'2' * 64}.json").rename(tmp_path / f"{'3' * 64}.json")
    assert store.get("3" * 64) is None
    store.drop("1" * 64)
    assert not path.exists()
