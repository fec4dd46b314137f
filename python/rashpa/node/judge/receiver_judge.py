# SPDX-License-Identifier: Apache-2.0
"""Tests a receiver of another maker: gives it the orders of a run, sends images that are whole or spoiled on purpose, and compares its books and
credits."""

import asyncio
import ipaddress
import os
import secrets
import socket
import urllib.parse
from collections.abc import Sequence
from itertools import pairwise

from rashpa.control.nodes.node_client import NodeClient, NodeError
from rashpa.control.runfile.engine_keys import BufferKeys
from rashpa.control.runfile.links import default_options
from rashpa.control.runfile.sink_sections import NullSink
from rashpa.control.telegrams import telegram, telegram_xml
from rashpa.control.telegrams.telegram import Configured, DestinationDtpStatus, Placement, Status
from rashpa.control.telegrams.telegram_xml import TelegramError
from rashpa.node.judge.receiver_rules import RECEIVER_RULES
from rashpa.node.judge.rules import Verdicts
from rashpa.node.judge.trial_sender import TrialSender
from rashpa.node.judge.trials import Outcome, Trial, trials

_WIDTH, _HEIGHT, _PIXEL_BYTES, _SLOTS = 96, 5, 2, 4
_RECORD_BYTES = 128
_MODULES = 2
_DEADLINE_MS = 150
_LOOK_S = 0.02
_LESS = 2  # images that are told and never sent
_RESTARTED = 6  # images of the second run
_WRONG_TELEGRAMS = (
    ("a text that is no telegram", b"hello", ()),
    ("an order with two faults", b'<Configure xmlns="urn:rashpa:telegram:2" version="2"><Destination><Buffer name="full" width="0" height="8" images="0">'
     b'<DestinationDtp id="0" width="8" height="8"/><Sink><null/></Sink></Buffer></Destination></Configure>', ("width", "images")),
    ("Start before Configure", b'<Start xmlns="urn:rashpa:telegram:2" version="2"/>', ()),
)  # fmt: skip


