# SPDX-License-Identifier: Apache-2.0
"""Runs a native receiver as the engine of a node."""

import contextlib
import dataclasses
import logging
from pathlib import Path

from rashpa import _native
from rashpa.control.runfile.kernels import Kernel
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import (
    Configured,
    DestinationStatus,
    Endpoint,
)
from rashpa.data.files.new_folders import remove_empty
from rashpa.node.engine.engine import EngineError, Table
from rashpa.node.engine.folders import Folders
from rashpa.node.engine.limits.limit_books import LimitBooks
from rashpa.node.engine.native_emulator import link_options, native_endpoint
from rashpa.node.engine.native_ends import endpoint_of, placement_of
from rashpa.node.engine.native_errors import native_errors
from rashpa.node.engine.native_receiver import (
    masked_from,
    master_of,
    masters_of,
    missing_folders_of,
    prefixes_of,
    receiver_config,
    values_of,
)
from rashpa.node.engine.native_status import buffer_status, counts_of
from rashpa.node.engine.output_files import OlderFiles, release_output
from rashpa.node.engine.picture import Picture
from rashpa.node.engine.places.near_devices import near_destination
from rashpa.node.engine.places.numa import place_for
from rashpa.node.engine.preview import Preview, Shown
from rashpa.node.engine.simulated_card import SimulatedCard
from rashpa.node.host.here import rooted

_log = logging.getLogger(__name__)


def pictures_of(order: telegram.Destination, config: _native.ReceiverConfig) -> dict[str, Picture]:
    """Return the source of previews for each buffer."""
    return {one.name: Picture(one, made) for one, made in zip(order.buffers, config.buffers, strict=True)}


