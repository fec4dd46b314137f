# SPDX-License-Identifier: Apache-2.0
"""Writes the run file of a plan."""

import json
from pathlib import Path

from tests.chaos.frames import is_dark, write_dataset
from tests.chaos.jungfrau import ENERGY_KEV, THRESHOLD, write_calibration
from tests.chaos.plan import Buffer, Plan

RECEIVERS = ("receiver", "second", "third", "fourth")
JOINER = "joiner"
GROUP = "farm"
Value = str | int | float | bool | list[int] | list[str] | list[list[str]]


def table(name: str, values: dict[str, Value], many: bool = False) -> str:
    """Return one TOML table; JSON texts of these values are valid TOML."""
    head = f"[[{name}]]" if many else f"[{name}]"
    return "\n".join([head, *(f"{key} = {json.dumps(value)}" for key, value in values.items()), ""])


def names_of(plan: Plan) -> tuple[str, ...]:
    """Return the names of the receivers, in order."""
    return RECEIVERS[: plan.receivers]


def members_of(plan: Plan) -> tuple[str, ...]:
    """Return the members of a group, including a joining one."""
    return (*names_of(plan), *(JOINER for blow in plan.blows if blow.kind == "join"))


def buffers_of(plan: Plan) -> dict[str, Buffer]:
    """Return the buffers by their names in files and reports; a group's buffer once for each member."""
    if not plan.grouped:
        return {buffer.name: buffer for buffer in plan.buffers}
    return {f"{buffer.name}_{member}": buffer for buffer in plan.buffers for member in members_of(plan)}


def write_run_file(
    plan: Plan,
    folder: Path,
    output: Path,
    urls: dict[str, str],
    ports: dict[str, int],
    existing: str,
    number: int,
) -> Path:
    """Write the dataset, its calibration and the run file, and return the run file. `urls`, `ports`: by the names of nodes that have them."""
    run: dict[str, Value] = {"name": "chaos", "frames": plan.frames, "number": number, "output": str(output)}
    parts = [
        table("run", {**run, "existing": existing}),
        *_detector(plan),
        *_dataset(plan, folder),
        _link(plan),
        *(table("receiver", _receiver(plan, name, urls, ports), many=True) for name in names_of(plan)),
        *([table("group", {"name": GROUP, "receivers": list(names_of(plan))}, many=True)] if plan.grouped else []),
        *(_buffer(plan, buffer) for buffer in plan.buffers),
        *_faults(plan),
        table("nodes", {"emulator": urls.get("emulator", "local")}),
    ]
    path = folder / f"run{number}.toml"
    path.write_text("\n".join(parts), encoding="utf-8")
    return path


def _detector(plan: Plan) -> list[str]:
    detector: dict[str, Value] = {
        "width": plan.width,
        "height": plan.height,
        "pixel": plan.pixel,
        "rate_hz": plan.rate_hz,
        "energy_kev": ENERGY_KEV,
    }
    modules = (table("detector.module", {"x": x, "y": y}, many=True) for x, y in plan.modules)
    return [table("detector", detector), *modules]


def _dataset(plan: Plan, folder: Path) -> list[str]:
    values: dict[str, Value] = {
        "kind": "files",
        "files": write_dataset(plan, folder),
        "width": plan.width,
        "height": plan.height,
        "pixel": plan.pixel,
        "dark_frames": [frame for frame in range(plan.dataset_frames) if is_dark(plan, frame)],
    }
    if plan.stored_as == "bin":
        values["header_bytes"] = plan.header_bytes
    calibration: dict[str, Value] = {**write_calibration(plan, folder)} if plan.jungfrau else {}
    return [table("dataset", values), *([table("detector.calibration", calibration)] if calibration else [])]


def _link(plan: Plan) -> str:
    link = table("link", {"kind": plan.link, "flow": plan.flow, "on_full": plan.on_full})
    if plan.link != "roce":
        return link
    values: dict[str, Value] = {"transport": plan.transport, "packetisation": plan.packetisation, "pmtu": plan.pmtu}
    values |= {"window_bytes": plan.window_bytes, "icrc": plan.icrc, "gso": plan.gso, "gro": plan.gro}
    return f"{link}\n{table('link.roce', values)}"


def _receiver(plan: Plan, name: str, urls: dict[str, str], ports: dict[str, int]) -> dict[str, Value]:
    values: dict[str, Value] = {"name": name, "poll": plan.poll, "memory": plan.memory, "threads": plan.link_threads}
    values["port"] = ports.get(name, 0)
    if name in urls:
        values["node"] = urls[name]
    return values


def _buffer(plan: Plan, buffer: Buffer) -> str:
    at: dict[str, Value] = {"group": GROUP} if plan.grouped else {"receiver": RECEIVERS[buffer.receiver]}
    values: dict[str, Value] = {"name": buffer.name, **at}
    if buffer.region is not None:
        values["region"] = [buffer.region.x, buffer.region.y, buffer.region.width, buffer.region.height]
    if not buffer.by_hand:
        values["bands"] = buffer.bands
    values |= {"every": buffer.every, "phase": buffer.phase, "slots": buffer.slots, "stack": buffer.stack}
    values |= {"deadline_ms": buffer.deadline_ms, "partial": buffer.partial, "keep_darks": buffer.keep_darks}
    values |= {"threads": buffer.threads}
    parts = [table("buffer", values, many=True)]
    if buffer.by_hand:
        for piece in buffer.pieces:
            part = piece.part
            region = [part.x, part.y, part.width, part.height]
            place: dict[str, Value] = {"module": piece.module, "region": region, "place": [piece.x, piece.y]}
            parts.append(table("buffer.dtp", place, many=True))
    parts += [table("buffer.kernel", kernel, many=True) for kernel in _kernels(buffer)]
    sink: dict[str, Value] = {"kind": "hdf5", "images_per_file": buffer.images_per_file, "threads": buffer.sink_threads}
    return "\n".join([*parts, table("buffer.sink", sink, many=True)])


def _kernels(buffer: Buffer) -> list[dict[str, Value]]:
    if buffer.kernel == "raw":
        return []
    kernels: list[dict[str, Value]] = [{"name": "jungfrau", "output": "kev" if buffer.kernel == "kev" else "photons"}]
    if buffer.kernel == "veto":
        kernels.append({"name": "bragg_count", "threshold": THRESHOLD, "min_pixels": buffer.min_bright})
    if buffer.kernel == "csr":
        kernels.append({"name": "csr", "threshold": THRESHOLD, "capacity": 1.0})
    return kernels


def _faults(plan: Plan) -> list[str]:
    faults = plan.faults
    values: dict[str, Value] = {
        "seed": faults.seed,
        "stall": faults.stall,
        "stall_us": faults.stall_us,
    }
    if plan.link == "roce":
        values |= {"drop": faults.drop, "duplicate": faults.duplicate}
        values |= {"reorder": faults.reorder, "corrupt": faults.corrupt}
    dead = (
        table("faults.dead_modules", {"module": module, "from_frame": first}, many=True)
        for module, first in faults.dead
    )
    return [table("faults", values), *dead]
