# SPDX-License-Identifier: Apache-2.0
"""Lists the rules of the protocol for a sender, and counts how often each was kept and broken."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

RULES = MappingProxyType(
    {
        "telegrams": "orders come in their order, and each is obeyed",
        "endpoint": "the sender's own end is one to which credits can go",
        "packet": "lengths, opcode, version, partition key, pad and queue pair are right",
        "sequence": "packet sequence numbers begin with the number told, and rise by one",
        "icrc": "the invariant CRC is right",
        "address": "packets come from the address of the sender's end",
        "key": "packets have the key of the receiver's memory",
        "bounds": "each packet lies in a line of its data transfer process, or is a record",
        "alignment": "packets begin and end on multiples of 64 bytes, counted in the payload",
        "credits": "no image is sent before its slot is granted",
        "lines": "all lines of an image come before its record",
        "record": "the frame record names image, slot, lines, bytes and run, and the immediate fits",
        "checksum": "the record has the CRC32C of the lines that came",
        "patience": "credits that are lost, repeated or overtaken do no harm",
        "end": "Stop tells as many images as were sent, and Reset frees the receiver",
    }
)
_MOST = 3  # of one rule are told in words
_SHOWN_BYTES = 160


@dataclass
class Verdict:
    """Counts how often one rule was kept and broken. `faults`: texts of the first faults, with the packet in hex where there is one."""

    kept: int = 0
    broken: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def word(self) -> str:
        return "broken" if self.broken else "kept" if self.kept else "not seen"


class Verdicts:
    """Collects the verdicts on all rules. Any thread may call it."""

    def __init__(self, rules: Mapping[str, str] = RULES) -> None:
        self._lock = threading.Lock()
        self.rules = rules
        self.by_rule = {rule: Verdict() for rule in rules}

    def keep(self, *rules: str) -> None:
        with self._lock:
            for rule in rules:
                self.by_rule[rule].kept += 1

    def fail(self, rule: str, text: str, packet: bytes = b"") -> None:
        """Count a broken rule. `text` has the value found and the right one."""
        with self._lock:
            verdict = self.by_rule[rule]
            verdict.broken += 1
            if len(verdict.faults) < _MOST:
                shown = packet[:_SHOWN_BYTES].hex() + ("…" if len(packet) > _SHOWN_BYTES else "")
                verdict.faults.append(f"{text}: {shown}" if packet else text)

    @property
    def broken(self) -> bool:
        with self._lock:
            return any(verdict.broken for verdict in self.by_rule.values())

    @property
    def whole(self) -> bool:
        """Return True when each rule was exercised, and none was broken."""
        with self._lock:
            return all(verdict.word == "kept" for verdict in self.by_rule.values())
