# SPDX-License-Identifier: Apache-2.0
"""Summarises a dataset as a list of facts."""

from collections import Counter

import numpy as np

from rashpa.data.datasets.datasets import DARK, LoadedDataset

_GAINS = ("G0", "G1", "G2")
_MOST_SAMPLED = 64


def summarise(loaded: LoadedDataset) -> list[tuple[str, str]]:
    """Return name and value of each fact. The value range and gains come from at most 64 evenly spread frames."""
    data = loaded.dataset
    sampled = sorted({int(n) for n in np.linspace(0, data.frames - 1, min(data.frames, _MOST_SAMPLED))})
    facts = [
        ("source", loaded.source),
        ("label", loaded.label),
        ("frames", f"{data.frames}"),
        ("modules", f"{data.modules} of {data.width} x {data.height} pixels, {data.pixel}"),
        ("size", f"{_mebibytes(loaded):.1f} MiB"),
        ("kinds", _kinds(loaded)),
    ]
    if loaded.energy_kev is not None:
        facts.append(("photon energy", f"{loaded.energy_kev:g} keV"))
    facts.append(("value range", _value_range(loaded, sampled)))
    if loaded.calibration:
        facts.append(("pixels per gain", _pixels_per_gain(loaded, sampled)))
        facts += _calibration_facts(loaded)
    return facts


def _mebibytes(loaded: LoadedDataset) -> float:
    data = loaded.dataset
    return data.frames * data.modules * data.width * data.height * np.dtype(data.pixel).itemsize / 2**20


def _kinds(loaded: LoadedDataset) -> str:
    flags = loaded.flags()
    named = Counter(kind for kind in loaded.kinds if kind)
    if not named:
        return f"{int(np.count_nonzero(flags & DARK))} flagged as dark"
    return ", ".join(f"{count} {kind}" for kind, count in sorted(named.items()))


def _value_range(loaded: LoadedDataset, sampled: list[int]) -> str:
    data = loaded.dataset
    frames = (data.frame(m, n) for n in sampled for m in range(data.modules))
    ranges = [(frame.min(), frame.max()) for frame in frames]
    low, high = min(r[0] for r in ranges), max(r[1] for r in ranges)
    note = "" if len(sampled) == data.frames else f" ({len(sampled)} frames looked at)"
    return f"{low} to {high}{note}"


def _pixels_per_gain(loaded: LoadedDataset, sampled: list[int]) -> str:
    data = loaded.dataset
    if data.pixel != "uint16":
        return f"not raw words of gain and ADU: the pixels are {data.pixel}"
    counts = np.zeros(4, np.int64)
    overflow = 0
    for n in sampled:
        for m in range(data.modules):
            frame = data.frame(m, n)
            counts += np.bincount((frame >> 14).ravel(), minlength=4)
            overflow += int(np.count_nonzero(frame == 0xC000))
    share = counts / counts.sum()
    text = ", ".join(f"{name} {100 * share[code]:.4f} %" for name, code in zip(_GAINS, (0, 1, 3), strict=True))
    return f"{text}, illegal code {counts[2]}, overflow {overflow} pixels"


def _calibration_facts(loaded: LoadedDataset) -> list[tuple[str, str]]:
    facts = []
    for module, maps in enumerate(loaded.calibration):
        pedestal = "  ".join(f"{name} {np.median(maps.pedestal[k]):.0f}" for k, name in enumerate(_GAINS))
        gain = "  ".join(f"{name} {np.median(maps.gain[k]):+.4g}" for k, name in enumerate(_GAINS))
        masked = int(np.count_nonzero(maps.mask))
        facts.append(
            (f"calibration {module}", f"pedestal {pedestal} ADU; gain {gain} ADU/keV (medians); {masked} pixels masked")
        )
    return facts
