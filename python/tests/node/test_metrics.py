# SPDX-License-Identifier: Apache-2.0
"""Every number that a node reports to its manager is a metric, every metric is documented, and no other name is exposed."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.latency import BOUNDS_S
from rashpa.node.door.metric_list import METRICS
from rashpa.node.door.metrics import Families, NodeMetrics
from rashpa.node.door.request_counts import RequestCounts
from rashpa.testing.telegram_samples import telegram_samples

SAMPLES = telegram_samples()
NO_METRICS = {
    "id": "a label",
    "module": "a label",
    "p50": "Prometheus makes quantiles of the buckets",
    "p99": "Prometheus makes quantiles of the buckets",
    "max": "the books' own; a bucket bounds it",
    "index": "of one image",
    "frame": "of one image",
    "number": "of one change of limits",
    "time_ns": "of one change of limits",
    "first_image": "of one change of limits",
    "given_ago_ms": "a time that runs; rashpa bench group reads it",
    "prepared": "before a run, for who waits at its terminal",
}


def whole(name: str) -> telegram.Status:
    """Return a status with a value in every field."""
    status = SAMPLES[name]
    assert isinstance(status, telegram.Status)
    if status.destination is None:
        return status
    (buffer,) = status.destination.buffers
    latencies = tuple(
        dataclasses.replace(buffer.latencies[0], stage=stage)
        for stage in ("ready", "decision", "written", "published", "sent")
    )
    counts = (*status.destination.counts, telegram.Count(group="link", name="payload_bytes", value=5))
    buffers = (dataclasses.replace(buffer, latencies=latencies),)
    return dataclasses.replace(
        status, destination=dataclasses.replace(status.destination, counts=counts, buffers=buffers)
    )


def requests() -> RequestCounts:
    counts = RequestCounts()
    counts.answered(telegram.Start(), telegram.Fault(node="r", state="idle", code="state", text="no"), 0.003)
    counts.answered(telegram.Start(), telegram.Status(node="r", role="receiver", state="running"), 0.003)
    counts.answered(telegram.Start(), telegram.Status(node="r", role="receiver", state="running"), 300.0)
    counts.refused[401] += 2
    return counts


def text_of(status: telegram.Status) -> str:
    return NodeMetrics(lambda: status, "1.2", requests(), lambda: 7, lambda: {"warning": 3}).text().decode()


def samples_of(text: str) -> dict[str, float]:
    """Return samples by name and labels, as in the text; values that change without a run are left out."""
    return {
        f"{sample.name}{sorted(sample.labels.items())}": sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if not sample.name.startswith(("process_", "rashpa_thread_", "rashpa_machine_"))
    }


STATUSES = ("status_emulator", "status_receiver")


def test_what_is_said_and_what_is_documented_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rashpa.node.host.load.temperature_c", lambda: 45.0)  # virtual machines tell none
    said: dict[str, tuple[str, frozenset[str], str]] = {}
    for name in STATUSES:
        for family in text_string_to_metric_families(text_of(whole(name))):
            for sample in family.samples:
                base = sample.name
                if family.type == "histogram":
                    base = family.name
                said[base] = (family.type, frozenset(sample.labels) - {"le"}, family.documentation)
    documented = {
        one.name: ("gauge" if one.kind == "info" else one.kind, frozenset(one.labels), one.text)
        for one in METRICS.values()
    }
    assert said == documented


def changed(part: Any) -> Iterator[tuple[str, Any]]:
    """Yield, for every number in `part`, its path and a copy of the part with this number changed."""
    for item in dataclasses.fields(part):
        value = getattr(part, item.name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield item.name, dataclasses.replace(part, **{item.name: value + 1})
        elif dataclasses.is_dataclass(value):
            yield from (
                (f"{item.name}.{way}", dataclasses.replace(part, **{item.name: other})) for way, other in changed(value)
            )
        elif isinstance(value, tuple):
            for place, entry in enumerate(value):
                others = (
                    changed(entry)
                    if dataclasses.is_dataclass(entry)
                    else [("", entry + 1)]
                    if isinstance(entry, int)
                    else []
                )
                for way, other in others:
                    replaced = (*value[:place], other, *value[place + 1 :])
                    yield f"{item.name}[{place}].{way}", dataclasses.replace(part, **{item.name: replaced})


@pytest.mark.parametrize("name", STATUSES)
def test_every_number_of_a_status_is_a_metric(name: str) -> None:
    status = whole(name)
    before = samples_of(text_of(status))
    silent = {way for way, other in changed(status) if samples_of(text_of(other)) == before}
    assert {way.rpartition(".")[2] for way in silent} <= set(NO_METRICS), silent
    assert len(list(changed(status))) > 15


def test_a_name_or_a_label_that_is_not_documented_cannot_be_said() -> None:
    with pytest.raises(KeyError, match="rashpa_new_total"):
        Families().add("rashpa_new_total", 1)
    with pytest.raises(ValueError, match=r"shorter|longer"):
        Families().add("rashpa_state", 1, "receiver")


def test_latencies_are_histograms_that_count_what_the_engine_counted() -> None:
    families = {family.name: family for family in text_string_to_metric_families(text_of(whole("status_receiver")))}
    ready = families["rashpa_stack_ready_seconds"]
    assert ready.type == "histogram"
    buckets = [sample for sample in ready.samples if sample.name.endswith("_bucket")]
    assert [float(sample.labels["le"]) for sample in buckets] == [*BOUNDS_S, float("inf")]
    assert [sample.value for sample in buckets] == [*range(24), 240, 240]
    plain = {sample.name.rpartition("_")[2]: sample.value for sample in ready.samples if "le" not in sample.labels}
    assert plain == {"count": 240, "sum": pytest.approx(4100.5e-6)}


def test_orders_are_counted_by_their_answer_and_timed() -> None:
    samples = samples_of(text_of(SAMPLES["status_idle"]))  # type: ignore[arg-type]
    assert samples["rashpa_orders_total[('answer', 'state'), ('order', 'Start')]"] == 1
    assert samples["rashpa_orders_total[('answer', 'Status'), ('order', 'Start')]"] == 2
    assert samples["rashpa_order_seconds_bucket[('le', '0.002'), ('order', 'Start')]"] == 0
    assert samples["rashpa_order_seconds_bucket[('le', '0.005'), ('order', 'Start')]"] == 2
    assert samples["rashpa_order_seconds_bucket[('le', '+Inf'), ('order', 'Start')]"] == 3
    assert samples["rashpa_order_seconds_sum[('order', 'Start')]"] == pytest.approx(300.006)
    assert samples["rashpa_requests_refused_total[('status', '401')]"] == 2
