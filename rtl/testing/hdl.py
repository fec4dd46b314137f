# SPDX-License-Identifier: Apache-2.0
"""What cocotb benches need to know of rtl/package: packed structs as numbers, enumerations, words of the table."""

import re
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "package"
RASHPA = (PACKAGE / "rashpa_pkg.sv").read_text(encoding="utf-8")
REGISTERS = (PACKAGE / "card_registers_pkg.sv").read_text(encoding="utf-8")

# Numbers by name: those of the table's words, and of rashpa_pkg's enumerations.
NAMES = {m[1]: int(m[2]) for m in re.finditer(r"(\w+) = (?:\d+'d)?(\d+)[;,\n]", REGISTERS)}
NAMES |= {m[1]: int(m[2]) for m in re.finditer(r"^ *(\w+) += \d+'d(\d+)", RASHPA, re.MULTILINE)}

_WIDTHS = {"dtp_t": 4, "packet_kind_e": 3}


class Struct:
    """A packed struct of rashpa_pkg: numbers of a port to fields, and back."""

    def __init__(self, name: str) -> None:
        bodies = re.findall(r"typedef struct packed \{([^}]*)\} (\w+);", RASHPA)
        body = next(body for body, of in bodies if of == name)
        declared = re.findall(r"^\s*(\w+)\s*(?:\[(\d+):0\])?\s*(\w+);", body, re.MULTILINE)
        self.fields: dict[str, tuple[int, int]] = {}  # lowest bit, bits
        at = 0
        for kind, high, field in reversed(declared):
            bits = int(high) + 1 if high else _WIDTHS.get(kind, 1)
            self.fields[field] = (at, bits)
            at += bits
        self.bits = at

    def pack(self, **values: int) -> int:
        """Fields that are not named are 0."""
        packed = 0
        for field, value in values.items():
            at, bits = self.fields[field]
            if value >> bits:
                raise ValueError(f"{field}: {value:#x} is of more than {bits} bits")
            packed |= value << at
        return packed

    def unpack(self, packed: int) -> dict[str, int]:
        return {field: packed >> at & ((1 << bits) - 1) for field, (at, bits) in self.fields.items()}


TABLE_WRITE = Struct("table_write_t")


def table_write(dtp: int, word: str, value: int) -> int:
    """A write of a word of the table, by its name in schema/card_registers.rdl's package: "Mtu"."""
    return TABLE_WRITE.pack(valid=1, dtp=dtp, word=NAMES[f"DtpTable{word}Word"], data=value)
