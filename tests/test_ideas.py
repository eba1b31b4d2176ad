from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from selfimprove.ideas import append_idea, normal_idea, read_ideas
from selfimprove.resources import text as resource

TEXT = """\
# Ideas
- [ ] Cache   the schema
  between calls
  - keyed by version
* `a.py::N = 1, 2`
1. Use a heap

A paragraph counts
as one.

```
b.py::M = true
c.py::K = 3
```
<!-- - not this one -->
- Use a heap
"""


def test_items_paragraphs_and_code() -> None:
    assert read_ideas(TEXT) == [
        "Cache the schema between calls - keyed by version",
        "`a.py::N = 1, 2`",
        "Use a heap",
        "A paragraph counts as one.",
        "b.py::M = true",
        "c.py::K = 3",
    ]
    assert read_ideas(TEXT.replace("\n", "\r\n")) == read_ideas(TEXT)


def test_the_template_holds_no_idea_and_takes_some() -> None:
    template = resource("templates/idea.md")
    assert read_ideas(template) == []
    text = append_idea(append_idea(template, "one"), "two\nlines")
    assert text.startswith(template)
    assert read_ideas(text) == ["one", "two lines"]


def test_the_same_idea_is_not_added_twice_and_an_empty_one_never() -> None:
    text = append_idea("", "one")
    assert append_idea(text, "  one ") == text
    assert append_idea(text, "---") == text


def test_an_open_fence_does_not_swallow_an_idea() -> None:
    assert "new" in read_ideas(append_idea("# x\n```\nopen", "new"))
    assert "new" in read_ideas(append_idea("# x\n<!-- open", "new"))


@given(st.lists(st.text(), max_size=4))
def test_what_is_appended_is_read(ideas: list[str]) -> None:
    text = "# Ideas\n"
    for idea in ideas:
        text = append_idea(text, idea)
        if normal_idea(idea):
            assert normal_idea(idea) in read_ideas(text)
    assert len(read_ideas(text)) >= len({normal_idea(idea) for idea in ideas} - {""})


@given(st.text())
def test_normal_form_is_stable(text: str) -> None:
    assert normal_idea(normal_idea(text)) == normal_idea(text)
