# SPDX-License-Identifier: Apache-2.0
"""Defines the trial images for a receiver: each is sent whole or spoiled in one way, and has one right outcome."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from rashpa.node.judge.trial_sender import GOOD, Spoilt, SpoiltRecord, TrialSender

_FAR = 1 << 40  # bytes: beyond any receiver's memory
_SPOILT_LINE = 1


@dataclass(frozen=True)
class Outcome:
    """Holds a receiver's counts for one image of a DTP."""

    complete: int = 0
    partial: int = 0
    missing: int = 0
    lines_missing: int = 0


@dataclass(frozen=True)
class Trial:
    """Describes one trial image. `rule`: the rule that it tests; `words`: its description, which follows "an image"; `send`: sends it to the first
    DTP; `right`: the right outcome."""

    rule: str
    words: str
    send: Callable[[TrialSender, int, bytes], None]
    right: Outcome


def _whole(sender: TrialSender, image: int, pixels: bytes) -> None:
    for line in range(sender.place.lines):
        sender.line(image, line, pixels)
    sender.record(image, pixels)


def _backward(sender: TrialSender, image: int, pixels: bytes) -> None:
    for line in reversed(range(sender.place.lines)):
        sender.line(image, line, pixels)
    sender.record(image, pixels)


def _repeated(sender: TrialSender, image: int, pixels: bytes) -> None:
    for line in range(sender.place.lines):
        sender.line(image, line, pixels)
        sender.line(image, line, pixels)
    sender.record(image, pixels)


def _with_line(spoilt: Spoilt | None) -> Callable[[TrialSender, int, bytes], None]:
    """Return a function that sends an image with one line spoiled, or lost (None)."""

    def send(sender: TrialSender, image: int, pixels: bytes) -> None:
        for line in range(sender.place.lines):
            if line != _SPOILT_LINE:
                sender.line(image, line, pixels)
            elif spoilt is None:
                sender.skip_number()
            else:
                sender.line(image, line, pixels, spoilt)
        sender.record(image, pixels)

    return send


def _with_record(spoilt: SpoiltRecord | None) -> Callable[[TrialSender, int, bytes], None]:
    """Return a function that sends an image with its record spoiled, or lost (None)."""

    def send(sender: TrialSender, image: int, pixels: bytes) -> None:
        for line in range(sender.place.lines):
            sender.line(image, line, pixels)
        if spoilt is None:
            sender.skip_number()
        else:
            sender.record(image, pixels, spoilt)

    return send


def _nothing(sender: TrialSender, image: int, pixels: bytes) -> None:  # noqa: ARG001  as the others
    for _ in range(sender.place.lines + 1):
        sender.skip_number()


def trials(lines: int, on_loopback: bool) -> list[Trial]:
    """Return the trials in order, with good images between bad ones. `on_loopback`: packets of a stranger come from another address of this machine."""
    whole = Trial("images", "that came whole", _whole, Outcome(complete=1))
    one_line = Outcome(partial=1, lines_missing=1)
    gone = Outcome(missing=1, lines_missing=lines)
    found = [
        *[whole] * 6,
        Trial("order", "whose lines came backward", _backward, Outcome(complete=1)),
        Trial("order", "whose lines came twice", _repeated, Outcome(complete=1)),
        Trial("loss", "of which a line was lost", _with_line(None), one_line),
        Trial("loss", "whose record was lost", _with_record(None), gone),
        Trial("loss", "of which nothing came", _nothing, gone),
        whole,
    ]
    strangers = {
        "with a wrong ICRC": Spoilt(flip_icrc=True),
        "with a wrong key": Spoilt(key=1),
        "for a place out of bounds": Spoilt(place=_FAR),
        "for another queue pair": Spoilt(qpn=1 << 22),
        "with partition key 0x7fff": Spoilt(partition=0x7FFF),
        "with version 1": Spoilt(version=1),
        **({"from another address": replace(GOOD, stranger=True)} if on_loopback else {}),
    }
    found += [
        Trial("strangers", f"of which one line came {what}", _with_line(spoilt), one_line)
        for what, spoilt in strangers.items()
    ]
    records = {
        "of another run": SpoiltRecord(run=1),
        "of another slot": SpoiltRecord(slot=1),
        "of another number of lines": SpoiltRecord(lines=1),
        "whose own CRC32C is wrong": SpoiltRecord(own_crc=True),
    }
    found += [Trial("records", f"with a record {what}", _with_record(one), gone) for what, one in records.items()]
    unproven = Outcome(partial=1, lines_missing=lines)
    lie = SpoiltRecord(payload_crc=1)
    return [*found, Trial("checksum", "whose lines have another CRC32C", _with_record(lie), unproven), whole]
