# SPDX-License-Identifier: Apache-2.0
"""Exposes the counters of a node as Prometheus metrics. They are computed from the engine's status at each scrape, so that they always agree with it."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from rashpa.control.nodes.machine import machine_facts
from rashpa.control.telegrams.latency import BOUNDS_S
from rashpa.control.telegrams.telegram import (
    BufferStatus,
    DestinationStatus,
    GroupStatus,
    Latency,
    SinkStatus,
    SourceDtpStatus,
    SourceStatus,
    Status,
    count_of,
)
from rashpa.node.door.metric_list import METRICS
from rashpa.node.door.request_counts import ORDER_BOUNDS_S, RequestCounts
from rashpa.node.host.load import load

_INFINITY = "+Inf"
_OF_BOOKS = ("complete", "partial", "missing", "accepted", "vetoed", "errored", "written", "expected")
_OF_FEEDBACK = ("published", "sent", "dropped")
_OF_IMAGES = frozenset({"published", "sent"})  # latencies of images; all others are of stacks
_OF_SINK = ("accepted", "written", "dropped", "errored")
_OF_SOURCE_DTP = {
    "rashpa_images_due_total": "images_due",
    "rashpa_bytes_sent_total": "payload_bytes",
    "rashpa_packets_sent_total": "packets",
    "rashpa_part_events_sent_total": "part_events",
    "rashpa_send_waits_total": "waits",
    "rashpa_window_timeouts_total": "window_timeouts",
    "rashpa_congestion_notifications_total": "cnps_received",
    "rashpa_credits_refused_total": "credits_refused",
    "rashpa_send_errors_total": "send_errors",
    "rashpa_acknowledgements_total": "acks",
    "rashpa_packets_retransmitted_total": "retransmitted_packets",
    "rashpa_retransmission_timeouts_total": "retransmission_timeouts",
    "rashpa_connection_errors_total": "connection_errors",
}


class Families:
    """Collects samples by metric of `metric_list`. Raise KeyError for a metric that is not in the list."""

    def __init__(self) -> None:
        self._families: dict[str, Metric] = {}

    def __iter__(self) -> Iterator[Metric]:
        return iter(self._families.values())

    def add(self, name: str, value: float, *labels: object) -> None:
        """Add a sample; `labels` are the values of the labels, in the order of the list."""
        self._family(name).add_sample(name, self._labels(name, labels), value)

    def add_histogram(self, name: str, below: Mapping[float, int], count: int, total: float, *labels: object) -> None:
        """Add a histogram. `below`: for each bound, the number of values up to it; `count` and `total`: the number and the sum of all values."""
        family, own = self._family(name), self._labels(name, labels)
        for bound, known in {**{repr(bound): value for bound, value in below.items()}, _INFINITY: count}.items():
            family.add_sample(f"{name}_bucket", {**own, "le": bound}, known)
        family.add_sample(f"{name}_count", own, count)
        family.add_sample(f"{name}_sum", own, total)

    def _family(self, name: str) -> Metric:
        if name not in self._families:
            one = METRICS[name]
            plain = name.removesuffix("_total" if one.kind == "counter" else "_info" if one.kind == "info" else "")
            self._families[name] = Metric(plain, one.text, one.kind)
        return self._families[name]

    def _labels(self, name: str, values: tuple[object, ...]) -> dict[str, str]:
        return dict(zip(METRICS[name].labels, map(str, values), strict=True))


class NodeMetrics(Collector):
    """Exposes the metrics of `metric_list` for one node. `run`: number of the run for which it is configured; `levels`: the number of its log entries
    by level."""

    def __init__(
        self,
        status: Callable[[], Status],
        version: str,
        requests: RequestCounts | None = None,
        run: Callable[[], int | None] = lambda: None,
        levels: Callable[[], Mapping[str, int]] = dict,
    ) -> None:
        self._status = status
        self._version = version
        self._requests = requests or RequestCounts()
        self._run = run
        self._levels = levels
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def describe(self) -> list[Metric]:
        """Return no metrics: Prometheus may ask before the first scrape, when their names are not known."""
        return []

    def text(self) -> bytes:
        """Return the metrics in the exposition format."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        status = self._status()
        families = Families()
        families.add("rashpa_build_info", 1, self._version, _commit())
        families.add("rashpa_state", 1, status.role, status.state)
        if (run := self._run()) is not None:
            families.add("rashpa_run_number", run)
        if (part := status.source or status.destination) is not None:
            families.add("rashpa_elapsed_seconds", part.elapsed_s)
        for level, count in self._levels().items():
            families.add("rashpa_log_entries_total", count, level)
        _add_requests(families, self._requests)
        _add_process(families)
        if status.source is not None:
            _add_source(families, status.source)
        if status.destination is not None:
            _add_destination(families, status.destination)
        yield from families


