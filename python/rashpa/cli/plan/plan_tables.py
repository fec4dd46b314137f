# SPDX-License-Identifier: Apache-2.0
"""Shows the plan as tables on a terminal."""

from collections.abc import Iterator

from rich.table import Table

from rashpa.cli.fitted import Fitted
from rashpa.control.capacity.device_memory import memory_on_devices
from rashpa.control.capacity.limits import Limit
from rashpa.control.capacity.loads import file_bytes, memory_of
from rashpa.control.capacity.plan_summary import Summary, json_of
from rashpa.control.plan.turned_frames import reduced_bytes, reduced_regions, turned_bytes, turned_modules

_OPEN = "–"


def tables_of(summary: Summary) -> Iterator[Table]:
    """Yield the tables of nodes, DTPs, memory and limits."""
    values = json_of(summary)
    nodes = _table("nodes", "name", "role", "machine", "link", "address", "has")
    for node in values["nodes"]:
        has = f"modules {spans(node['modules'])}" if node["modules"] else ", ".join(node["buffers"])
        nodes.add_row(node["name"], node["role"], node["machine"], node["link"], node["address"], has)
    yield nodes
    yield _dtps(summary)
    yield _memory(summary)
    yield _limits(summary)


def _dtps(summary: Summary) -> Table:
    parted = any(load.events > 1 for load in summary.loads)
    table = _table(
        "DTPs",
        "id>",
        "module>",
        "region",
        "frames",
        "buffer, place",
        "bytes>",
        "Gb/s>",
        "on the wire>",
        "packets/s>",
        *(["events/s>"] if parted else []),
        "from",
        "to",
    )
    for load in summary.loads:
        dtp, section = load.dtp, load.buffer.section
        paced = load.images_per_s > 0
        table.add_row(
            f"{dtp.id}",
            f"{dtp.module}" if dtp.orientation.upright else f"{dtp.module}, {dtp.orientation.short}",
            dtp.shown_region,
            "all" if section.every == 1 else f"1 in {section.every} from {section.phase}",
            f"{section.name} [{dtp.x}, {dtp.y}]",
            f"{load.image_bytes:,}",
            gigabits(load.bytes_per_s) if paced else _OPEN,
            gigabits(load.wire_bytes_per_s) if paced and load.packets else _OPEN,
            f"{load.packets_per_s:,.0f}" if paced and load.packets else _OPEN,
            *([f"{load.events_per_s:,.0f}" if paced else _OPEN] if parted else []),
            load.emulator,
            load.receiver,
        )
    return table


def _memory(summary: Summary) -> Table:
    plan = summary.plan
    table = _table(
        "memory", "node", "buffer", "slots>", "stack>", "images>", "MiB>", "on device, MiB>", "files at most, MiB>"
    )
    for buffer in plan.buffers:
        section = buffer.section
        files = file_bytes(plan, buffer)
        on_device = sum(memory_on_devices(plan, buffer, summary.capabilities.get(buffer.receiver)).values())
        table.add_row(
            buffer.receiver,
            section.name,
            f"{section.slots}",
            f"{section.stack}",
            _OPEN if plan.file.run.open_ended else f"{buffer.images:,}",
            f"{sum(memory_of(plan, buffer).values()) / 2**20:,.1f}",
            f"{on_device / 2**20:,.1f}" if on_device else _OPEN,
            f"{files / 2**20:,.1f}" if files else _OPEN,
        )
    for emulator in plan.emulators:
        if copies := turned_modules(plan, emulator):
            size = turned_bytes(plan, emulator)
            what = f"{len(copies)} turned module{'s' * (len(copies) > 1)}"
            known = _OPEN if size is None else f"{size / 2**20:,.1f}"
            table.add_row(emulator.label, what, _OPEN, _OPEN, _OPEN, known, _OPEN, _OPEN)
        if regions := reduced_regions(plan, emulator):
            size = reduced_bytes(plan, emulator)
            what = f"{len(regions)} reduced region{'s' * (len(regions) > 1)}"
            known = _OPEN if size is None else f"{size / 2**20:,.1f}"
            table.add_row(emulator.label, what, _OPEN, _OPEN, _OPEN, known, _OPEN, _OPEN)
    return table


def _limits(summary: Summary) -> Table:
    table = _table("needed, and there", "what", "needed>", "there>", "part>")
    for limit in summary.limits:
        part = f"{100 * limit.needed / limit.has:.0f} %" if limit.known and limit.needed and limit.has else _OPEN
        style = "red" if limit.exceeded else None
        table.add_row(_what(limit), amount(limit, limit.needed), amount(limit, limit.has), part, style=style)
    return table


def _what(limit: Limit) -> str:
    return f"{limit.who}: a stack" if limit.kind in ("unit", "files") else limit.who


def amount(limit: Limit, value: float | None) -> str:
    """Return a figure of a limit with its unit."""
    if value is None:
        return _OPEN
    if limit.kind in ("link", "interface"):
        return f"{gigabits(value)} Gb/s"
    if limit.kind in ("memory", "device memory", "device window"):
        return f"{value / 2**30:,.2f} GiB"
    if limit.kind in ("unit", "files"):
        return f"{value * 1e3:,.2f} ms"
    return f"{100 * value:.0f} %" if limit.kind == "device" else f"{value:.1f}"


def gigabits(bytes_per_s: float) -> str:
    """Return a rate in Gb/s, with three significant digits, as text."""
    value = bytes_per_s * 8e-9
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def spans(numbers: list[int]) -> str:
    """Return numbers as short text, consecutive ones as a range: 0 … 3, 7."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(f"{part[0]} … {part[-1]}" if len(part) > 2 else ", ".join(map(str, part)) for part in parts)


def _table(title: str, *columns: str) -> Table:
    """Return a table. A column whose name ends in `>` holds numbers."""
    table = Fitted(title=title, box=None, title_justify="left", title_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column.removesuffix(">"), justify="right" if column.endswith(">") else "left", overflow="fold")
    return table
