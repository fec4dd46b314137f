#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes packages, headers and pages for cards and their drivers from schema/card_registers.rdl and schema/unit_registers.rdl.

Usage: make_card_registers.py [--check]. It needs the package systemrdl-compiler (requirements/lint.in, rtl.in). Writes packages into rtl/package,
headers into src/rashpa/card and pages into docs/reference; with --check compares them instead, exit 1 when one is out of date.
"""

import itertools
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TABLE = "dtp_table"


@dataclass(frozen=True)
class Field:
    """Describes bits of a word. The only field of a word is called `value`."""

    name: str
    lsb: int
    width: int
    desc: str
    enum: str


@dataclass(frozen=True)
class Register:
    """Describes one register, or several consecutive ones."""

    name: str
    address: int  # in its group
    words: int
    desc: str
    writer: str
    fields: tuple[Field, ...]

    @property
    def plain(self) -> bool:
        """Return True when the register holds a single value."""
        return self.fields[0].name == "value"


@dataclass(frozen=True)
class Group:
    """Describes consecutive registers, which may be repeated."""

    name: str
    address: int
    count: int
    stride: int
    registers: tuple[Register, ...]


@dataclass(frozen=True)
class Map:
    """Holds the whole register map."""

    name: str
    title: str
    size: int
    groups: tuple[Group, ...]
    enums: tuple[tuple[str, tuple[tuple[str, int, str], ...]], ...]

    @property
    def made(self) -> str:
        """Return the first line of each made file."""
        return f"Made by tools/make_card_registers.py of schema/{self.name}.rdl; do not edit"

    @property
    def namespace(self) -> str:
        """Return the namespace of the header; that of the sender is the oldest."""
        return "registers" if self.name == "card_registers" else self.name


def read(path: Path) -> Map:
    """Compile and return the description."""
    from systemrdl.compiler import RDLCompiler
    from systemrdl.node import AddressableNode, FieldNode, RegfileNode, RegNode

    compiler = RDLCompiler()
    compiler.compile_file(str(path))
    top = compiler.elaborate().top
    enums: dict[str, tuple[tuple[str, int, str], ...]] = {}

    def place(node: AddressableNode) -> tuple[int, int, int]:
        if node.array_dimensions is None or node.array_stride is None:
            return node.raw_address_offset, 1, node.size
        return node.raw_address_offset, node.array_dimensions[0], node.array_stride

    def field(node: FieldNode) -> Field:
        encode: Any = node.get_property("encode")
        if encode is not None:
            enums[encode.type_name] = tuple((m.name, m.value, m.rdl_desc or "") for m in encode)
        return Field(
            node.inst_name,
            node.low,
            node.width,
            node.get_property("desc") or "",
            "" if encode is None else encode.type_name,
        )

    def register(node: RegNode) -> Register:
        address, words, _ = place(node)
        fields = tuple(field(f) for f in node.fields())
        software = next(iter(node.fields())).is_sw_writable
        return Register(
            node.inst_name,
            address,
            words,
            node.get_property("desc") or "",
            "software" if software else "card",
            fields,
        )

    def group(node: RegfileNode) -> Group:
        return Group(node.inst_name, *place(node), tuple(register(r) for r in node.registers()))

    groups = tuple(group(g) for g in top.children() if isinstance(g, RegfileNode))
    return Map(top.inst_name, top.get_property("name") or "", top.size, groups, tuple(enums.items()))


def camel(name: str) -> str:
    """Return a name such as wait_wire in the form WaitWire."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def systemverilog(registers: Map) -> str:
    """Return the SystemVerilog package."""
    bits = (registers.size - 1).bit_length()
    lines = ["// SPDX-License-Identifier: Apache-2.0", f"// {registers.made}."]
    lines += ["/* verilator lint_off UNUSEDPARAM */", f"package {registers.name}_pkg;"]
    lines += ["", "  // Addresses are bytes in the page.", f"  localparam int unsigned AddressBits = {bits};"]
    for name, members in registers.enums:
        width = max(1, max(value for _, value, _ in members).bit_length())
        lines += ["", f"  typedef enum logic [{width - 1}:0] {{"]
        last = members[-1][0]
        lines += [f"    {camel(name)}{camel(m)} = {width}'d{v}{',' if m != last else ''}" for m, v, _ in members]
        lines += [f"  }} {name}_e;"]
    for group in registers.groups:
        prefix = camel(group.name)
        lines += ["", f"  localparam logic [{bits - 1}:0] {prefix}Base = {bits}'h{group.address:04x};"]
        if group.count > 1:
            lines += [f"  localparam int unsigned {prefix}Count = {group.count};"]
            lines += [f"  localparam int unsigned {prefix}Stride = {group.stride};"]
        for register in group.registers:
            if group.count == 1:
                address = f"{bits}'h{group.address + register.address:04x}"
                lines += [f"  localparam logic [{bits - 1}:0] {prefix}{camel(register.name)}Address = {address};"]
            else:
                size = (group.stride // 4 - 1).bit_length()
                word = f"{size}'d{register.address // 4}"
                lines += [f"  localparam logic [{size - 1}:0] {prefix}{camel(register.name)}Word = {word};"]
            if register.plain:
                continue
            for field in register.fields:
                name = f"{prefix}{camel(register.name)}{camel(field.name)}"
                lines += [f"  localparam int unsigned {name}Lsb = {field.lsb};"]
                lines += [f"  localparam int unsigned {name}Width = {field.width};"]
    return "\n".join([*lines, "", "endpackage", "/* verilator lint_on UNUSEDPARAM */", ""])


def cxx(registers: Map) -> str:
    """Return the C++ header of the driver."""
    first = registers.namespace == "registers"
    out = [
        "// SPDX-License-Identifier: Apache-2.0",
        "#pragma once",
        f"/// {registers.made}.",
        f"/// {registers.title}: bytes in the page. Plain constants, any thread.",
        *(["#include <array>"] if first else []),
        "#include <cstddef>",
        "#include <cstdint>",
        *([] if first else ["", '#include "rashpa/card/registers.hpp"']),
        "",
        "// clang-format off",
        "",
        f"namespace rashpa::card::{registers.namespace} {{",
        "",
        f"inline constexpr std::size_t kPageBytes = 0x{registers.size:X};",
        "",
        *(_CXX_FIELD if first else ["using registers::Field;", ""]),
    ]
    for name, members in registers.enums:
        out += [f"enum class {camel(name)} : std::uint32_t {{"]
        out += [f"  {member} = {value},  ///< {desc}" for member, value, desc in members]
        out += ["};", ""]
    for group in registers.groups:
        out += _cxx_group(group)
    for table in (g for g in registers.groups if g.name == TABLE):
        out += _cxx_table(table)
    return "\n".join([*out, "", f"}}  // namespace rashpa::card::{registers.namespace}", ""])


_CXX_FIELD = [
    "/// Some bits of a word.",
    "struct Field {",
    "  std::uint32_t lsb;",
    "  std::uint32_t width;",
    "  [[nodiscard]] constexpr std::uint32_t mask() const noexcept {",
    "    return width == 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << width) - 1;",
    "  }",
    "  [[nodiscard]] constexpr std::uint32_t get(std::uint32_t word) const noexcept { return (word >> lsb) & mask(); }",
    "  [[nodiscard]] constexpr std::uint32_t put(std::uint32_t value) const noexcept { return (value & mask()) << lsb; }",
    "};",
    "",
]


def _cxx_group(group: Group) -> Iterator[str]:
    yield f"namespace {group.name} {{"
    if group.count > 1:
        yield f"inline constexpr std::size_t kCount = {group.count};"
        last = max(r.address // 4 + r.words for r in group.registers)
        yield f"inline constexpr std::size_t kWords = {last};"
        yield "/// First byte of the one at place `index`."
        yield f"constexpr std::uint32_t at(std::size_t index) noexcept {{ return 0x{group.address:X} + static_cast<std::uint32_t>(index) * 0x{group.stride:X}; }}"
        yield "// Offsets below are added to at()."
    base = group.address if group.count == 1 else 0
    for register in group.registers:
        yield f"inline constexpr std::uint32_t k{camel(register.name)} = 0x{base + register.address:X};  ///< {register.desc}"
        if not register.plain:
            for field in register.fields:
                yield f"inline constexpr Field k{camel(register.name)}{camel(field.name)}{{{field.lsb}, {field.width}}};  ///< {field.desc}"
    yield f"}}  // namespace {group.name}"
    yield ""


def _cxx_table(table: Group) -> Iterator[str]:
    yield "/// One DTP as the card knows it."
    yield "struct DtpTable {"
    stores = []
    for register in table.registers:
        word = register.address // 4
        if not register.plain:
            for field in register.fields:
                name = field.name if field.name.startswith(register.name) else f"{register.name}_{field.name}"
                kind = "bool" if field.width == 1 else "std::uint32_t"
                yield f"  {kind} {name} = {'false' if field.width == 1 else '0'};  ///< {field.desc}"
            parts = " | ".join(
                f"{table.name}::k{camel(register.name)}{camel(f.name)}.put({'' if f.width > 1 else 'std::uint32_t{'}table.{f.name if f.name.startswith(register.name) else f'{register.name}_{f.name}'}{'' if f.width > 1 else '}'})"
                for f in register.fields
            )
            stores += [f"  words[{word}] = {parts};"]
        elif register.words == 1:
            yield f"  std::uint32_t {register.name} = 0;  ///< {register.desc}"
            stores += [f"  words[{word}] = table.{register.name};"]
        elif register.words == 2:
            yield f"  std::uint64_t {register.name} = 0;  ///< {register.desc}"
            stores += [f"  words[{word}] = static_cast<std::uint32_t>(table.{register.name});"]
            stores += [f"  words[{word + 1}] = static_cast<std::uint32_t>(table.{register.name} >> 32);"]
        else:
            yield f"  std::array<std::uint32_t, {register.words}> {register.name}{{}};  ///< {register.desc}"
            stores += [f"  words[{word + i}] = table.{register.name}[{i}];" for i in range(register.words)]
    yield "};"
    yield ""
    yield "/// Returns it word by word, as it lies in the page from dtp_table::at(dtp)."
    yield f"constexpr std::array<std::uint32_t, {table.name}::kWords> words_of(const DtpTable& table) noexcept {{"
    yield f"  std::array<std::uint32_t, {table.name}::kWords> words{{}};"
    yield from stores
    yield "  return words;"
    yield "}"
    yield ""
    yield "/// The register of the table that word `word` belongs to; for messages."
    yield "constexpr const char* name_of_word(std::uint32_t word) noexcept {"
    for register in reversed(table.registers[1:]):
        yield f'  if (word >= {register.address // 4}) return "{register.name}";'
    yield f'  return "{table.registers[0].name}";'
    yield "}"


def markdown(registers: Map) -> str:
    """Return the page of the reference."""
    lines = [
        f"<!-- {registers.made}. -->",
        f"# {registers.title}",
        "",
        f"One page of {registers.size // 1024} KiB, words of 32 bits, little endian. One side writes a word, and reading changes nothing. Commands are",
        "monotone counters. 64-bit values are two words, the low one first: read high, low, high until both high words agree. MAC and IP",
        "addresses lie as on the wire, first byte in bits 7 … 0; all else is a number. Doorbells lie at the end: the carrier of writes applies",
        "them last, in the order of their addresses.",
    ]
    for group in registers.groups:
        times = f", {group.count} times, {group.stride} bytes apart" if group.count > 1 else ""
        lines += ["", f"## {group.name}", "", f"From 0x{group.address:04X}{times}; offsets below.", ""]
        head = "| offset | word | name | words | written by | meaning |" if group.count > 1 else ""
        lines += [head or "| address | name | words | written by | meaning |"]
        lines += ["|---|---|---|---|---|---|" if head else "|---|---|---|---|---|"]
        for register in group.registers:
            meaning = register.desc
            if not register.plain:
                bits = (f"{_bits(f)} `{f.name}`: {f.desc}{_enum(f)}" for f in register.fields)
                meaning += " " + " ".join(f"{part.removesuffix('.')}." for part in bits)
            elif register.fields[0].enum:
                meaning += _enum(register.fields[0])
            base = group.address if group.count == 1 else 0
            word = f"{register.address // 4} | " if group.count > 1 else ""
            lines += [
                f"| 0x{base + register.address:0{4 if group.count == 1 else 2}X} | {word}`{register.name}` | {register.words} | {register.writer} | {meaning} |"
            ]
    for name, members in registers.enums:
        lines += ["", f"## Values of {name}", "", "| value | name | meaning |", "|---|---|---|"]
        lines += [f"| {value} | `{member}` | {desc} |" for member, value, desc in members]
    return "\n".join([*lines, ""])


def _bits(field: Field) -> str:
    return f"Bit {field.lsb}" if field.width == 1 else f"Bits {field.lsb + field.width - 1} … {field.lsb}"


def _enum(field: Field) -> str:
    return f" (values of {field.enum} below)" if field.enum else ""


def outputs(registers: Map) -> dict[Path, str]:
    """Return every file and its text."""
    return {
        ROOT / "rtl" / "package" / f"{registers.name}_pkg.sv": systemverilog(registers),
        ROOT / "src" / "rashpa" / "card" / f"{registers.namespace}.hpp": cxx(registers),
        ROOT / "docs" / "reference" / f"{registers.name}.md": markdown(registers),
    }


def main() -> int:
    """Return the exit status."""
    stale = 0
    made = [outputs(read(source)).items() for source in sorted((ROOT / "schema").glob("*_registers.rdl"))]
    for path, text in itertools.chain.from_iterable(made):
        if "--check" not in sys.argv:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(f"{path.relative_to(ROOT)} is not up to date: run tools/make_card_registers.py")
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main())
