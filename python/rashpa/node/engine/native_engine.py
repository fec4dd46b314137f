# SPDX-License-Identifier: Apache-2.0
"""Makes native engines from orders, and reports the capabilities of this machine.

Only a node imports this module and rashpa._native: without compiled code there are no nodes.
"""

import contextlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from rashpa import _native
from rashpa.control.runfile.kernels import OUTSIDE, parse_declarations
from rashpa.control.runfile.links import link_keys
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import (
    Capabilities,
    Configure,
)
from rashpa.node.engine.engine import EngineError
from rashpa.node.engine.folders import EVERYWHERE, Folders
from rashpa.node.engine.native_destination import NativeDestination
from rashpa.node.engine.native_errors import native_errors
from rashpa.node.engine.native_source import NativeSource
from rashpa.node.host.here import rooted
from rashpa.node.host.interfaces import interfaces
from rashpa.node.host.machine_memory import available_memory_bytes
from rashpa.node.logs.log import NativeMessage

_PMTUS = (256, 512, 1024, 2048, 4096)
_PIXELS = ("uint8", "uint16", "uint32", "int16", "int32", "float32")
_MAX_DTPS = 256


class NativeFactory:
    """Makes the engines of one node. `link_bytes_per_s`: the rate of its link; 0 when unknown, then rates are not checked. `folders`: the folders
    that it may read and write. `throughputs`: figures measured on this machine."""

    def __init__(
        self,
        role: str,
        link_bytes_per_s: int = 0,
        folders: Folders = EVERYWHERE,
        throughputs: tuple[telegram.Throughput, ...] = (),
    ) -> None:
        self._role = role
        self._throughputs = throughputs
        self._folders = folders
        self._started_in = Path.cwd()
        self._link_bytes_per_s = link_bytes_per_s
        self._making: _native.Making | None = None

    def capabilities(self, node: str, units: Sequence[str] = ()) -> Capabilities:
        receives = self._role == "receiver"
        return Capabilities(
            node=node,
            role=self._role,
            software=f"rashpa {_native.__version__}",
            processors=len(os.sched_getaffinity(0)),
            memory_bytes=available_memory_bytes(),
            max_dtps=_MAX_DTPS,
            pixels=_PIXELS,
            kernels=(*self._kernels(), *(OUTSIDE if self._folders.has_kernels else ())) if receives else (),
            sinks=tuple(_native.sink_names()) if receives else (),
            # Whether this machine has an RNIC is known when a run asks for one: the engine then says what is missing.
            links=tuple(
                telegram.Link(name=kind, bytes_per_s=self._link_bytes_per_s, pmtus=_PMTUS) for kind in link_keys()
            ),
            units=self._units(units) if receives else (),
            devices=tuple(_unit_device(one) for one in _native.available_devices(list(units))) if receives else (),
            interfaces=interfaces(),
            throughputs=self._throughputs,
        )

    def _kernels(self) -> tuple[str, ...]:
        return tuple(kernel.name for kernel in parse_declarations(_native.kernels_json()))

    def _units(self, names: Sequence[str]) -> tuple[telegram.Unit, ...]:
        return tuple(
            telegram.Unit(name=name, usable=usable, what=what)
            for name, usable, what in _native.available_units(list(names))
        )

    def set_log_level(self, level: str) -> None:
        """Set the least severe level that native code logs."""
        with native_errors():
            _native.set_log_level(level)

    def prepared(self) -> float:
        return self._making.share if self._making is not None else 0.0

    def take_log(self) -> Iterable[NativeMessage]:
        return _native.take_log()

    def make(self, order: Configure) -> NativeSource | NativeDestination:
        if order.source is not None:
            self._making = _native.Making()
            return NativeSource(order.source, order.run, self._folders, self._making)
        if order.destination is not None:
            with contextlib.suppress(OSError):  # it may be gone
                os.chdir(self._started_in)  # kernels of an earlier run may have gone elsewhere
            return NativeDestination(rooted(order.destination, self._started_in), order.run, self._folders)
        raise EngineError("config", "Configure names neither source nor destination")


def _unit_device(
    said: tuple[str, int, str, int, int, bool, tuple[int, int], tuple[str, str]],
) -> telegram.UnitDevice:
    unit, number, name, memory_bytes, free_bytes, unified, bar1, remote = said
    return telegram.UnitDevice(
        unit=unit,
        number=number,
        name=name,
        memory_bytes=memory_bytes,
        free_bytes=free_bytes,
        unified=unified,
        bar1_bytes=bar1[0],
        bar1_free_bytes=bar1[1],
        remote_writes=remote[0],
        remote_refusal=remote[1],
    )
