# SPDX-License-Identifier: Apache-2.0
"""Finds the refusals of a plan by nodes of this machine with the nodes' own code, but without memory for images, links and output files.

`python -m rashpa.node.offline.trial RUN_FILE` writes them as JSON: a list of lines. It is a separate process, since it loads the kernels that the run
file names.
"""

import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

from rashpa import _native
from rashpa.control.orders.grant import grant_of
from rashpa.control.orders.plan_telegrams import destination_telegram, source_telegram
from rashpa.control.plan.emulators import PlannedEmulator
from rashpa.control.plan.model import Plan
from rashpa.control.plan.receivers import PlannedReceiver
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.part_orders import FILE_ORDERS, Stream2Order
from rashpa.data.files.limited_process import private_output
from rashpa.node.engine.engine import EngineError
from rashpa.node.engine.folders import Folders
from rashpa.node.engine.native_emulator import look_at_dataset
from rashpa.node.engine.native_errors import native_errors
from rashpa.node.engine.native_receiver import buffer_configs, check_allowed

_MOST_IMAGES = 1 << 16
"""The most images with rows in tables here: a trial takes the memory of a small run."""
_NO_PLACE = telegram.Placement(
    pixels_offset=0, slot_bytes=0, slots=0, first_line_offset=0, pitch=0, line_bytes=0, lines=0, records_offset=0
)
_NO_END = telegram.Endpoint(address="", port=0, qpn=0, rkey=0, credit_offset=0)


def refusals(plan: Plan) -> Iterator[str]:
    """Yield a line for each local node that would refuse its order, with the text that the run would show."""
    trials = [partial(_try_receiver, plan, one) for one in plan.receivers if one.node == "local"]
    trials += [partial(_try_emulator, plan, one) for one in plan.emulators if one.node == "local"]
    for trial in trials:
        try:
            with native_errors():
                trial()
        except EngineError as error:
            yield str(error)


def _folders(plan: Plan, role: str, write: str = "") -> Folders:
    """Return the allowed folders of a node that the run starts; `write` replaces the writable ones."""
    grant = grant_of(plan, role, "trial")
    kernels = Path(grant.kernels) if grant.kernels else None
    places = map(Path, (write,) if write else grant.write)
    return Folders(map(Path, grant.read), places, kernels, grant.cards, publish=grant.publish)


def _try_emulator(plan: Plan, emulator: PlannedEmulator) -> None:
    ends = {dtp.id: (_NO_END, _NO_PLACE) for dtp in plan.dtps_from(emulator.name)}
    order = cast("telegram.Source", source_telegram(plan, emulator, ends).source)
    look_at_dataset(order, _folders(plan, "emulator"))


def _try_receiver(plan: Plan, receiver: PlannedReceiver) -> None:
    order = cast("telegram.Destination", destination_telegram(plan, receiver).destination)
    check_allowed(order, _folders(plan, "receiver"))
    with tempfile.TemporaryDirectory(prefix="rashpa_trial_") as folder:
        buffers = tuple(_silent(buffer, Path(folder)) for buffer in order.buffers)
        there = _folders(plan, "receiver", folder)
        configs = buffer_configs(replace(order, buffers=buffers), there, "tried")
        for buffer, config in zip(buffers, configs, strict=True):
            if buffer.keys.unit == "cpu":  # their node says which devices are there, and their capabilities
                _native.Recorder(config, plan.file.run.number)


def _silent(buffer: telegram.Buffer, folder: Path) -> telegram.Buffer:
    """Return the buffer without sockets and rings, with few rows, and with its files in `folder`."""
    sinks = tuple(
        sink.model_copy(update={"prefix": str(folder / Path(sink.prefix).name), "existing": "refuse"})
        if isinstance(sink, FILE_ORDERS)
        else sink
        for sink in buffer.sinks
        if not isinstance(sink, Stream2Order)
    )
    return replace(buffer, sinks=sinks, feedback=None, images=min(buffer.images, _MOST_IMAGES))


if __name__ == "__main__":
    with private_output() as answer:
        answer.write(json.dumps(list(refusals(load_plan(Path(sys.argv[1]))))).encode())
