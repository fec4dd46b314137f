# SPDX-License-Identifier: Apache-2.0
"""Runs controlled by a client of PVAccess: orders, counters, previews."""

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
pytest.importorskip("p4p", reason="rashpa[epics] is not installed: make test-beamline")

import numpy as np
from p4p.client.asyncio import Context
from p4p.client.thread import Context as BlockingContext
from p4p.client.thread import RemoteError
from python.tests.beamline.pattern_run import HEIGHT, REPEAT, WIDTH, frame, kept, run_file, tables

import rashpa
from rashpa.beamline.epics import ACQUIRE, STATES, Previews, Variables, served
from rashpa.control.runfile.run_file_reader import RunFileError

pytestmark = pytest.mark.whole

PATIENCE_S = 60.0
P = "T:"


@contextlib.asynccontextmanager
async def client_of(variables: Variables) -> AsyncIterator[Context]:
    async with served(variables, "127.0.0.1", isolated=True) as conf:
        with Context("pva", conf=conf, useenv=False) as client:
            yield client


async def until(client: Context, name: str, good: Callable[[Any], bool]) -> Any:
    """Return the first value of a monitor for which `good` is True."""
    found: asyncio.Queue[Any] = asyncio.Queue()

    async def take(value: Any) -> None:
        await found.put(value)

    monitor = client.monitor(P + name, take)
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not good(value := await found.get()):
                pass
            return value
    finally:
        monitor.close()


def carried_out(test: Callable[[Context], Awaitable[None]], variables: Variables) -> None:
    async def run() -> None:
        async with client_of(variables) as client:
            await test(client)

    asyncio.run(run())


async def refusal(client: Context, name: str, value: object) -> str:
    with pytest.raises(RemoteError) as raised:
        await client.put(P + name, value)
    return str(raised.value)


def test_a_run_is_acquired_and_its_counters_are_those_of_its_books(tmp_path: Path) -> None:
    async def test(client: Context) -> None:
        assert (await client.get(f"{P}cam1:Model_RBV")).raw.value == "detector"
        assert (await client.get(f"{P}cam1:ArraySizeX_RBV"), await client.get(f"{P}cam1:ArraySizeY_RBV")) == (
            WIDTH,
            HEIGHT,
        )
        await client.put(f"{P}cam1:NumImages", 24)
        await client.put(f"{P}cam1:AcquireTime", 0.002)
        await client.put(f"{P}cam1:AcquirePeriod", 0.004)
        await client.put(f"{P}HDF1:FilePath", str(tmp_path / "there"))
        await client.put(f"{P}HDF1:FileName", "epics")
        assert await client.get(f"{P}cam1:NumImages_RBV") == 24
        await client.put(f"{P}cam1:Acquire", 1)
        await until(client, "cam1:DetectorState_RBV", lambda state: STATES[state] == "Idle")
        await until(client, "cam1:Acquire", lambda value: ACQUIRE[value] == "Done")
        wanted = [number for number in range(24) if kept(number)]
        counted = {
            name: int(await client.get(f"{P}{name}_RBV"))
            for name in (
                "cam1:ArrayCounter",
                "cam1:NumAccepted",
                "cam1:NumVetoed",
                "cam1:DroppedArrays",
                "HDF1:NumCaptured",
            )
        }
        assert list(counted.values()) == [24, len(wanted), 24 - len(wanted), 0, len(wanted)]
        master = (await client.get(f"{P}HDF1:FullFileName_RBV")).raw.value
        with rashpa.open(master) as run:
            assert list(run.frame_numbers) == wanted
            assert run.books["written"] == counted["HDF1:NumCaptured"]

    carried_out(test, Variables(tables(tmp_path), P))