class ReceiverJudge:
    """Tests the receiver at `url`. `patience_s`: the longest wait in seconds for a credit, a decision, or the end of a run."""

    def __init__(self, url: str, patience_s: float) -> None:
        self.verdicts = Verdicts(RECEIVER_RULES)
        self._url, self._patience_s = url.rstrip("/"), patience_s
        self._own, self._receiver = _way_to(self._url)
        self._owner = secrets.token_hex(16)
        token = os.environ.get("RASHPA_TOKEN", "")
        self._node = NodeClient("receiver", self._url, token=token, owner=self._owner)
        self._other = NodeClient("receiver", self._url, token=token, owner=secrets.token_hex(16))
        self._senders: list[TrialSender] = []
        self._made: list[TrialSender] = []  # of both runs

    async def judge(self) -> str:
        """Carry out two runs. Return the problem that ended them early, empty without one. Raise NodeError when the receiver cannot be reached."""
        try:
            if (await self._node.capabilities()).role != "receiver":
                raise NodeError("receiver", f"{self._url} is no receiver; give the URL of one", "config")
            return await self._carry_out()
        finally:
            for sender in self._made:
                sender.close()
            await self._free()
            await self._node.close()
            await self._other.close()

    async def _carry_out(self) -> str:
        try:
            await self._judge_refusals()
            await self._first_run()
            await self._second_run()
        except _EndedError as error:
            return str(error)
        except NodeError as error:
            if error.lost:
                raise
            return f"the receiver refuses a right order: {error}"
        return ""

    async def _free(self) -> None:
        try:
            await self._node.order(telegram.Reset())
        except NodeError:
            return  # it is nobody's, or says nothing any more

    # ---- telegrams -----------------------------------------------------------------------------------------------------------------

    async def _judge_refusals(self) -> None:
        for what, text, words in _WRONG_TELEGRAMS:
            answer = await self._node.raw(text)
            try:
                reply = telegram_xml.decode(answer)
            except TelegramError:
                self.verdicts.fail("refusals", f"{what} is answered by no telegram: {answer[:80]!r}")
                continue
            lacking = [word for word in words if word not in getattr(reply, "text", "")]
            if not isinstance(reply, telegram.Fault):
                self.verdicts.fail("refusals", f"{what} is answered by {type(reply).__name__}; a Fault")
            elif lacking:
                self.verdicts.fail(
                    "refusals", f"the Fault of {what} does not name {' and '.join(lacking)}: {reply.text}"
                )
            else:
                self.verdicts.keep("refusals")
        if (state := (await self._node.status()).state) != "idle":
            self.verdicts.fail("refusals", f"the receiver is {state} behind telegrams that it refused; idle")

    async def _refuses(self, rule: str, node: NodeClient, order: telegram.Telegram, what: str) -> None:
        """Send an order that the receiver must refuse, and record whether it does."""
        try:
            await node.order(order)
        except NodeError as error:
            if error.lost:
                raise
            self.verdicts.keep(rule)
        else:
            self.verdicts.fail(rule, f"{what} is obeyed; a Fault")

    def _configure(self, run: int, flow: str, images: int) -> telegram.Configure:
        buffer = telegram.Buffer(
            name="judged",
            width=_WIDTH,
            height=_MODULES * _HEIGHT,
            keys=BufferKeys(slots=_SLOTS, stack=1, deadline_ms=_DEADLINE_MS),
            images=images,
            dtps=tuple(
                telegram.DestinationDtp(id=3 + n, module=n, y=n * _HEIGHT, width=_WIDTH, height=_HEIGHT)
                for n in range(_MODULES)
            ),
            sinks=(NullSink(kind="null"),),
        )
        destination = telegram.Destination(
            bind_address=self._receiver, flow=flow, buffers=(buffer,), options=default_options("roce")
        )
        return telegram.Configure(run=run, name="judged", destination=destination)

    def _take_places(self, answer: Configured, run: int, credits_used: bool) -> None:
        """Check the receiver's Endpoints and Placements, and make a sender for each."""
        ends, places = answer.endpoints, answer.placements
        if len(ends) != _MODULES or len(places) != _MODULES:
            text = f"{len(ends)} Endpoints and {len(places)} Placements for {_MODULES} data transfer processes"
            self.verdicts.fail("endpoint", text)
            raise _EndedError(text)
        for end in ends:
            bad = not _is_address(end.address) or not 0 < end.port < 1 << 16 or not 0 < end.qpn < 1 << 24
            if bad:
                text = f'Endpoint address "{end.address}" port {end.port} qpn {end.qpn} is none to which packets can go'
                self.verdicts.fail("endpoint", text)
                raise _EndedError(text)
            self.verdicts.keep("endpoint")
        self._judge_places(places)
        self._senders = [
            TrialSender(3 + n, run, end, place, self._own, self.verdicts, credits_used)
            for n, (end, place) in enumerate(zip(ends, places, strict=True))
        ]
        self._made += self._senders

    def _judge_places(self, places: Sequence[Placement]) -> None:
        right = {"slots": _SLOTS, "lines": _HEIGHT, "line_bytes": _WIDTH * _PIXEL_BYTES}
        wrong = [
            f"{name} {getattr(place, name)}; {value}" for place in places for name, value in right.items() if getattr(place, name) != value
        ]  # fmt: skip
        spans = sorted(span for place in places for span in _spans(place))
        wrong += [
            f"bytes {before[0]} … {before[1]} and {after[0]} … {after[1]} are given to two parts"
            for before, after in pairwise(spans)
            if before[1] > after[0]
        ]
        for text in wrong[:1]:
            self.verdicts.fail("placement", text)
        if not wrong:
            self.verdicts.keep("placement")

    # ---- runs ----------------------------------------------------------------------------------------------------------------------

    async def _begin(self, run: int, flow: str, images: int) -> None:
        first = run == 1
        if first:
            await self._refuses("telegrams", self._node, telegram.Arm(endpoints=()), "Arm before Configure")
        answer = await self._node.configure(self._configure(run, flow, images))
        self._take_places(answer, run, flow == "credits")
        arm = telegram.Arm(endpoints=tuple(sender.endpoint for sender in self._senders))
        if first:
            await self._refuses("telegrams", self._node, telegram.Start(), "Start before Arm")
            await self._refuses("owner", self._other, arm, "Arm of another owner")
            await self._refuses("owner", self._other, telegram.Reset(), "Reset of another owner")
        await self._node.order(arm)
        await self._node.order(telegram.Start())
        self.verdicts.keep("telegrams")

    async def _first_run(self) -> None:
        """Send all trial images, one after the other, and announce more images than were sent."""
        plan = trials(_HEIGHT, ipaddress.ip_address(self._own).is_loopback and ":" not in self._own)
        await self._begin(1, "credits", len(plan) + _LESS)
        for image, trial in enumerate(plan):
            await self._try(image, trial)
        await self._end(len(plan), len(plan) + _LESS)

    async def _second_run(self) -> None:
        """Carry out another run without credits, with packets of the first run among its own."""
        old = self._senders
        await self._node.order(telegram.Reset())
        if (state := (await self._node.status()).state) != "idle":
            self.verdicts.fail("restart", f"the receiver is {state} behind Reset; idle")
        await self._begin(2, "paced", _RESTARTED)
        whole = trials(_HEIGHT, on_loopback=False)[0]
        for image in range(_RESTARTED):
            pixels = _pixels(image)
            old[0].line(image, 0, bytes(len(pixels)))
            old[0].record(image, pixels)
            before = await self._dtp_books()
            for sender in self._senders:
                whole.send(sender, image, pixels)
            found = _change(before, await self._decided(image + 1, "restart"))
            if found == whole.right:
                self.verdicts.keep("restart")
            else:
                self.verdicts.fail("restart", f"image {image} of the second run counts as {found}; {whole.right}")
        for sender in self._senders:
            sender.take_credits()
        if not self.verdicts.by_rule["paced"].broken:
            self.verdicts.keep("paced")
        await self._end(_RESTARTED, _RESTARTED)

    async def _try(self, image: int, trial: Trial) -> None:
        await self._wait_for_credit(image)
        pixels = _pixels(image)
        before = await self._dtp_books()
        trial.send(self._senders[0], image, pixels)
        for sender in self._senders[1:]:
            for line in range(sender.place.lines):
                sender.line(image, line, pixels)
            sender.record(image, pixels)
        for sender in self._senders:
            sender.sent_images = image + 1
        found = _change(before, await self._decided(image + 1, trial.rule))
        if found == trial.right:
            self.verdicts.keep(trial.rule)
        else:
            text = f"image {image}, {trial.words}, counts as {_words(found)}; {_words(trial.right)}"
            self.verdicts.fail(trial.rule, text)

    async def _wait_for_credit(self, image: int) -> None:
        until = asyncio.get_running_loop().time() + self._patience_s
        while True:
            for sender in self._senders:
                sender.take_credits()
            if all(sender.granted > image for sender in self._senders):
                return
            if asyncio.get_running_loop().time() > until:
                granted = min(sender.granted for sender in self._senders)
                text = f"no credit for image {image} within {self._patience_s:g} s; {granted} are granted"
                self.verdicts.fail("credits", text)
                raise _EndedError(text)
            await asyncio.sleep(_LOOK_S)

    async def _decided(self, images: int, rule: str) -> DestinationDtpStatus:
        """Wait until the receiver has decided `images` images of the first DTP, and return its books. If it does not, record a broken rule."""
        until = asyncio.get_running_loop().time() + self._patience_s + _DEADLINE_MS / 1000
        while True:
            status = await self._node.status()
            books = _first_dtp(status)
            self._judge_books(status)
            for sender in self._senders:
                sender.take_credits()
            if books.complete + books.partial + books.missing >= images:
                return books
            if asyncio.get_running_loop().time() > until:
                text = f"image {images - 1} is not decided within {self._patience_s:g} s beyond its deadline"
                self.verdicts.fail(rule, text)
                raise _EndedError(text)
            await asyncio.sleep(_LOOK_S)

    async def _dtp_books(self) -> DestinationDtpStatus:
        return _first_dtp(await self._node.status())

    def _judge_books(self, status: Status) -> None:
        for buffer in status.destination.buffers if status.destination else ():
            books = buffer.books
            decided = books.accepted + books.vetoed + books.errored
            arrived = books.complete + books.partial
            if decided > arrived or arrived + books.missing > books.expected or books.written > books.accepted:
                self.verdicts.fail("books", f"{books} do not balance")
            else:
                self.verdicts.keep("books")

    async def _end(self, sent: int, told: int) -> None:
        """Announce `told` images after `sent` images were sent, and check the end of the run."""
        ends = tuple(telegram.DtpEnd(dtp=sender.dtp, images=told) for sender in self._senders)
        before = await self._dtp_books()
        await self._node.order(telegram.Stop(ends=ends))
        until = asyncio.get_running_loop().time() + self._patience_s + _DEADLINE_MS / 1000
        while (status := await self._node.status()).state != "finished":
            if asyncio.get_running_loop().time() > until:
                text = f"the receiver is {status.state} {self._patience_s:g} s behind Stop and deadline; finished"
                self.verdicts.fail("end", text)
                return
            await asyncio.sleep(_LOOK_S)
        found, right = _first_dtp(status).missing - before.missing, told - sent
        books = status.destination.buffers[0].books if status.destination else telegram.Books()
        whole = books.expected == told == books.complete + books.partial + books.missing
        if found == right and whole:
            self.verdicts.keep("end")
        else:
            self.verdicts.fail("end", f"{found} images are missing behind Stop, and {books}; {right} of {told}")


