#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the conformance vectors of schema/conformance: small images of every type with special values, kernels with parameters, and the results of
unit cpu with one thread and separate passes. CASES holds the cases of kernels that need others than their declaration gives.

Usage: make_conformance.py [--check] [KERNEL …]. With --check nothing is written; exit 1 when a kernel has no vectors, or different ones. Vectors must
only be changed on purpose: every unit, and every later version, has to compute their results.
"""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rashpa import _native
from rashpa.data.datasets.calibration import Calibration
from rashpa.data.kernels.conformance import Vector, compare, compute, vectors, write_vectors
from rashpa.data.kernels.pipeline import kernel_declarations

FOLDER = Path(__file__).resolve().parents[1] / "schema" / "conformance"
SHAPE = (33, 50)  # rows, columns: no multiples of anything
IMAGES = 5

Kernels = tuple[dict[str, Any], ...]
BRIGHT = {"name": "bragg_count", "threshold": 3, "min_pixels": 0}
# Cases of a kernel, in place of those of its declaration: name of the case, kernels.
CASES: dict[str, dict[str, Kernels]] = {
    "jungfrau": {
        "photons": ({"name": "jungfrau", "photon_energy_kev": 12.4},),
        "kev": ({"name": "jungfrau", "photon_energy_kev": 12.4, "output": "kev"},),
        "counted_on_the_way": ({"name": "jungfrau", "photon_energy_kev": 8.0}, {**BRIGHT, "min_pixels": 60}),
        "marked_on_the_way": ({"name": "jungfrau", "photon_energy_kev": 8.0}, {"name": "csr", "capacity": 1.0}),
        "counted_and_marked_on_the_way": (
            {"name": "jungfrau", "photon_energy_kev": 8.0},
            {**BRIGHT, "min_pixels": 480},
            {"name": "csr", "capacity": 1.0},
        ),
        "marked_without_room": (
            {"name": "jungfrau", "photon_energy_kev": 8.0},
            {"name": "csr", "threshold": 3, "capacity": 0.3},
        ),
        **{
            f"borders_{borders}_{output}": (
                {"name": "jungfrau", "photon_energy_kev": 8.0, "borders": borders, "output": output},
            )
            for borders in ("shared", "masked")
            for output in ("photons", "kev")
        },
        **{
            f"track_{track}_{output}": (
                {"name": "jungfrau", "photon_energy_kev": 12.4, "track": track, "track_images": 4, "output": output},
            )
            for track, output in (
                ("darks", "photons"),
                ("darks", "kev"),
                ("empty", "photons"),
                ("next", "photons"),
                ("every", "photons"),
            )
        },
    },
    "bragg_count": {
        "all": (BRIGHT,),
        "few_and_many": ({**BRIGHT, "threshold": 1, "min_pixels": 100, "max_pixels": 1500},),
    },
    "csr": {
        "all": ({"name": "csr", "threshold": 1, "capacity": 1.0},),
        "no_room": ({"name": "csr", "threshold": 1, "capacity": 0.5},),
    },
    "total_counts": {
        "all": ({"name": "total_counts"},),
        "few_and_masked": ({"name": "total_counts", "min_counts": 1000, "max_masked": 0.02},),
    },
    "veto": {
        "rule": (
            BRIGHT,
            {"name": "total_counts"},
            {"name": "veto", "keep": "bright_pixels >= 60 and total_counts > 1000", "reason": "too_dull"},
        ),
    },
}
CASES["roi_stats"] = {"regions": ({"name": "roi_stats", "regions": "a=3,2,20,15; b=10,10,30,12"},)}
CASES["accumulate"] = {
    "all": ({"name": "accumulate", "variance": True},),
    "windows": (
        {**BRIGHT, "min_pixels": 60},
        {"name": "accumulate", "variance": True, "window": 16, "added": "reached"},
    ),
}
CASES["unpack"] = {
    f"bits_{bits}": (
        {"name": "unpack", "bits": bits, "module_width": 48, "module_height": 11, "modules_down": 3, "gap_y": 2},
    )
    for bits in ("1", "6", "12", "24")
}
RINGS = {"name": "azimuthal", "poni": "in the vector", "bins": 20}
# "in the vector": rings() has made the arrays that a PONI file would make.
CASES["azimuthal"] = {
    "poisson": (RINGS,),
    "no_errors": ({**RINGS, "errors": "none", "radial_unit": "2th_deg"},),
    "azimuthal_errors": ({**RINGS, "errors": "azimuthal", "radial_unit": "2th_rad"},),
    "two_dimensions": ({**RINGS, "azimuthal_bins": 6, "radial_unit": "q_nm^-1"},),
    "split": ({**RINGS, "splitting": "full", "radial_unit": "r_mm"},),
    "split_azimuthal_errors": ({**RINGS, "splitting": "bbox", "errors": "azimuthal"},),
    "ring": ({**RINGS, "ring_min": 3.0, "ring_max": 6.0, "min_intensity": 0.9, "max_intensity": 2.6},),
    "summed": ({**RINGS, "min_intensity": 0.9, "added": "accepted"},),
    "windows": ({**RINGS, "splitting": "full", "added": "reached", "window": 16},),
}
OF_EVERY_TYPE = {"azimuthal": ("poisson",)}
"""Cases that are tried with every type of pixels, of kernels with many cases; the others with uint16."""
# Needed parameters of kernels that have no case above.
GIVEN: dict[str, Any] = {"beam_x": 24.3, "beam_y": 15.8, "threshold": 3, "photon_energy_kev": 12.4}
# Float32 units in the last place: sums over rings are made in the order that suits a unit.
ULP = {"azimuthal": 1, "jungfrau": 1, "accumulate": 1, "peakfinder8": 16, "peakfinder": 16, "sparsify": 16}


def images_of(pixel: str) -> np.ndarray:
    """Return background, spots and a blank image, with values at the ends of the type and values that mean masked."""
    random = np.random.default_rng(20)
    images = random.poisson(1.5, (IMAGES, *SHAPE)).astype(np.float64)
    rows, columns = np.mgrid[: SHAPE[0], : SHAPE[1]]
    for image in images[:3]:
        for row, column in zip(random.integers(4, SHAPE[0] - 4, 6), random.integers(4, SHAPE[1] - 4, 6), strict=True):
            image += np.round(60 * np.exp(-((rows - row) ** 2 + (columns - column) ** 2) / 1.5))
    images[3] = 0
    if pixel == "float32":
        made = images.astype(np.float32) + np.float32(0.25)
        made[:, 5, 7:9] = np.nan
        return made
    made = images.astype(pixel)
    limits = np.iinfo(pixel)
    for place, value in enumerate((limits.max, limits.max - 1, limits.min, 0)):
        made[1:3, 2 + place, 11] = value
    if limits.min < 0:
        made[2, 20, 3:9] = (-1, -2, -100, limits.min, limits.min + 1, 1)
    return made


def raw_words() -> tuple[np.ndarray, Calibration]:
    """Return JUNGFRAU words in all gains with an incomplete calibration, and words with a special meaning."""
    random = np.random.default_rng(21)
    pedestal = np.stack([random.normal(mean, 100, SHAPE) for mean in (2446, 13584, 14100)]).astype(np.float32)
    gain = np.stack([random.normal(mean, abs(mean) / 50, SHAPE) for mean in (41.0, -1.45, -0.1156)]).astype(np.float32)
    mask = (random.random(SHAPE) < 0.01).astype(np.uint32) * 2
    gain[1, 4, 4] = 0
    pedestal[0, 6, 6] = 20000
    photons = random.poisson(1.0, (IMAGES, *SHAPE)).astype(np.float64)
    photons[:3] += (random.random((3, *SHAPE)) < 0.05) * random.uniform(0, 3000, (3, *SHAPE))
    kev = photons * 12.4
    code = np.where(photons < 20, 0, np.where(photons < 600, 1, 2))
    words = np.zeros(photons.shape, np.uint16)
    for level, bits in enumerate((0, 1, 3)):
        value = np.clip(np.round(pedestal[level] + kev * gain[level] + random.normal(0, 3, photons.shape)), 0, 16383)
        words = np.where(code == level, value.astype(np.uint16) | np.uint16(bits << 14), words)
    words[0, 0, :6] = (0xC000, 0xFFFF, 0x4000, 0x8000, 0xBFFF, 0x3FFF)
    return words.astype(np.uint16), Calibration(pedestal, gain, mask)


MODULE = (258, 262)  # chips of 256 × 256: four corners meet in it
GAP = 3


def two_modules() -> tuple[np.ndarray, Calibration]:
    """Return two modules, one below the other with a gap; they have few different values, so that the file stays small."""
    random = np.random.default_rng(24)
    shape = (2 * MODULE[0] + GAP, MODULE[1])
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    level = ((rows // 8 + columns // 16) % 3).astype(np.float32)
    pedestal = np.stack([base + 16 * level for base in (2446, 13584, 14100)]).astype(np.float32)
    gain = np.stack([np.full(shape, value, np.float32) for value in (41.0, -1.45, -0.1156)])
    mask = (random.random(shape) < 0.002).astype(np.uint32) * 2
    border = (rows % (MODULE[0] + GAP) % 256 > 253) | (rows % (MODULE[0] + GAP) < 2) | (columns % 256 > 253)
    photons = random.poisson(np.where(border, 3.0, 0.05), (2, *shape))
    words = (pedestal[0] + photons * 328).astype(np.uint16)  # 8 keV
    words[0, border & (random.random(shape) < 0.02)] = 0x4000 | 12000
    words[1, border & (random.random(shape) < 0.02)] = 0xC000 | 14000
    words[1, border & (random.random(shape) < 0.01)] = 0xC000
    words[0, border & (random.random(shape) < 0.01)] = 0xFFFF
    return words, Calibration(pedestal, gain, mask)


FOLLOWED_STACK = 2
DARK = 1  # of the flags of a frame record


def drifting_words() -> tuple[np.ndarray, Calibration, np.ndarray]:
    """Return words with shifted pedestals, the second and third image dark; pixels have no noise, and some have no photon."""
    random = np.random.default_rng(25)
    words, calibration = raw_words()
    rms = random.uniform(15, 30, SHAPE).astype(np.float32)
    rms[7, 7:9] = 0
    moved = np.round(calibration.pedestal[0] + random.normal(12, 20, (IMAGES, *SHAPE))).clip(0, 16383).astype(np.uint16)
    empty = random.random((IMAGES, *SHAPE)) < 0.7
    empty[1:3] = random.random((2, *SHAPE)) < 0.98
    empty[0, 0, :6] = False
    flags = np.zeros(IMAGES, np.uint32)
    flags[1:3] = DARK
    return np.where(empty, moved, words), replace(calibration, rms=rms), flags


def rings(kernel: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return inputs of azimuthal: rings around a point, a gap, and different weights and darks for every pixel; split pixels are in up to three
    rings."""
    random = np.random.default_rng(23)
    bins, azimuths = kernel["bins"], kernel.get("azimuthal_bins", 0)
    rows, columns = np.mgrid[: SHAPE[0], : SHAPE[1]]
    radius = np.hypot(rows - 15.3, columns - 24.8)
    ring = np.minimum(radius / 1.5, bins + 5).astype(np.int64)
    gap = (ring >= bins) | (rows == 20)
    number = ring
    if azimuths:
        number = ring + bins * ((np.arctan2(rows - 15.3, columns - 24.8) / (2 * np.pi) + 0.5) * azimuths).astype(
            np.int64
        )
    made: dict[str, np.ndarray] = {
        "norm": (0.5 + random.integers(0, 16, SHAPE) / 16).astype(np.float32),
        "dark": (random.integers(0, 8, SHAPE) / 16).astype(np.float32),
        "radial_axis": np.arange(bins) + 0.5,
    }
    if azimuths:
        made["azimuthal_axis"] = (np.arange(azimuths) + 0.5) * 360 / azimuths - 180
    if kernel.get("splitting", "no") == "no":
        return {**made, "bins": np.where(gap, 0xFFFFFFFF, number).astype(np.uint32)}
    spread = np.where(gap, 0, np.minimum(random.integers(1, 4, SHAPE), bins - ring)).ravel()
    pixel = np.repeat(np.arange(radius.size), spread)
    place = np.arange(pixel.size) - np.repeat(np.cumsum(spread) - spread, spread)
    return {
        **made,
        "share_ends": np.cumsum(spread).astype(np.uint32).reshape(SHAPE),
        "share_bins": (ring.ravel()[pixel] + place).astype(np.uint32),
        "shares": (random.integers(1, 64, pixel.size) / 64).astype(np.float32),
    }


