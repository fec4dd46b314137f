# SPDX-License-Identifier: Apache-2.0
"""Computes the memory that pipelines allocate on an accelerator, with the sums of src/rashpa/unit and the declarations of kernels. A test compares it
with the memory that units allocate."""

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal

from rashpa.control.capacity.calibration_sets import sets_of
from rashpa.control.capacity.declared_memory import chosen, costs_of, declared
from rashpa.control.capacity.loads import pages
from rashpa.control.plan import chunks
from rashpa.control.plan.image_places import beam_center
from rashpa.control.plan.model import Plan, PlannedBuffer
from rashpa.control.plan.strips import strips_of
from rashpa.control.runfile.kernels import parameters_of
from rashpa.control.runfile.pipeline import PIXEL_BYTES, Pipeline, Step, plan_pipeline
from rashpa.control.runfile.run_file import Buffer
from rashpa.control.telegrams.telegram import Capabilities, UnitDevice

_BENCHES = 3  # stacks that a device has at a time: one comes in, one is computed, one goes out
_WITHOUT_DEVICES = ("cpu", "fpga")  # memory of a card is asked of it when it is opened
_WORD = 64  # pixels of a word of marks; made images are whole words
_RESIDENT_IMAGES, _RESIDENT_BYTES = 32, 1 << 20  # of a stack that a resident kernel may read where it lies
_RESIDENT_STEPS = 8  # behind the conversion
_COUNTED_PIXEL_BYTES, _COUNTED_PIXELS, _COUNTED_BYTES = 2, 64, 64 << 20  # src/rashpa/kernel/rings/counted_rings.hpp
_COUNTED_BINS_BYTES = 64 * 4  # of a ring, there


