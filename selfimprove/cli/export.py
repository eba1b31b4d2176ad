"""`selfimprove export`: what other programs read."""

from __future__ import annotations

import click

from selfimprove.cli.lazy import LazyGroup


@click.group(
    "export",
    cls=LazyGroup,
    table={
        "schema": ("selfimprove.cli.export_schema", "JSON Schema of every document."),
        "otel": ("selfimprove.cli.export_otel", "A run's spans, to an OpenTelemetry collector."),
    },
)
def command() -> None:
    """What other programs read.

    \b
    Example:
      selfimprove export schema > schema.json
    """