def packed_counters(bits: int) -> np.ndarray:
    """Return three modules, one below the other, with lines of 48 counters."""
    return np.random.default_rng(22).integers(0, 256, (IMAGES, SHAPE[0], 6 * bits)).astype(np.uint8)


def _from_declaration(name: str, declared: dict[str, Any]) -> dict[str, Kernels]:
    """Return cases with every parameter at its default, and with each choice of parameters that have choices."""
    values: dict[str, Any] = {"name": name}
    for one in declared["parameters"]:
        if one.get("default") is None:
            values[one["name"]] = GIVEN.get(one["name"], one.get("least", 1))
    cases: dict[str, Kernels] = {"defaults": (values,)}
    for one in declared["parameters"]:
        for choice in (one.get("choices") or ())[1:]:
            cases[f"{one['name']}_{choice}"] = ({**values, one["name"]: choice},)
    return cases


def vectors_of(name: str) -> list[Vector]:
    """Return the vectors of one kernel. Raise ConfigError when the kernel refuses a case."""
    declared = kernel_declarations()[name]
    made = []
    for case, kernels in (CASES.get(name) or _from_declaration(name, declared)).items():
        first = kernel_declarations()[kernels[0]["name"]]
        for pixel in first["takes"]["pixels"]:
            if name not in CASES and case != "defaults" and pixel != "uint16":
                continue  # types are tried with the first case
            if name in OF_EVERY_TYPE and case not in OF_EVERY_TYPE[name] and pixel != "uint16":
                continue
            calibration = None
            images = images_of(pixel)
            if first["calibration"]:
                images, calibration = raw_words()
            if name == "unpack":
                images = packed_counters(int(kernels[0]["bits"]))
            given = {name: rings(kernels[0])} if name == "azimuthal" else {}
            vector = Vector(name, f"{case}_{pixel}", kernels, images, ULP.get(name, 0), calibration, given)
            if "borders" in kernels[0]:
                images, calibration = two_modules()
                places = ((0, 0), (0, MODULE[0] + GAP))
                vector = replace(vector, images=images, calibration=calibration, modules=places, module_shape=MODULE)
            if "track" in kernels[0]:
                images, calibration, flags = drifting_words()
                vector = replace(vector, images=images, calibration=calibration, flags=flags, stacks=(FOLLOWED_STACK,))
            expected = compute(vector, stack=vector.stacks[0], threads=1, fused=False)
            made.append(replace(vector, expected=expected))
    return made


