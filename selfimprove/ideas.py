"""config/idea.md: ideas that a person leaves for the planners, a list item each."""

from __future__ import annotations

import re

from selfimprove.markdown import normal_text, tokens_of, without_comments, without_front_matter

_MARKER = re.compile(r"^\s*(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
_CHECKBOX = re.compile(r"^\[[ xX]\]\s+")


def normal_idea(text: str) -> str:
    """An idea in the form in which it is compared and recorded: one line, no stray white space."""
    words = " ".join(_CHECKBOX.sub("", text.strip()).split())
    return words if re.search(r"\w", words) else ""


def read_ideas(text: str) -> list[str]:
    """The ideas of an idea.md, each once, in order: list items, paragraphs, lines of code.

    Headings and comments are not ideas. What belongs to an item (more lines, a nested list)
    belongs to its idea.
    """
    text = without_front_matter(normal_text(text))
    lines = text.split("\n")
    ideas: list[str] = []
    for token in tokens_of(text):
        if not token.map:
            continue
        source = "\n".join(lines[slice(*token.map)])
        if token.type == "list_item_open" and token.level == 1:
            ideas.append(_MARKER.sub("", without_comments(source), count=1))
        elif token.type == "paragraph_open" and token.level == 0:
            ideas.append(without_comments(source))
        elif token.type in ("fence", "code_block") and token.level == 0:
            ideas.extend(token.content.split("\n"))
    return list(dict.fromkeys(idea for raw in ideas if (idea := normal_idea(raw))))


def append_idea(text: str, idea: str) -> str:
    """The file with one more idea; unchanged when it is there already, or says nothing."""
    words = normal_idea(idea)
    if not words or words in read_ideas(text):
        return text
    before = normal_text(text)
    after = f"{before}- {words}\n"
    if words in read_ideas(after):
        return after
    return f"- {words}\n\n{before}"  # something above (an open fence or comment) swallows the end