@cache
def _commit() -> str:
    return str(machine_facts().get("commit", ""))


def _add_requests(families: Families, requests: RequestCounts) -> None:
    for (order, answer), count in requests.answers.items():
        families.add("rashpa_orders_total", count, order, answer)
    for order, durations in requests.durations.items():
        counts = list(accumulate(durations.counts))
        below = dict(zip(ORDER_BOUNDS_S, counts, strict=False))  # the last count is of those beyond
        families.add_histogram("rashpa_order_seconds", below, counts[-1], durations.sum_s, order)
    for status, count in requests.refused.items():
        families.add("rashpa_requests_refused_total", count, status)


def _add_process(families: Families) -> None:
    now = load()
    families.add("process_cpu_seconds_total", now.cpu_s)
    families.add("process_resident_memory_bytes", now.resident_bytes)
    families.add("process_open_fds", now.open_files)
    families.add("process_max_fds", now.most_files)
    families.add("process_start_time_seconds", now.started_s)
    if now.temperature_c is not None:
        families.add("rashpa_machine_temperature_celsius", now.temperature_c)
    by_name: dict[str, float] = {}
    for thread in now.threads:
        by_name[thread.name] = by_name.get(thread.name, 0.0) + thread.cpu_s
    for name, cpu_s in by_name.items():
        families.add("rashpa_thread_cpu_seconds_total", cpu_s, name)


def _add_source(families: Families, source: SourceStatus) -> None:
    families.add("rashpa_rate_asked_hertz", source.rate_hz, source.emulator)
    families.add("rashpa_frames_begun_total", source.frames_begun, source.emulator)
    for dtp in source.dtps:
        _add_source_dtp(families, dtp, source.emulator)
    triggers = count_of(source.counts, "trigger")
    for state in ("accepted", "refused"):
        families.add("rashpa_triggers_total", triggers.get(state, 0), state, source.emulator)
    families.add("rashpa_frames_triggered_total", triggers.get("frames", 0), source.emulator)
    for group in source.groups:
        _add_group(families, group, source.emulator)
    for fault, count in count_of(source.counts, "injected").items():
        families.add("rashpa_injected_total", count, fault, source.emulator)


def _add_group(families: Families, group: GroupStatus, emulator: str) -> None:
    of = (group.name, emulator)
    counts = {
        "due": group.fresh,
        "resent": group.resent,
        "duplicate": group.duplicates,
        "lost": group.lost,
        "skipped": group.skipped,
    }
    for state, count in counts.items():
        families.add("rashpa_group_images_total", count, state, *of)
    families.add("rashpa_group_images_waiting", group.waiting, *of)
    families.add("rashpa_group_settled", float(group.settled), *of)
    for member in group.members:
        images = {
            "dealt": member.dealt,
            "done": member.done,
            "taken": member.taken,
            "resent": member.resent,
            "duplicate": member.duplicates,
        }
        for state, count in images.items():
            families.add("rashpa_member_images_total", count, state, member.name, *of)
        families.add("rashpa_member_state", 1.0, member.state, member.name, *of)
        families.add("rashpa_member_lates_total", member.lates, member.name, *of)
        families.add("rashpa_member_response_seconds", member.response_ms / 1e3, member.name, *of)
        families.add("rashpa_member_silent_seconds", member.silent_ms / 1e3, member.name, *of)


def _add_source_dtp(families: Families, dtp: SourceDtpStatus, emulator: str) -> None:
    families.add("rashpa_images_sent_total", dtp.images_sent, dtp.id, "sent", emulator)
    families.add("rashpa_images_sent_total", dtp.images_skipped, dtp.id, "skipped", emulator)
    for name, item in _OF_SOURCE_DTP.items():
        families.add(name, getattr(dtp, item), dtp.id, emulator)
    families.add("rashpa_late_seconds", dtp.late_ns / 1e9, dtp.id, emulator)
    families.add("rashpa_naks_total", dtp.naks, dtp.id, "sequence", emulator)
    families.add("rashpa_naks_total", dtp.rnr_naks, dtp.id, "rnr", emulator)


