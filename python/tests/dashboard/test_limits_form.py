# SPDX-License-Identifier: Apache-2.0
"""The form for limits of vetoes: its fields are the model's, with the values that nodes have reported last."""

from dataclasses import replace
from pathlib import Path

import pytest

from rashpa.control.orders.limit_values import LimitsError, buffers_named, changed_kernels
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.telegrams.telegram import Books, BufferStatus, DestinationStatus, LimitChange, Status
from rashpa.dashboard.scene import NodeScene, Scene
from rashpa.dashboard.settings.limits import vetoes_of
from rashpa.testing.run_file import run_file


def run_text() -> str:
    return run_file(
        run={"name": "vetoed", "frames": 10},
        detector={"width": 64, "height": 32},
        receiver=[{"name": one, "port": 0} for one in ("a", "b")],
        group=[{"name": "farm", "receivers": ["a", "b"]}],
        buffer={
            "group": "farm",
            "kernel": [
                {"name": "bragg_count", "threshold": 10, "min_pixels": 20},
                {"name": "veto", "keep": "bright_pixels < 90", "reason": "full_of_them"},
                {"name": "veto", "keep": "bright_pixels != 30", "reason": "full_of_them"},
            ],
        },
    )


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    file = tmp_path / "run.toml"
    file.write_text(run_text())
    return load_plan(file)


def _told(buffer: str, *changes: LimitChange) -> NodeScene:
    receiver = buffer.rpartition("_")[2]
    status = BufferStatus(
        name=buffer,
        sink_error="",
        unit="",
        unit_error="",
        bytes_written=0,
        bytes_stored=0,
        books=Books(),
        limits=changes,
    )
    told = DestinationStatus(receiver=receiver, elapsed_s=1.0, memory="", first_incomplete="", buffers=(status,))
    return NodeScene(receiver, "", Status(node=receiver, role="receiver", state="running", destination=told))


def test_a_form_has_the_limits_of_now_once_for_a_group(plan: Plan) -> None:
    change = LimitChange(
        time_ns=1, number=0, step="bragg_count", key="min_pixels", old="20", new="44", first_image=100, by="x"
    )
    scene = Scene(0.0, plan, going=True, managed=True, nodes=(_told("full_a"), _told("full_b", change)))
    forms = list(vetoes_of(scene))
    assert [(one.buffer, one.step) for one in forms] == [("full", "bragg_count"), ("full", "1"), ("full", "2")]
    fields = {field.name: field for field in forms[0].fields}
    assert set(fields) == {"min_pixels", "max_pixels"}
    assert fields["min_pixels"].value == "44"
    assert fields["min_pixels"].bounds == {"step": "1", "min": "0", "max": str(2**32 - 1)}
    assert [field.value for field in forms[2].fields] == ["bright_pixels != 30"]
    assert list(vetoes_of(replace(scene, going=False))) == []


def test_a_name_stands_for_all_members_of_a_group(plan: Plan) -> None:
    for name in ("", "full", "full_a"):
        assert [one.section.name for one in buffers_named(plan, name)] == ["full_a", "full_b"]
    with pytest.raises(LimitsError, match="there is no fill; name one of full"):
        buffers_named(plan, "fill")


def test_values_are_refused_in_the_words_of_the_run_file(plan: Plan) -> None:
    kernels = plan.buffers[0].section.kernel
    assert changed_kernels(plan, kernels, 0, {"min_pixels": " 30 "})[0].model_dump()["min_pixels"] == 30
    for values, text in (
        ({"min_pixels": "4294967296"}, "min_pixels: it is 4294967296; it must be at most 4294967295"),
        ({"min_pixels": "1.5"}, "min_pixels: "),
        ({"max_pixels": "19"}, "min_pixels: 20 is more than max_pixels"),
        ({"name": "veto"}, "name: bragg_count keeps it from its start to its end"),
    ):
        with pytest.raises(LimitsError) as refused:
            changed_kernels(plan, kernels, 0, values)
        assert str(refused.value).startswith(text)
