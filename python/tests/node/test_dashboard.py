# SPDX-License-Identifier: Apache-2.0
"""The Grafana dashboard requests only documented metrics with documented labels, and has Grafana's format."""

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from rashpa.node.door.metric_list import METRICS

FILE = Path(__file__).resolve().parents[3] / "examples" / "grafana" / "rashpa.json"
DASHBOARD: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
TARGETS = [(panel["title"], target) for panel in PANELS for target in panel["targets"]]
OF_HISTOGRAMS = ("_bucket", "_sum", "_count")
ADDED = {"instance", "job"}  # by Prometheus
SOURCE = {"type": "object", "required": ["type", "uid"], "properties": {"type": {"const": "prometheus"}, "uid": {"const": "${datasource}"}}}  # fmt: skip
PLACE = {
    "type": "object",
    "required": ["x", "y", "w", "h"],
    "properties": {
        "x": {"type": "integer", "minimum": 0, "maximum": 23},
        "y": {"type": "integer", "minimum": 0},
        "w": {"type": "integer", "minimum": 1, "maximum": 24},
        "h": {"type": "integer", "minimum": 1},
    },
    "additionalProperties": False,
}
# of Grafana's dashboards, version 39 of its schema, what a file needs to be imported
SCHEMA = {
    "type": "object",
    "required": ["title", "uid", "schemaVersion", "panels", "templating", "time", "annotations"],
    "properties": {
        "id": False,
        "uid": {"type": "string", "pattern": "^[a-zA-Z0-9_-]{1,40}$"},
        "schemaVersion": {"const": 39},
        "panels": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["id", "type", "title", "gridPos"],
                "properties": {"id": {"type": "integer", "minimum": 1}, "gridPos": PLACE},
                "if": {"properties": {"type": {"const": "row"}}},
                "then": {"properties": {"collapsed": {"const": False}, "panels": {"maxItems": 0}}},
                "else": {
                    "required": ["datasource", "fieldConfig", "options", "targets"],
                    "properties": {
                        "type": {"enum": ["timeseries", "stat"]},
                        "datasource": SOURCE,
                        "fieldConfig": {"required": ["defaults", "overrides"]},
                        "targets": {
                            "minItems": 1,
                            "items": {"required": ["refId", "expr", "legendFormat"], "properties": {"datasource": SOURCE}},
                        },
                    },
                },
            },
        },
    },
}  # fmt: skip


def described(name: str) -> tuple[str, set[str]] | None:
    """Return the documented metric that has samples of this name, and their possible labels."""
    if name in METRICS and METRICS[name].kind != "histogram":
        return name, {*METRICS[name].labels, *ADDED}
    for ending in OF_HISTOGRAMS:
        base = METRICS.get(name.removesuffix(ending))
        if name.endswith(ending) and base is not None and base.kind == "histogram":
            return base.name, {*base.labels, *ADDED, *({"le"} if ending == "_bucket" else ())}
    return None


def test_it_is_made_as_grafana_wants_it() -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(DASHBOARD)
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)
    for panel in PANELS:
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
    for one, other in combinations((panel["gridPos"] for panel in DASHBOARD["panels"]), 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        below = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or below, (one, other)
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in DASHBOARD["panels"])


@pytest.mark.parametrize(("title", "target"), TARGETS, ids=[f"{title} {target['refId']}" for title, target in TARGETS])
def test_a_panel_asks_for_documented_metrics_by_labels_that_they_have(title: str, target: dict[str, Any]) -> None:
    expression = re.sub(r'"[^"]*"', '""', target["expr"])
    names = re.findall(r"\b((?:rashpa|process)_\w+)\b", expression)
    assert names
    known = [described(name) for name in names]
    assert None not in known, names
    labels = set.intersection(*(one[1] for one in known if one))
    selected = {
        label
        for part in re.findall(r"\{([^}]*)\}", expression)
        for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", part)
    }
    grouped = {label for part in re.findall(r"\bby \(([^)]*)\)", expression) for label in re.findall(r"\w+", part)}
    shown = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
    assert selected | grouped | shown <= labels, title
    assert "instance" in selected, "the node that is chosen"
    if grouped:
        assert shown <= grouped, "what a sum does not keep cannot be shown"
    counters = [one[0] for one in known if one and METRICS[one[0]].kind in ("counter", "histogram")]
    assert not counters or "rate(" in expression or "rashpa_frames_total" in counters, "counters are shown as rates"


def test_every_variable_that_is_used_is_there() -> None:
    known = {one["name"] for one in DASHBOARD["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(DASHBOARD))) - {"__rate_interval", "__all"}
    assert used == known
    assert all(described(name) for name in re.findall(r"\brashpa_\w+", json.dumps(DASHBOARD["templating"])))
