# SPDX-License-Identifier: Apache-2.0
"""Compares the results of units with public vectors: images, kernels with parameters, and expected results.

schema/conformance has a file for each kernel, written by tools/make_conformance.py. Integers must be identical. Floating point numbers may differ by
as many units in the last place of a float32 as the vector allows.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa import _native
from rashpa.data.base.packaged import SOURCE_ROOT
from rashpa.data.datasets.calibration import Calibration
from rashpa.data.kernels.kernel_units import beyond, unfit
from rashpa.data.kernels.pipeline import Found, Pipeline, available_units, kernel_declarations

Arrays = dict[str, NDArray[Any]]
STACKS = (16, 1, 2)
"""A vector is run with stacks of so many images, unless it names others: its results must not depend on it."""


@dataclass(frozen=True)
class Vector:
    """Holds one case of one kernel. `ulp`: the allowed difference of floating point results, in units in the last place of a float32."""

    kernel: str
    name: str
    kernels: tuple[Mapping[str, Any], ...]  # as run files have them; the last is the one that is tested
    images: NDArray[Any]
    ulp: int = 0
    calibration: Calibration | None = None
    given: Mapping[str, Arrays] = field(default_factory=dict)  # by kernel: its inputs, in place of files
    modules: tuple[tuple[int, int], ...] = ((0, 0),)  # x, y of each in the image
    module_shape: tuple[int, int] = (512, 1024)
    flags: NDArray[np.uint32] | None = None  # of frame records: bit 0, a dark image
    stacks: tuple[int, ...] = STACKS  # images of a stack; one number where what comes out depends on it
    expected: Arrays = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """Holds the result of a vector. `result`: "identical", "within", "different", "refused", "no version"."""

    kernel: str
    name: str
    result: str
    text: str = ""
    ulp: float = 0.0  # the largest difference
    allowed: int = 0

    @property
    def good(self) -> bool:
        return self.result in ("identical", "within")

    @property
    def bad(self) -> bool:
        return self.result in ("different", "refused")


def folder() -> Path:
    """Return the folder of the vectors: in the repository, or in the installed package."""
    package = Path(_native.__file__).parent / "schema" / "conformance"
    source = SOURCE_ROOT / "schema" / "conformance"
    return source if source.is_dir() else package


def vectors(kernel: str, where: Path | None = None) -> Iterator[Vector]:
    """Yield the vectors of one kernel. Raise FileNotFoundError when there are none."""
    with np.load((where or folder()) / f"{kernel}.npz", allow_pickle=False) as file:
        for case in json.loads(bytes(file["cases"])):
            prefix = f"{case['name']}/"
            arrays = {name.removeprefix(prefix): file[name] for name in file.files if name.startswith(prefix)}
            calibration = None
            if "pedestal" in arrays:
                pedestal, gain, mask = (arrays.pop(name) for name in ("pedestal", "gain", "mask"))
                calibration = Calibration(pedestal, gain, mask, arrays.pop("rms", None))
            images = arrays.pop("images")
            flags = arrays.pop("flags", None)
            given: dict[str, Arrays] = {}
            for name in [one for one in arrays if one.startswith("given.")]:
                _, of, array = name.split(".", 2)
                given.setdefault(of, {})[array] = arrays.pop(name)
            kernels = tuple(case["kernels"])
            modules = tuple((x, y) for x, y in case.get("modules", Vector.modules))
            height, width = case.get("module_shape", Vector.module_shape)
            yield Vector(
                kernel,
                case["name"],
                kernels,
                images,
                case["ulp"],
                calibration,
                given,
                modules,
                (height, width),
                flags,
                tuple(case.get("stacks", STACKS)),
                arrays,
            )


def write_vectors(kernel: str, made: list[Vector], where: Path) -> None:
    """Write the file of one kernel. The same vectors always give the same bytes."""
    arrays: Arrays = {}
    cases = []
    for one in made:
        case: dict[str, Any] = {"name": one.name, "kernels": [dict(step) for step in one.kernels], "ulp": one.ulp}
        if one.module_shape != Vector.module_shape:
            case |= {"modules": one.modules, "module_shape": one.module_shape}
        cases.append(case)
        if one.stacks != STACKS:
            case |= {"stacks": one.stacks}
        given: Arrays = {"images": one.images, **one.expected}
        if one.flags is not None:
            given["flags"] = one.flags
        if one.calibration is not None:
            given |= {name: getattr(one.calibration, name) for name in ("pedestal", "gain", "mask")}
            if one.calibration.rms is not None:
                given["rms"] = one.calibration.rms
        for of, inputs in one.given.items():
            given |= {f"given.{of}.{name}": values for name, values in inputs.items()}
        arrays |= {f"{one.name}/{name}": values for name, values in given.items()}
    arrays["cases"] = np.frombuffer(json.dumps(cases).encode(), np.uint8)
    with zipfile.ZipFile(where / f"{kernel}.npz", "w", zipfile.ZIP_DEFLATED) as file:
        for name, values in arrays.items():
            bytes_of = io.BytesIO()
            np.lib.format.write_array(bytes_of, np.ascontiguousarray(values), allow_pickle=False)
            file.writestr(
                zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0)), bytes_of.getvalue(), zipfile.ZIP_DEFLATED
            )


def compute(
    vector: Vector, unit: str = "cpu", stack: int = 16, threads: int = 1, *, fused: bool = True, device: str = "0"
) -> Arrays:
    """Return the results of a unit for a vector, as arrays by name."""
    pipeline = Pipeline(
        vector.kernels,
        vector.images.shape[1:],
        vector.images.dtype,
        calibration=vector.calibration,
        arrays=vector.given,
        modules=vector.modules,
        module_shape=vector.module_shape,
        unit=unit,
        device=device,
        stack=stack,
        threads=threads,
        fused=fused,
        masked="delivered",
    )
    declared = kernel_declarations()
    makes_pixels = any(port["port"] == "pixels" for step in vector.kernels for port in declared[step["name"]]["makes"])
    arrays = arrays_of(pipeline(vector.images, flags=vector.flags))
    return arrays if makes_pixels else {name: values for name, values in arrays.items() if name != "pixels"}


def arrays_of(found: Found) -> Arrays:
    """Return all results as arrays."""
    reasons = [found.reasons[one] for one in found.reason]
    arrays: Arrays = {
        "decision": found.decision,
        "reason": np.array(reasons, "S"),
        "pixels": np.ascontiguousarray(found.pixels),
        **{f"column.{name}": values for name, values in found.columns.items()},
    }
    if found.makes_lists:
        arrays |= {"list.ptr": found.list_ptr, "list.index": found.list_index, "list.value": found.list_value}
    for name, (ptr, columns) in found.tables.items():
        arrays[f"table.{name}.ptr"] = ptr
        arrays |= {f"table.{name}.{column}": values for column, values in columns.items()}
    for name, quantities in getattr(found, "accumulated", {}).items():
        arrays |= {f"accumulated.{name}.{quantity}": values for quantity, values in quantities.items()}
    for name, (profiles, _) in getattr(found, "profiles", {}).items():
        arrays |= {f"profile.{name}.{column}": values for column, values in profiles.items()}
    return arrays


def compare(vector: Vector, found: Arrays) -> Verdict:
    """Compare results with the expected ones, and return the verdict."""
    if found.keys() != vector.expected.keys():
        other = sorted(found.keys() ^ vector.expected.keys())
        return Verdict(vector.kernel, vector.name, "different", f"{', '.join(other)}: in one of them alone")
    largest = 0.0
    for name, expected in vector.expected.items():
        values = found[name]
        if values.shape != expected.shape or (values.dtype != expected.dtype and name != "reason"):
            text = f"{name}: {values.shape} of {values.dtype} in place of {expected.shape} of {expected.dtype}"
            return Verdict(vector.kernel, vector.name, "different", text)
        apart = _ulps(values, expected) if expected.dtype.kind == "f" else np.where(values == expected, 0.0, np.inf)
        if apart.size and (most := float(apart.max())) > 0:
            if most > vector.ulp:
                where = tuple(int(axis) for axis in np.unravel_index(int(apart.argmax()), apart.shape))
                place = ", ".join(map(str, where))
                text = f"{name}[{place}] is {values[where]}, not {expected[where]}"
                return Verdict(vector.kernel, vector.name, "different", text, most, vector.ulp)
            largest = max(largest, most)
    result = "within" if largest else "identical"
    return Verdict(vector.kernel, vector.name, result, "", largest, vector.ulp)


def _ulps(values: NDArray[Any], expected: NDArray[Any]) -> NDArray[np.float64]:
    """Return the differences, in units in the last place of a float32 of the expected size."""
    both_nan = np.isnan(values) & np.isnan(expected)
    same = both_nan | (values == expected)
    with np.errstate(invalid="ignore", over="ignore"):
        unit = np.spacing(np.maximum(np.abs(values), np.abs(expected)).astype(np.float32)).astype(np.float64)
        apart = np.abs(values.astype(np.float64) - expected.astype(np.float64)) / unit
    return np.where(same, 0.0, np.where(np.isnan(apart), np.inf, apart))


def trouble_with(unit: str, device: str) -> str:
    """Return the reason why the unit, or its device, cannot be used; empty when it can."""
    units = available_units()
    if unit not in units or not units[unit][0]:
        return f"unit {unit} cannot be used: {units[unit][1] if unit in units else 'there are ' + ', '.join(units)}"
    if unit == "cpu" and device != "0":
        return "unit cpu has no devices to choose from"
    try:
        if unit == "fpga":
            flat = np.ones((3, 8, 8), np.float32)
            calibration = Calibration(flat, flat, np.zeros((8, 8), np.uint32))
            Pipeline(
                [{"name": "jungfrau", "photon_energy_kev": 12.4}],
                (8, 8),
                calibration=calibration,
                unit=unit,
                device=device,
            )
        else:
            Pipeline([{"name": "total_counts"}], (8, 8), unit=unit, device=device)  # which all others have
    except _native.NativeError as error:
        return str(error)
    return ""


def judge(vector: Vector, unit: str, device: str = "0") -> Verdict:
    """Return the worst verdict on a vector, over all ways in which the unit can compute it."""
    declared = kernel_declarations()
    without = [step["name"] for step in vector.kernels if unit not in declared[step["name"]]["units"]]
    if without:
        return Verdict(vector.kernel, vector.name, "no version", f"unit {unit} has none of {', '.join(without)}")
    for step in vector.kernels:
        for parameter, _ in beyond(unit, step["name"], step):
            text = f"unit {unit} has none of {step['name']} with {parameter} = {step[parameter]}"
            return Verdict(vector.kernel, vector.name, "no version", text)
    if why := unfit(unit, [step["name"] for step in vector.kernels]):
        return Verdict(vector.kernel, vector.name, "no version", f"unit {unit} {why}")
    worst: Verdict | None = None
    # a kernel can ride only on one before it that makes pixels: without such a one both ways are the same; hardware is one pass
    ridden = any(port["port"] == "pixels" for step in vector.kernels[:-1] for port in declared[step["name"]]["makes"])
    ways = (True, False) if ridden and unit != "fpga" else (True,)
    for stack in vector.stacks:
        for fused in ways:
            try:
                threads = 2 if unit == "cpu" else 1
                verdict = compare(vector, compute(vector, unit, stack, threads, fused=fused, device=device))
            except _native.NativeError as error:
                return Verdict(vector.kernel, vector.name, "refused", str(error))
            if not verdict.good:
                return verdict
            worst = verdict if worst is None or verdict.ulp > worst.ulp else worst
    assert worst is not None  # noqa: S101 (there are stacks)
    return worst


def judge_all(unit: str, kernels: list[str] | None = None, device: str = "0") -> Iterator[Verdict]:
    """Yield the verdicts for `kernels`, by default for all. A kernel without vectors is "different", because its correctness is unknown."""
    for kernel in kernels or list(kernel_declarations()):
        try:
            for vector in vectors(kernel):
                yield judge(vector, unit, device)
        except FileNotFoundError:
            yield Verdict(
                kernel,
                "",
                "different",
                f"there are no vectors of kernel {kernel}; tools/make_conformance.py makes them",
            )