def test_previews_are_images_of_the_run_and_nobody_asks_for_them_alone(tmp_path: Path) -> None:
    variables = Variables(tables(tmp_path, stack=4), P, previews=Previews(rate_hz=20.0))

    async def test(client: Context) -> None:
        await client.put(f"{P}cam1:NumImages", 0)
        await client.put(f"{P}cam1:Acquire", 1)
        await until(client, "cam1:ArrayCounter_RBV", lambda count: count > 40)
        assert await client.get(f"{P}Pva1:ArrayCounter_RBV") == 0  # nobody has the image open
        seen: list[Any] = []
        enough = asyncio.Event()

        async def take(image: Any) -> None:
            if image.raw.uniqueId:
                seen.append(image)
            if len(seen) == 5:
                enough.set()

        began = asyncio.get_running_loop().time()
        monitor = client.monitor(f"{P}Pva1:Image", take)
        async with asyncio.timeout(PATIENCE_S):
            await enough.wait()
        assert asyncio.get_running_loop().time() - began > 4 / 20.0 - 0.01
        monitor.close()
        for image in seen:
            number = image.raw.uniqueId
            assert kept(number)
            assert image.shape == (HEIGHT, WIDTH)
            assert image.dtype == np.uint16
            np.testing.assert_array_equal(image, frame(number))
            assert image.attrib["ColorMode"] == 0
            assert image.attrib["ImageIndex"] == number
            assert image.attrib["total_counts"] == frame(number).astype(np.uint64).sum()
            assert image.raw.codec.name == ""
            assert image.raw.uncompressedSize == image.nbytes
            assert [one.size for one in image.raw.dimension] == [WIDTH, HEIGHT]
            taken = image.raw.dataTimeStamp
            assert abs(time.time() - taken.secondsPastEpoch - taken.nanoseconds / 1e9) < 20.0, "UTC, not TAI"
        assert len({image.raw.uniqueId for image in seen}) == len(seen)
        assert (await refusal(client, "cam1:Acquire", 1)).startswith("an acquisition goes on")
        assert "an acquisition goes on" in await refusal(client, "cam1:NumImages", 3)
        await client.put(f"{P}cam1:Acquire", 0)
        await until(client, "cam1:DetectorState_RBV", lambda state: STATES[state] == "Idle")

    carried_out(test, variables)
    with rashpa.open(tmp_path / "small_b_master.h5") as run:
        assert run.books["accepted"] == run.books["written"] > 0


def test_a_preview_may_be_reduced(tmp_path: Path) -> None:
    async def test(client: Context) -> None:
        await client.put(f"{P}cam1:NumImages", 0)
        await client.put(f"{P}cam1:Acquire", 1)
        image = await until(client, "Pva1:Image", lambda value: value.raw.uniqueId)
        blocks = frame(image.raw.uniqueId).reshape(HEIGHT // 4, 4, WIDTH // 4, 4)
        np.testing.assert_array_equal(image, blocks.max(axis=(1, 3)))
        sides = [(one.size, one.fullSize, one.binning) for one in image.raw.dimension]
        assert sides == [(WIDTH // 4, WIDTH, 4), (HEIGHT // 4, HEIGHT, 4)]
        await client.put(f"{P}cam1:Acquire", 0)

    carried_out(test, Variables(tables(tmp_path), P, previews=Previews(step=4)))


def test_bad_values_and_failures_are_told_in_words(tmp_path: Path) -> None:
    async def test(client: Context) -> None:
        assert "0 (until stopped) or more" in await refusal(client, "cam1:NumImages", -1)
        assert "an absolute path" in await refusal(client, "HDF1:FilePath", "here")
        assert "run.name" in await refusal(client, "HDF1:FileName", "a/b")
        assert "count_time_s" in await refusal(client, "cam1:AcquireTime", -1.0)
        assert (await client.get(f"{P}HDF1:FileName")).raw.value == "small"
        (tmp_path / "small_b_master.h5").write_text("of somebody else")
        assert "exists" in await refusal(client, "cam1:Acquire", 1)
        await until(client, "cam1:DetectorState_RBV", lambda state: STATES[state] == "Error")
        await until(client, "cam1:StatusMessage_RBV", lambda text: "exists" in text.raw.value)
        await client.put(f"{P}HDF1:FileName", "other")
        await client.put(f"{P}cam1:Acquire", 1)
        await until(client, "cam1:DetectorState_RBV", lambda state: STATES[state] == "Idle")

    carried_out(test, Variables(tables(tmp_path, frames=REPEAT), P))
    with pytest.raises(RunFileError, match="there is no buffer"):
        Variables(tables(tmp_path), P, buffer="none")


def test_the_command_serves_until_it_is_told_to_end(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rashpa.cli.entry", "epics", str(run_file(tmp_path)), "--prefix", "C:"]
    environment = {**os.environ, "EPICS_PVAS_SERVER_PORT": "0", "EPICS_PVAS_BROADCAST_PORT": "0"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        said = re.fullmatch(r"variables: C: at 127.0.0.1, TCP port (\d+)\n", server.stdout.readline())
        assert said is not None
        conf = {"EPICS_PVA_NAME_SERVERS": f"127.0.0.1:{said[1]}", "EPICS_PVA_AUTO_ADDR_LIST": "NO"}
        with BlockingContext("pva", conf=conf, useenv=False) as client:
            assert STATES[client.get("C:cam1:DetectorState_RBV", timeout=PATIENCE_S)] == "Idle"
        server.send_signal(signal.SIGTERM)
        assert server.wait(PATIENCE_S) == 0
    wrong = subprocess.run([*command[:4], "/absent.toml"], capture_output=True, text=True, timeout=PATIENCE_S)
    assert wrong.returncode == 2
    assert "no such file" in wrong.stderr
