"""The interview's questions in a terminal, by click."""

from __future__ import annotations

from selfimprove.setup.interview import Question


def ask(question: Question) -> str:
    """Show what was found and prompt; an empty line takes the default."""
    import click

    for choice in question.choices:
        click.echo(f"  {choice}", err=True)
    answer: str = click.prompt(
        f"{question.topic}: {question.text}", default=question.default, err=True, type=str
    )
    return answer


def show(line: str) -> None:
    """A line on standard error: progress, not the answer."""
    import click

    click.echo(line, err=True)
