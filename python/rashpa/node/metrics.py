# SPDX-License-Identifier: Apache-2.0
"""The counters of a node as Prometheus metrics; made anew from the engine's status at each scrape, so that they cannot disagree with it."""

from collections.abc import Callable, Iterator
from functools import cache

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.registry import Collector

from rashpa.control.machine import machine_facts
from rashpa.control.telegram import BufferStatus, DestinationStatus, SourceStatus, Status, count_of


class NodeMetrics(Collector):
    """`rashpa_frames_total`, `rashpa_bytes_received_total`, `rashpa_stack_ready_seconds`, … of one node."""

    def __init__(self, status: Callable[[], Status], version: str) -> None:
        self._status = status
        self._version = version
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def describe(self) -> list[Metric]:
        """Nothing ahead of the first scrape."""
        return []

    def text(self) -> bytes:
        """The exposition format."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        status = self._status()
        yield InfoMetricFamily(
            "rashpa_build", "What this node is made of", value={"version": self._version, "commit": _commit()}
        )
        state = GaugeMetricFamily("rashpa_state", "1 for the state that the node is in", labels=["role", "state"])
        state.add_metric([status.role, status.state], 1)
        yield state
        if status.source is not None:
            yield from _source_metrics(status.source)
        if status.destination is not None:
            yield from _destination_metrics(status.destination)


@cache
def _commit() -> str:
    return str(machine_facts().get("commit", ""))


def _source_metrics(source: SourceStatus) -> Iterator[Metric]:
    images = CounterMetricFamily(
        "rashpa_images_sent", "Images of a DTP that were sent or skipped", labels=["dtp", "state", "emulator"]
    )
    sent = CounterMetricFamily("rashpa_bytes_sent", "Payload", labels=["dtp", "emulator"])
    notifications = CounterMetricFamily(
        "rashpa_congestion_notifications", "Received from the destination", labels=["dtp", "emulator"]
    )
    for dtp in source.dtps:
        images.add_metric([str(dtp.id), "sent", source.emulator], dtp.images_sent)
        images.add_metric([str(dtp.id), "skipped", source.emulator], dtp.images_skipped)
        sent.add_metric([str(dtp.id), source.emulator], dtp.payload_bytes)
        notifications.add_metric([str(dtp.id), source.emulator], dtp.cnps_received)
    injected = CounterMetricFamily("rashpa_injected", "Faults injected on purpose", labels=["fault", "emulator"])
    for name, value in count_of(source.counts, "injected").items():
        injected.add_metric([name, source.emulator], value)
    yield from (images, sent, notifications, injected)


def _destination_metrics(destination: DestinationStatus) -> Iterator[Metric]:
    frames = CounterMetricFamily(
        "rashpa_frames",
        "Books: images of a buffer (module empty), and what arrived of them by module and DTP",
        labels=["state", "module", "buffer", "dtp", "receiver"],
    )
    for buffer in destination.buffers:
        _add_frames(frames, buffer, destination.receiver)
    yield frames
    link = count_of(destination.counts, "link")
    yield CounterMetricFamily(
        "rashpa_bytes_received", "Payload accepted into buffers", value=link.get("payload_bytes", 0)
    )
    packets = CounterMetricFamily("rashpa_packets", "What the link counted", labels=["counter"])
    for name, value in link.items():
        if name != "payload_bytes":
            packets.add_metric([name], value)
    yield packets
    written = CounterMetricFamily("rashpa_bytes_stored", "Bytes that went to storage", labels=["buffer", "receiver"])
    for buffer in destination.buffers:
        written.add_metric([buffer.name, destination.receiver], buffer.bytes_stored)
    yield written
    errored = CounterMetricFamily(
        "rashpa_images_errored", "Images that should have been kept, by reason", labels=["reason", "buffer", "receiver"]
    )
    waiting = GaugeMetricFamily(
        "rashpa_images_to_write", "Images that wait for the sinks", labels=["buffer", "receiver"]
    )
    for buffer in destination.buffers:
        for reason, value in count_of(buffer.counts, "error").items():
            errored.add_metric([reason, buffer.name, destination.receiver], value)
        waiting.add_metric([buffer.name, destination.receiver], buffer.to_write)
    yield from (errored, waiting)
    of_sinks = CounterMetricFamily(
        "rashpa_sink_images", "Books of each sink: images by state", labels=["state", "sink", "buffer", "receiver"]
    )
    queued = GaugeMetricFamily(
        "rashpa_sink_images_waiting", "Images that a sink has not settled yet", labels=["sink", "buffer", "receiver"]
    )
    for buffer in destination.buffers:
        for sink in buffer.sinks:
            for state in ("accepted", "written", "dropped", "errored"):
                of_sinks.add_metric([state, sink.name, buffer.name, destination.receiver], getattr(sink, state))
            queued.add_metric([sink.name, buffer.name, destination.receiver], sink.waiting)
    yield from (of_sinks, queued)
    # the engine keeps percentiles, not buckets; a summary says what is known
    for stage in ("ready", "decision", "written"):
        yield _latency_metric(f"rashpa_stack_{stage}_seconds", stage, destination)


def _add_frames(frames: CounterMetricFamily, buffer: BufferStatus, receiver: str) -> None:
    books = buffer.books
    for state in ("complete", "partial", "missing", "accepted", "vetoed", "errored", "written", "expected"):
        frames.add_metric([state, "", buffer.name, "", receiver], getattr(books, state))
    for dtp in buffer.dtps:
        for state in ("complete", "partial", "missing"):
            frames.add_metric([state, str(dtp.module), buffer.name, str(dtp.id), receiver], getattr(dtp, state))


def _latency_metric(name: str, stage: str, destination: DestinationStatus) -> Metric:
    family = SummaryMetricFamily(name, f"From the last packet of a stack to {stage}", labels=["buffer", "receiver"])
    for buffer in destination.buffers:
        labels = {"buffer": buffer.name, "receiver": destination.receiver}
        for latency in (latency for latency in buffer.latencies if latency.stage == stage):
            family.add_sample(f"{name}_count", labels, latency.count)
            for quantile, value in (("0.5", latency.p50), ("0.99", latency.p99), ("1", latency.max)):
                family.add_sample(name, {**labels, "quantile": quantile}, value / 1e6)
    return family
