# SPDX-License-Identifier: Apache-2.0
"""Runs a native emulator as the engine of a node."""

import numpy as np

from rashpa import _native
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import (
    Configured,
    Endpoint,
    SourceStatus,
)
from rashpa.control.telegrams.telegram_status import REPLAYED
from rashpa.node.engine.engine import EngineError, Table
from rashpa.node.engine.folders import Folders
from rashpa.node.engine.native_emulator import emulator_config, link_of, link_options, source_dtp
from rashpa.node.engine.native_ends import endpoint_of
from rashpa.node.engine.native_errors import native_errors
from rashpa.node.engine.native_groups import group_status, native_member
from rashpa.node.engine.native_status import counts_of, source_dtp_status
from rashpa.node.engine.places.near_devices import near_source
from rashpa.node.engine.places.numa import place_for
from rashpa.node.engine.preview import Preview, Shown
from rashpa.node.engine.simulated_card import SimulatedCard


class NativeSource:
    """Implements the interface of `engine` with a native emulator."""

    def __init__(
        self, order: telegram.Source, run: int, folders: Folders, making: _native.Making | None = None
    ) -> None:
        self._emulator = order.emulator
        self._rate_hz = order.rate_hz
        self._trigger = order.trigger
        self._positions = {str(dtp.id): position for position, dtp in enumerate(order.dtps)}
        self._groups = tuple(group.name for group in order.groups)
        self._links = {one.kind: link_options(one) for one in order.options}
        self._run = run
        self._pixels = (order.height, order.width), order.pixel
        self._folders = folders
        self._seats = {
            str(dtp): (group.name, member.name)
            for group in order.groups
            for member in group.members
            for dtp in member.dtps
        }
        self._card: SimulatedCard | None = None
        with native_errors():
            self._place = place_for(f"emulator {order.emulator}", order.numa, near_source(order))
        try:
            with native_errors(), self._place.bind():
                config, self._replayed = emulator_config(order, run, folders, making)
                if order.card is not None:
                    config.card = self._card_config(order.card, folders)
                self._engine = _native.Emulator(config)
            self._rate_hz = config.rate_hz
        except EngineError:
            self._end_card()
            raise

    def __del__(self) -> None:
        # the driver goes before its card
        self.__dict__.pop("_engine", None)
        self._end_card()

    def _card_config(self, card: telegram.Card, folders: Folders) -> _native.CardConfig:
        directory = folders.card_directory(card.directory)
        if directory is None:
            self._card = SimulatedCard()
            directory = self._card.directory
        config = _native.CardConfig()
        config.directory = str(directory)
        config.mac = card.mac
        config.neighbours = {neighbour.address: neighbour.mac for neighbour in card.neighbours}
        return config

    def _end_card(self) -> None:
        card = self.__dict__.pop("_card", None)
        if card is not None:
            card.close()

    def configured(self, node: str) -> Configured:
        return Configured(node=node, endpoints=tuple(endpoint_of(endpoint) for endpoint in self._engine.endpoints()))

    def arm(self, order: telegram.Arm) -> None:
        """Do nothing: an emulator gets its destinations with Configure."""

    def start(self) -> None:
        with native_errors(), self._place.bind():
            self._engine.start()

    def pause(self, frame: int = 0) -> None:
        with native_errors():
            self._engine.pause(frame)

    def resume(self, rate_hz: float = 0.0) -> None:
        with native_errors():
            self._engine.resume(rate_hz)
        self._rate_hz = rate_hz or self._rate_hz

    def hold_deadlines(self, held: bool) -> None:  # noqa: ARG002  as of every engine
        raise EngineError("state", "an emulator waits for no image; tell the receiver")

    def set_limits(self, order: telegram.SetLimits) -> None:  # noqa: ARG002  as of every engine
        raise EngineError("state", "an emulator vetoes no image; tell the receiver")

    def trigger(self, frames: int) -> None:
        with native_errors():
            self._engine.trigger(frames)

    def stop(self, order: telegram.Stop) -> None:
        if order.frames == 0:
            return self.abort()
        with native_errors():
            self._engine.end_at(order.frames)
        return None

    def join(self, order: telegram.Join) -> tuple[Endpoint, ...]:
        dtps = []
        for dtp in order.dtps:
            dtps.append(source_dtp(dtp, self._run, *self._pixels, self._folders))
            dtps[-1].set_link(link_of(dtp, self._links), dtp.peer_link)
        with native_errors(), self._place.bind():
            ends = self._engine.join(order.group, native_member(order.member), dtps)
        first = len(self._positions)
        self._positions |= {str(dtp.id): first + number for number, dtp in enumerate(order.dtps)}
        self._seats |= {str(dtp): (order.group, order.member.name) for dtp in order.member.dtps}
        return tuple(endpoint_of(end) for end in ends)

    def deal(self, order: telegram.Resend | telegram.Feed) -> None:
        with native_errors():
            if isinstance(order, telegram.Resend):
                self._engine.eject(order.group, order.member, order.image)
            else:
                self._engine.feed(order.group, order.member, order.fed)

    def abort(self) -> None:
        with native_errors():
            self._engine.stop()

    def wait(self, timeout_s: float) -> bool:
        done = self._engine.wait(timeout_s)
        status = self._engine.status()
        if self._card is not None and (ended := self._card.ended()):
            raise EngineError("resource", ended)
        if status.error:
            raise EngineError("resource", status.error)
        return done or status.state == "stopped"

    def status(self) -> SourceStatus:
        status = self._engine.status()
        dtps = tuple(source_dtp_status(dtp) for dtp in status.dtps)
        counts = counts_of("injected", self._engine.injected()) + counts_of("card", status.card)
        if self._trigger == "software":
            counts += counts_of("trigger", status.triggers)
        if (books := self._replayed) is not None:
            counts += counts_of("dataset", {name: getattr(books, name) for name in REPLAYED})
        groups = tuple(map(group_status, self._groups, self._engine.groups()))
        begun = self._engine.begun()
        return SourceStatus(
            elapsed_s=status.elapsed_s,
            counts=counts,
            dtps=dtps,
            emulator=self._emulator,
            rate_hz=self._rate_hz,
            frames_begun=begun,
            groups=groups,
        )

    def table(self, name: str, key: str) -> Table:
        if name == "dealt" and key in self._seats:
            return self._engine.dealt(*self._seats[key]).astype("<u8").view(np.uint8)
        if name != "fates" or key not in self._positions:
            raise KeyError(
                f"an emulator has fates of DTPs {', '.join(self._positions)}; not {name} of {key or 'nothing'}"
            )
        return self._engine.fates(self._positions[key])

    def preview(self, key: str, of: Shown = "accepted") -> Preview | None:  # noqa: ARG002
        raise KeyError(f"an emulator has no buffer {key}; ask the receiver")
