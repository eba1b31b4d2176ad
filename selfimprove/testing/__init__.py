"""What users and tests share: scripted agents, repositories to improve, conformance suites."""

from selfimprove.testing.documents import a_plan, a_request, a_skill
from selfimprove.testing.repository import Repository, build_repository, goal_text
from selfimprove.testing.scripts import edits, failing, script

__all__ = [
    "Repository",
    "a_plan",
    "a_request",
    "a_skill",
    "build_repository",
    "edits",
    "failing",
    "goal_text",
    "script",
]