def _given(vector: Vector) -> dict[str, bytes]:
    return {f"{of}.{name}": values.tobytes() for of, made in vector.given.items() for name, values in made.items()}


def _differs(name: str, made: list[Vector]) -> bool:
    """Return True, and print a line, when the stored vectors differ."""
    advice = f"run tools/make_conformance.py {name}, if that is meant"
    try:
        stored = list(vectors(name, FOLDER))
    except FileNotFoundError:
        print(f"schema/conformance/{name}.npz is not there; run tools/make_conformance.py {name}")
        return True
    if [(one.name, one.kernels) for one in stored] != [(one.name, one.kernels) for one in made]:
        print(f"schema/conformance/{name}.npz has other cases than the script; {advice}")
        return True
    for before, now in zip(stored, made, strict=True):
        verdict = compare(before, now.expected)
        if not verdict.good or before.images.tobytes() != now.images.tobytes() or _given(before) != _given(now):
            print(f"schema/conformance/{name}.npz: {before.name}: {verdict.text or 'other images'}; {advice}")
            return True
    return False


def main() -> int:
    """Return the exit status."""
    check = "--check" in sys.argv[1:]
    names = [name for name in sys.argv[1:] if name != "--check"] or list(kernel_declarations())
    FOLDER.mkdir(exist_ok=True)
    wrong = 0
    for name in names:
        try:
            made = vectors_of(name)
        except (_native.NativeError, KeyError) as error:
            print(f"kernel {name}: no vectors: {error}; give it cases in tools/make_conformance.py")
            wrong += 1
            continue
        if check:
            wrong += _differs(name, made)
        else:
            write_vectors(name, made, FOLDER)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