def device_memory(
    section: Buffer,
    width: int,
    height: int,
    pixel: str,
    device: UnitDevice,
    ring: Literal["host", "device"] = "host",
    beam: tuple[float, float] | None = None,
    sets: int = 1,
) -> dict[str, int]:
    """Return the bytes of a buffer on the device, by purpose: its pipeline, and its ring if that is on the device. Return nothing for a device that
    uses the machine's memory. The result leaves out parts that do not grow with images (some megabytes), the driver's own memory, and the gaps
    between modules. For devices that split images, it is that of the largest strip. `beam`: position of the beam in the image, in pixels from its
    corner, None for its centre. Rings of a geometry file are counted for a flat image. `sets`: sets of pedestals in the calibration."""
    steps = plan_pipeline(section.kernel, pixel)
    if device.unified or not steps.steps or section.unit in _WITHOUT_DEVICES:
        return {}
    pixels = width * max(strips_of(section, width, height))
    whole = -(-pixels // _WORD) * _WORD
    resident = ring == "host" and sets == 1 and _may_be_resident(section, steps, pixels * PIXEL_BYTES[pixel])
    in_flight = section.stack * (1 if resident else min(_BENCHES, section.slots // section.stack))
    made = sum(PIXEL_BYTES[step.leaves] for step in steps.steps if step.kernel.made("pixels"))
    memory = {
        "images": section.slots * pages(pixels * PIXEL_BYTES[pixel]) if ring == "device" else 0,
        "raw images": 0 if resident or ring == "device" else in_flight * pixels * PIXEL_BYTES[pixel],
        "made images": in_flight * whole * made,
        "marks": in_flight * whole // 8 if any(step.marks_for for step in steps.steps) else 0,
        "calibration and tables": int(pixels * sum(declared(section, steps, "run", sets))),
        "work on images": int(in_flight * pixels * sum(declared(section, steps, "image", sets))),
        "rings and peaks": int(in_flight * sum(_of_rings_and_peaks(section, steps, (width, height), beam))),
        "parts of windows": int(pixels * sum(_parts(section, steps))),
    }
    if chunks.on_device(section, steps) and not resident:
        memory["chunks"] = in_flight * chunks.work_room(pixels * PIXEL_BYTES[steps.pixel])
    if section.unit == "opencl":  # others have them in memory of the host
        # a kernel that makes tables, too, finds them on the host, and its lists with them
        listers = [step for step in steps.steps if step.kernel.made("table") is None]
        entries = sum(step.list_part * (4 + PIXEL_BYTES[step.leaves]) for step in listers)
        memory["lists"] = int(in_flight * pixels * entries)
    return {what: size for what, size in memory.items() if size}


def device_of(unit: str, wanted: str, devices: tuple[UnitDevice, ...]) -> UnitDevice | None:
    """Return the device with that number, or with that text in its name; None when it is unknown, or when several devices have that text."""
    fitting = [one for one in devices if one.unit == unit]
    if wanted.isdecimal():
        return next((one for one in fitting if one.number == int(wanted)), None)
    named = [one for one in fitting if wanted.lower() in one.name.lower()]
    return named[0] if len(named) == 1 else None


def planned_devices(buffer: PlannedBuffer, can: Capabilities | None) -> tuple[UnitDevice, ...]:
    """Return the devices of the node that the buffer's unit uses; empty for a node that was not asked."""
    section = buffer.section
    if section.unit in _WITHOUT_DEVICES or not section.kernel:
        return ()
    if can is None:
        numbers = [int(name) if name.isdecimal() else 0 for name in section.device_names]
        return tuple(
            UnitDevice(unit=section.unit, number=number, name="", memory_bytes=0, free_bytes=0, unified=False)
            for number in numbers
        )
    found = [device_of(section.unit, name, can.devices) for name in section.device_names]
    return tuple(one for one in found if one is not None)


def memory_on_device(plan: Plan, buffer: PlannedBuffer, device: UnitDevice) -> dict[str, int]:
    """Return the bytes that the buffer takes on the device, by purpose."""
    ring: Literal["host", "device"] = "device" if plan.receiver(buffer.receiver).memory == "device" else "host"
    pixel = plan.file.detector.pixel
    beam, sets = beam_center(plan, buffer), sets_of(plan)
    return device_memory(buffer.section, buffer.width, buffer.height, pixel, device, ring, beam, sets)


def memory_on_devices(plan: Plan, buffer: PlannedBuffer, can: Capabilities | None) -> dict[str, int]:
    """Return the bytes that the buffer takes on all its devices, by purpose."""
    memory: Counter[str] = Counter()
    for device in planned_devices(buffer, can):
        memory.update(memory_on_device(plan, buffer, device))
    return dict(memory)


def _may_be_resident(section: Buffer, steps: Pipeline, image_bytes: int) -> bool:
    """Return True when unit cuda uses, or may use, a resident kernel, which reads images in place."""
    if section.unit != "cuda" or section.trigger not in ("auto", "persistent") or len(section.device_names) > 1:
        return False
    first, *others = steps.steps
    if first.kernel.name != "jungfrau" or any(chosen(section.kernel[0], name) for name in ("borders", "track")):
        return False
    simple = len(others) <= _RESIDENT_STEPS and all(map(_resident_step, others))
    small = section.trigger == "persistent" or section.stack * image_bytes <= _RESIDENT_BYTES
    return simple and small and section.stack <= _RESIDENT_IMAGES


def _resident_step(step: Step) -> bool:
    """Return True when the resident kernel can do this step."""
    name = step.kernel.name
    return (
        bool(step.rides_on)
        or name == "veto"
        or (name == "csr" and bool(step.marked_by))
        or (name == "peakfinder8" and step.takes == "int16")
    )


def _parts(section: Buffer, steps: Pipeline) -> Iterator[float]:
    """Yield the bytes for each pixel of the sums of several CUDA devices, for as many windows as can end before the first sum is released. Sums of
    profiles are in host memory, as are sums that NCCL cannot add: the variance of float32."""
    if section.unit != "cuda" or len(section.device_names) < 2:
        return
    for kernel, step in zip(section.kernel, steps.steps, strict=True):
        if not step.kernel.made("accumulation") or step.kernel.made("profile"):
            continue
        if step.takes == "float32" and chosen(kernel, "variance"):
            continue
        window = int(parameters_of(kernel)["window"])
        windows = -(-section.slots // window) + 1 if window else 1
        yield windows * sum(cost.bytes for cost in step.kernel.device if chosen(kernel, cost.when))


def _of_rings_and_peaks(
    section: Buffer, steps: Pipeline, size: tuple[int, int], beam: tuple[float, float] | None
) -> Iterator[float]:
    """Yield the bytes for each image that the kernels declare for the unit and that depend on other numbers than that of pixels."""
    for kernel, step, cost in costs_of(section, steps):
        if not cost.each:
            continue
        values = parameters_of(kernel)
        number = _rings(values, size, beam) if cost.each == "ring" else int(values[cost.each])
        if not cost.counted or _counted(number, size, section.stack, PIXEL_BYTES[step.takes]):
            yield cost.bytes * number


def _counted(rings: int, size: tuple[int, int], stack: int, pixel_bytes: int) -> bool:
    """Return True when unit cuda counts values by ring, as `counts_rings()` of src/rashpa/kernel/rings/counted_rings.hpp decides."""
    few = rings * _COUNTED_PIXELS <= size[0] * size[1]
    return pixel_bytes <= _COUNTED_PIXEL_BYTES and few and stack * rings * _COUNTED_BINS_BYTES <= _COUNTED_BYTES


def _rings(values: dict[str, Any], size: tuple[int, int], beam: tuple[float, float] | None) -> int:
    """Return the number of rings, one pixel wide, from the beam to the farthest pixel that the kernel reads."""
    middle = beam or (size[0] / 2, size[1] / 2)
    given = [values.get(key) for key in ("beam_x", "beam_y")]
    x, y = (one if one is not None else other for one, other in zip(given, middle, strict=True))
    farthest = math.hypot(max(x, size[0] - 1 - x), max(y, size[1] - 1 - y))
    largest = values.get("max_radius") or math.inf
    return round(min(farthest, largest)) + 1
