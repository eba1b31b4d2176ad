"""A command agent that improves, and misbehaves as its first word says; run by its path."""

import json
import pathlib
import re
import sys
import time

how = sys.argv[1]
role_of_trouble = sys.argv[2] if len(sys.argv) > 2 else "planner"
request = json.load(sys.stdin)
troubled = request["role"] == role_of_trouble


def answer():
    if request["role"] == "planner":
        return {
            "hypothesis": "Halving LIMIT should improve the score because it is the score",
            "approach_family": request["context"]["family"][0],
            "target_files": ["src/conf.py"],
            "steps": [{"step": 1, "file": "src/conf.py", "change": f"halve {request['round']}"}],
            "expected_outcome": {
                "metric": "score",
                "estimated_impact": "50%",
                "rationale": "it is the score",
            },
        }
    if request["role"] == "executor":
        place = pathlib.Path("src/conf.py")
        limit = int(re.search(r"\d+", place.read_text())[0])
        place.write_text(f"LIMIT = {limit // 2}\n")
        return {"summary": "halved"}
    return {
        "researcher": {"repo_analysis_summary": "small", "ideas": []},
        "architect": {"verdict": "approve"},
        "critic": {"score": 1.0},
    }[request["role"]]


if troubled:
    if how == "prose":
        print('Let me think {about "it"} first.\n```json')
        print(json.dumps(answer(), indent=2))
        print("```\nI hope that this helps.")
        sys.exit()
    if how == "silent":
        sys.exit()
    if how == "flood":
        for _ in range(100):
            sys.stdout.write("x" * (1 << 20))
        sys.exit()
    if how == "flood-then-answer":
        for _ in range(100):
            sys.stdout.write("x" * (1 << 20))
        print()
    if how == "huge-answer":
        print(json.dumps(answer() | {"hypothesis": "x" * (9 << 20)}))
        sys.exit()
    if how == "endless":
        time.sleep(600)
    if how == "babbling":
        while True:
            print("still thinking", flush=True)
            time.sleep(0.01)
    if how == "dies":
        print("the licence has run out", file=sys.stderr)
        sys.exit(7)
    if how == "binary":
        sys.stdout.buffer.write(bytes(range(256)) * 100)
        sys.exit()
print(json.dumps(answer()))