class _EndedError(Exception):
    """Ends a run that cannot continue; its text is the problem."""


def _way_to(url: str) -> tuple[str, str]:
    """Return this machine's address on the route to a URL, and the URL's address."""
    parts = urllib.parse.urlsplit(url)
    try:
        found = socket.getaddrinfo(parts.hostname, parts.port or 80, type=socket.SOCK_DGRAM)
        with socket.socket(found[0][0], socket.SOCK_DGRAM) as probe:
            probe.connect(found[0][4])
            return str(probe.getsockname()[0]), str(probe.getpeername()[0])
    except OSError as error:
        raise OSError(f"--receiver {url}: {error.strerror}; give a URL such as http://127.0.0.1:4781") from None


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return True


def _spans(place: Placement) -> list[tuple[int, int]]:
    """Return the byte ranges of each line of each slot, and of each record."""
    lines = [
        place.pixels_offset + slot * place.slot_bytes + place.first_line_offset + line * place.pitch
        for slot in range(place.slots)
        for line in range(place.lines)
    ]
    return [
        *((at, at + place.line_bytes) for at in lines),
        (place.records_offset, place.records_offset + place.slots * _RECORD_BYTES),
    ]


def _pixels(image: int) -> bytes:
    return bytes((image + place) % 251 for place in range(_WIDTH * _HEIGHT * _PIXEL_BYTES))


def _first_dtp(status: Status) -> DestinationDtpStatus:
    dtps = [dtp for buffer in (status.destination.buffers if status.destination else ()) for dtp in buffer.dtps]
    if not dtps:
        raise _EndedError("the Status has no books of a DTP")
    return dtps[0]


def _change(before: DestinationDtpStatus, now: DestinationDtpStatus) -> Outcome:
    names = ("complete", "partial", "missing", "lines_missing")
    return Outcome(**{name: getattr(now, name) - getattr(before, name) for name in names})


def _words(outcome: Outcome) -> str:
    counted = {"complete": outcome.complete, "partial": outcome.partial, "missing": outcome.missing}
    said = [f"{count} {name}" for name, count in counted.items() if count] or ["nothing"]
    return f"{', '.join(said)}, {outcome.lines_missing} lines missing"