def _add_destination(families: Families, destination: DestinationStatus) -> None:
    link = count_of(destination.counts, "link")
    families.add("rashpa_bytes_received_total", link.pop("payload_bytes", 0), destination.receiver)
    for name, count in link.items():
        families.add("rashpa_packets_total", count, name, destination.receiver)
    for buffer in destination.buffers:
        _add_books(families, buffer, destination.receiver)
        _add_buffer(families, buffer, destination.receiver)
        for sink in buffer.sinks:
            _add_sink(families, sink, buffer.name, destination.receiver)


def _add_books(families: Families, buffer: BufferStatus, receiver: str) -> None:
    for state in _OF_BOOKS:
        families.add("rashpa_frames_total", getattr(buffer.books, state), state, "", buffer.name, "", receiver)
    for dtp in buffer.dtps:
        whose = (dtp.id, dtp.module, buffer.name, receiver)
        for state in ("complete", "partial", "missing", "expected"):
            families.add("rashpa_frames_total", getattr(dtp, state), state, dtp.module, buffer.name, dtp.id, receiver)
        for cause, count in count_of(dtp.counts, "loss").items():
            families.add("rashpa_images_lost_total", count, cause, *whose)
        families.add("rashpa_lines_missing_total", dtp.lines_missing, *whose)


def _add_buffer(families: Families, buffer: BufferStatus, receiver: str) -> None:
    for reason, count in count_of(buffer.counts, "veto").items():
        families.add("rashpa_images_vetoed_total", count, reason, buffer.name, receiver)
    for reason, count in count_of(buffer.counts, "error").items():
        families.add("rashpa_images_errored_total", count, reason, buffer.name, receiver)
    families.add("rashpa_images_to_write", buffer.to_write, buffer.name, receiver)
    families.add("rashpa_slots", buffer.slots, buffer.name, receiver)
    families.add("rashpa_bytes_written_total", buffer.bytes_written, buffer.name, receiver)
    families.add("rashpa_bytes_stored_total", buffer.bytes_stored, buffer.name, receiver)
    for latency in buffer.latencies:
        _add_latency(families, latency, buffer.name, receiver)
    if buffer.feedback is not None:
        for state in _OF_FEEDBACK:
            count = getattr(buffer.feedback, state)
            families.add("rashpa_feedback_images_total", count, state, buffer.name, receiver)
        families.add("rashpa_feedback_full_total", buffer.feedback.full, buffer.name, receiver)
        families.add("rashpa_feedback_restarts_total", buffer.feedback.restarts, buffer.name, receiver)


def _add_latency(families: Families, latency: Latency, buffer: str, receiver: str) -> None:
    below = dict(zip(BOUNDS_S, latency.below, strict=False))  # none of an engine that does not tell
    what = "image" if latency.stage in _OF_IMAGES else "stack"
    families.add_histogram(
        f"rashpa_{what}_{latency.stage}_seconds", below, latency.count, latency.sum / 1e6, buffer, receiver
    )


def _add_sink(families: Families, sink: SinkStatus, buffer: str, receiver: str) -> None:
    whose = (sink.name, buffer, receiver)
    for state in _OF_SINK:
        families.add("rashpa_sink_images_total", getattr(sink, state), state, *whose)
    families.add("rashpa_sink_images_waiting", sink.waiting, *whose)
    families.add("rashpa_sink_bytes_written_total", sink.bytes_written, *whose)
    families.add("rashpa_sink_bytes_stored_total", sink.bytes_stored, *whose)
    families.add("rashpa_stream_restarts_total", sink.restarts, *whose)
    for consumer in sink.consumers:
        families.add("rashpa_stream_images_total", consumer.sent, "sent", consumer.endpoint, *whose)
        families.add("rashpa_stream_images_total", consumer.missed, "missed", consumer.endpoint, *whose)
        families.add("rashpa_stream_clients", consumer.connected, consumer.endpoint, *whose)
