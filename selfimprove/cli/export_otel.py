"""`selfimprove export otel`: a run's spans, from its journal."""

from __future__ import annotations

import click

from selfimprove.cli.common import Where, repo_argument, where_options


@click.command("otel")
@repo_argument
@where_options
def command(where: Where) -> None:
    """Send a run's spans to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names.

    A run sends them itself, as they come, where that variable is set. Their ids follow from the
    journal: sent again, they are the same spans.

    \b
    Example:
      OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 selfimprove export otel
    """
    from selfimprove.process import base_env
    from selfimprove.report.telemetry import Telemetry, exported
    from selfimprove.store.record import load_state

    layout = where.layout()
    redact = load_state(layout).config.get("redact", ())
    sent = exported(Telemetry(base_env(), layout, redact))
    click.echo(f"{sent} spans were sent")
