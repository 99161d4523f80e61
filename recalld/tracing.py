"""Sends spans to an OpenTelemetry collector, where the settings name one."""

from __future__ import annotations

from collections.abc import Callable

from recalld import __version__
from recalld.errors import ConfigError
from recalld.settings import NodeSettings, TracingSettings


def configure(settings: TracingSettings, node: NodeSettings) -> Callable[[], None]:
    """Begin to send spans; return what sends the last of them and ends it. Raises ConfigError without the extra."""
    if not settings.endpoint:
        return lambda: None
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise ConfigError(
            f"tracing.endpoint needs OpenTelemetry's SDK: {error}",
            suggestion="install recalld with the extra tracing: recalld[tracing]",
        ) from error
    facts = {"service.name": "recalld", "service.version": __version__, "service.instance.id": node.name}
    provider = TracerProvider(resource=Resource.create(facts))
    exporter = OTLPSpanExporter(endpoint=settings.endpoint, timeout=settings.timeout_s)
    delay_ms = settings.every_s * 1_000
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=delay_ms))
    trace.set_tracer_provider(provider)
    return provider.shutdown
