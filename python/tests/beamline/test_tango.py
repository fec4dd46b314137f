# SPDX-License-Identifier: Apache-2.0
"""Acquisitions by clients of a device server that is a process of its own."""

import functools
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
pytest.importorskip("tango", reason="rashpa[tango] is not installed: make test-beamline")

import numpy as np
from python.tests.beamline.pattern_run import HEIGHT, WIDTH, frame, kept, run_file
from tango import DevFailed, DeviceProxy, DevState
from tango.test_context import DeviceTestContext

import rashpa
from rashpa.beamline.tango import Rashpa
from rashpa.testing.waiting import eventually

pytestmark = pytest.mark.whole

PATIENCE_S = 60.0


@pytest.fixture
def device(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[DeviceProxy]:
    stack = getattr(request, "param", 1)
    file = run_file(tmp_path, stack=stack)
    with DeviceTestContext(Rashpa, properties={"run_file": str(file)}, process=True, timeout=PATIENCE_S) as proxy:
        proxy.set_timeout_millis(int(PATIENCE_S * 1000))
        yield proxy


def refusal(what: Callable[[], Any]) -> str:
    with pytest.raises(DevFailed) as raised:
        what()
    return str(raised.value.args[0].desc)


def test_an_acquisition_is_prepared_started_and_comes_to_its_end(device: DeviceProxy, tmp_path: Path) -> None:
    assert (device.acq_status, device.last_image_ready, device.State()) == ("Ready", -1, DevState.ON)
    assert (device.image_width, device.image_height, device.image_type) == (WIDTH, HEIGHT, "Bpp16")
    device.acq_nb_frames = 20
    device.acq_expo_time = 0.002
    device.latency_time = 0.001
    device.saving_directory = str(tmp_path / "there")
    device.saving_prefix = "tango_"
    device.saving_next_number = 7
    device.prepareAcq()
    assert (device.acq_status, device.State(), device.ready_for_next_image) == ("Running", DevState.RUNNING, True)
    assert (device.last_image_ready, device.ready_for_next_acq) == (-1, False)
    assert "acquisition goes on" in refusal(lambda: device.write_attribute("acq_nb_frames", 5))
    assert "acquisition goes on" in refusal(device.prepareAcq)
    device.startAcq()
    eventually(lambda: device.acq_status == "Ready")
    assert (device.last_image_ready, device.last_image_saved) == (19, 19)
    wanted = [number for number in range(20) if kept(number)]
    assert (device.images_accepted, device.images_written) == (len(wanted), len(wanted))
    assert (device.images_vetoed, device.images_missing, device.images_errored) == (20 - len(wanted), 0, 0)
    assert device.saving_next_number == 8
    with rashpa.open(tmp_path / "there" / f"tango_0007{device.saving_suffix}") as run:
        assert list(run.frame_numbers) == wanted
        for index, number in enumerate(wanted):
            np.testing.assert_array_equal(run.image(index), frame(number))
    device.acq_nb_frames = 4  # and again
    device.prepareAcq()
    device.startAcq()
    eventually(lambda: device.acq_status == "Ready")
    assert device.last_image_saved == 3


def _last_is(device: DeviceProxy, number: int) -> bool:
    return bool(device.last_image_saved == number)


def test_frames_one_by_one_and_an_end_in_order(device: DeviceProxy, tmp_path: Path) -> None:
    assert "nothing is prepared" in refusal(device.startAcq)
    device.acq_trigger_mode = "INTERNAL_TRIGGER_MULTI"
    device.acq_nb_frames = 100
    device.saving_directory = str(tmp_path)
    device.prepareAcq()
    for number in range(3):
        device.startAcq()
        eventually(functools.partial(_last_is, device, number))
        assert device.ready_for_next_image
    device.stopAcq()
    assert (device.acq_status, device.acq_status_fault_error) == ("Ready", "")
    with rashpa.open(tmp_path / f"small_0000{device.saving_suffix}") as run:
        assert run.books["expected"] == 3
        assert list(run.frame_numbers) == [number for number in range(3) if kept(number)]


@pytest.mark.parametrize("device", [4], indirect=True)
def test_an_acquisition_without_an_end_is_paused_and_stopped_and_one_is_aborted(device: DeviceProxy) -> None:
    device.acq_nb_frames = 0
    device.prepareAcq()
    device.startAcq()
    eventually(lambda: device.last_image_saved > 20)
    assert "being taken already" in refusal(device.startAcq)
    device.pauseAcq()
    assert "paused already" in refusal(device.pauseAcq)
    device.resumeAcq()
    device.stopAcq()
    assert (device.acq_status, device.acq_status_fault_error) == ("Ready", "")
    device.prepareAcq()
    device.abortAcq()
    assert device.acq_status == "Ready"
    assert "nothing to pause" in refusal(device.pauseAcq)
    device.acq_trigger_mode = "INTERNAL_TRIGGER_MULTI"
    assert "set stack = 1" in refusal(device.prepareAcq)


def test_bad_values_are_refused_in_words(device: DeviceProxy, tmp_path: Path) -> None:
    def write(name: str, value: object) -> str:
        return refusal(lambda: device.write_attribute(name, value))

    assert write("acq_nb_frames", -1) == "acq_nb_frames = -1: 0 ... 1099511627776"
    assert "seconds" in write("acq_expo_time", -0.5)
    assert "INTERNAL_TRIGGER or INTERNAL_TRIGGER_MULTI" in write("acq_trigger_mode", "EXTERNAL_GATE")
    assert "an absolute path" in write("saving_directory", "here")
    assert "run.name" in write("saving_prefix", "a/b")
    assert "ABORT or OVERWRITE" in write("saving_overwrite_policy", "APPEND")
    assert "none negative" in write("image_roi", [1, 2, -3, 4])
    assert device.saving_prefix == "small_"


def test_a_region_of_the_image_is_taken(device: DeviceProxy, tmp_path: Path) -> None:
    assert device.image_roi.tolist() == [0, 0, WIDTH, HEIGHT]
    device.image_roi = [8, 4, 32, 16]
    assert (device.image_width, device.image_height) == (32, 16)
    assert "region" in refusal(lambda: device.write_attribute("image_roi", [60, 0, 30, 30]))
    assert device.image_roi.tolist() == [8, 4, 32, 16]


def test_what_keeps_a_run_from_its_start_is_said(device: DeviceProxy, tmp_path: Path) -> None:
    device.acq_nb_frames = 2
    device.saving_directory = str(tmp_path)
    (tmp_path / "small_0000_b_master.h5").write_text("of somebody else")
    assert "exists" in refusal(device.prepareAcq)
    assert device.State() == DevState.FAULT
    assert "exists" in device.acq_status_fault_error
    device.prepareAcq()  # the next number
    device.startAcq()
    eventually(lambda: device.acq_status == "Ready")


def test_the_command_serves_a_device_without_a_database(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rashpa.cli.entry", "tango", str(run_file(tmp_path)), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = next(line for line in server.stdout if line.startswith("device: ")).split()[1]
        device = DeviceProxy(address)
        assert device.acq_status == "Ready"
        assert device.info().dev_class == "Rashpa"
        server.send_signal(signal.SIGTERM)
        server.stdout.read()
        assert server.wait(PATIENCE_S) in (0, -signal.SIGTERM)
    wrong = subprocess.run([*command[:4], "/absent.toml"], capture_output=True, text=True, timeout=PATIENCE_S)
    assert wrong.returncode == 2
    assert "no such file" in wrong.stderr