class NativeDestination:
    """Implements the interface of `engine` with a native receiver."""

    def __init__(self, order: telegram.Destination, run: int, folders: Folders) -> None:
        order = rooted(order, Path())
        self._receiver = order.receiver
        self._positions = {buffer.name: position for position, buffer in enumerate(order.buffers)}
        self._slots = [buffer.keys.slots for buffer in order.buffers]
        self._files = [master_of(buffer) for buffer in order.buffers]
        self._limits = [LimitBooks(buffer.kernels) for buffer in order.buffers]
        self._masked_from = [masked_from(buffer) for buffer in order.buffers]
        self._limit_files = [masters_of(buffer) for buffer in order.buffers]
        modules = [buffer.dtps[0].module if buffer.dtps else 0 for buffer in order.buffers]
        described = order.link == "stream2"
        self._series = list(zip(self._files, modules, strict=True)) if described else []  # until they are written
        self._new_folders = missing_folders_of(order)
        self._cards: dict[str, SimulatedCard] = {}  # by buffer
        with native_errors():
            self._place = place_for(f"receiver {order.receiver}", order.numa, near_destination(order))
        try:
            with native_errors(), self._place.bind(), contextlib.ExitStack() as at_end:
                for prefix in prefixes_of(order):
                    at_end.callback(release_output, prefix)
                self._older = [OlderFiles(prefix) for prefix in prefixes_of(order) if prefix.parent.is_dir()]
                config = receiver_config(order, run, folders)
                config.link = link_options(order.options)
                config.buffers = self._with_cards(order, config.buffers, folders)
                self._pictures = pictures_of(order, config)
                self._engine = _native.Receiver(config)
        except EngineError:
            self._end_cards()
            remove_empty(self._new_folders)
            raise

    def __del__(self) -> None:
        # a run that never began: its files go with the engine, and then its folders; and units before their cards
        self.__dict__.pop("_engine", None)
        self._end_cards()
        remove_empty(self.__dict__.get("_new_folders", []))

    def _with_cards(
        self, order: telegram.Destination, made: list[_native.BufferConfig], folders: Folders
    ) -> list[_native.BufferConfig]:
        """Return the configurations of buffers, with a card for each unit in hardware."""
        named = [folders.card_directory(buffer.card) if buffer.card else None for buffer in order.buffers]
        for buffer, config, directory in zip(order.buffers, made, named, strict=True):
            if buffer.card and directory is None:
                self._cards[buffer.name] = SimulatedCard("--unit")
                directory = self._cards[buffer.name].directory
            if directory is not None:
                config.device = str(directory)
        return made

    def _end_cards(self) -> None:
        for card in self.__dict__.pop("_cards", {}).values():
            card.close()

    def configured(self, node: str) -> Configured:
        endpoints = tuple(endpoint_of(endpoint) for endpoint in self._engine.endpoints())
        places = tuple(placement_of(place) for place in self._engine.placements())
        return Configured(node=node, endpoints=endpoints, placements=places)

    def arm(self, order: telegram.Arm) -> None:
        with native_errors():
            self._engine.arm([native_endpoint(endpoint) for endpoint in order.endpoints])

    def start(self) -> None:
        with native_errors(), self._place.bind():
            self._engine.start()
        for older in self._older:
            older.remove()

    def pause(self, frame: int = 0) -> None:  # noqa: ARG002  as of every engine
        raise EngineError("state", "a receiver cannot be paused; pause the emulator")

    def resume(self, rate_hz: float = 0.0) -> None:  # noqa: ARG002  as of every engine
        raise EngineError("state", "a receiver cannot be resumed; resume the emulator")

    def hold_deadlines(self, held: bool) -> None:
        self._engine.hold_deadlines(held)

    def set_limits(self, order: telegram.SetLimits) -> None:
        if order.buffer not in self._positions:
            raise EngineError("config", f"buffer: there is no {order.buffer}; there are {', '.join(self._positions)}")
        position = self._positions[order.buffer]
        before = self._masked_from[position]
        step = order.number + (before is not None and before <= order.number)  # behind the step that masks pixels

        def give(kernel: Kernel) -> int:
            with native_errors():
                return self._engine.adjust(position, step, values_of(kernel))

        self._limits[position].change(order, give)

    def trigger(self, frames: int) -> None:
        raise EngineError("state", f"a receiver has no trigger; send the trigger of {frames} frames to the emulator")

    def stop(self, order: telegram.Stop) -> None:
        with native_errors():
            self._engine.finish([(end.dtp, end.images) for end in order.ends])

    def join(self, order: telegram.Join) -> tuple[Endpoint, ...]:  # noqa: ARG002
        raise EngineError("state", "a receiver deals no images; ask the emulator")

    def deal(self, order: telegram.Resend | telegram.Feed) -> None:  # noqa: ARG002
        raise EngineError("state", "a receiver deals no images; ask the emulator")

    def abort(self) -> None:
        with native_errors():
            self._engine.stop()

    def wait(self, timeout_s: float) -> bool:
        if not self._engine.wait(timeout_s):
            return self._engine.status().state == "stopped"
        with native_errors():
            self._engine.stop()  # completes the files; the books stay as they are
        self._add_series()
        self._add_limits()
        return True

    def _add_limits(self) -> None:
        """Add the changes of limits to the files when they are complete, once."""
        files, self._limit_files = self._limit_files, []
        for books, masters in zip(self._limits, files, strict=False):
            if not books.changes:
                continue
            from rashpa.node.engine.limits.limit_table import write_limits  # h5py, for which no node waits

            for text in write_limits(books.changes, masters):
                _log.warning("%s", text)

    def _add_series(self) -> None:
        """Add the detector's own description of its series to the files when they are complete, once."""
        files, self._series = self._series, []
        if not files or not (said := self._engine.descriptions()):
            return
        from rashpa.node.engine.series_facts import write_all  # h5py, for which no node waits

        for text in write_all(said, files):
            _log.warning("%s", text)

    def status(self) -> DestinationStatus:
        status = self._engine.status()
        limits = [books.changes for books in self._limits]
        known = zip(status.buffers, self._slots, self._files, limits, strict=True)
        buffers = tuple(self._with_card(buffer_status(*one)) for one in known)
        counts = counts_of("link", status.link)
        memory = ", ".join(filter(None, (status.memory, self._place.words)))
        return DestinationStatus(
            receiver=self._receiver,
            elapsed_s=status.elapsed_s,
            memory=memory,
            first_incomplete=status.first_incomplete,
            counts=counts,
            buffers=buffers,
        )

    def _with_card(self, buffer: telegram.BufferStatus) -> telegram.BufferStatus:
        """Return the status with an error when the unit's card has died: the unit itself only waits for the card's answers."""
        card = self._cards.get(buffer.name)
        ended = card.ended() if card is not None else ""
        return dataclasses.replace(buffer, unit_error=ended) if ended else buffer

    def table(self, name: str, key: str) -> Table:
        if name not in ("completeness", "decisions") or key not in self._positions:
            known = ", ".join(self._positions)
            raise KeyError(
                f"a receiver has completeness and decisions of buffers {known}; not {name} of {key or 'nothing'}"
            )
        position = self._positions[key]
        return self._engine.completeness(position) if name == "completeness" else self._engine.decisions(position)

    def preview(self, key: str, of: Shown = "accepted") -> Preview | None:
        if key not in self._positions:
            raise KeyError(f"no buffer {key or 'without a name'}; there are {', '.join(self._positions)}")
        position = self._positions[key]
        found = self._engine.preview(position) if of == "accepted" else self._engine.first(position, of)
        return None if found is None else self._pictures[key].of(found)
