# SPDX-License-Identifier: Apache-2.0
"""Draws one frame of a dataset: all modules stacked, photons if there is a calibration, on a logarithmic scale."""

import io
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import SymLogNorm
from matplotlib.figure import Figure
from numpy.typing import NDArray

from rashpa.data.datasets.calibration import to_photons
from rashpa.data.datasets.datasets import LoadedDataset
from rashpa.data.files.regular_file import write_named

DEFAULT_ENERGY_KEV = 12.4
_DPI = 100


def frame_values(loaded: LoadedDataset, frame: int) -> tuple[NDArray[np.float32], str]:
    """Return the values of all modules, stacked from top to bottom, and their name. Masked pixels are NaN, saturated ones inf."""
    data = loaded.dataset
    words = [data.frame(module, frame) for module in range(data.modules)]
    if loaded.calibration and data.pixel == "uint16":
        energy = loaded.energy_kev if loaded.energy_kev is not None else DEFAULT_ENERGY_KEV
        pairs = zip(words, loaded.calibration, strict=True)
        return np.concatenate([to_photons(raw, maps, energy) for raw, maps in pairs]), f"photons of {energy:g} keV"
    return np.concatenate(words).astype(np.float32), "pixel value"


def write_preview(loaded: LoadedDataset, frame: int, path: Path) -> None:
    """Write a PNG of frame `frame`, with one pixel of the picture for each pixel of the detector. Masked pixels are grey."""
    values, unit = frame_values(loaded, frame)
    height, width = values.shape
    finite = values[np.isfinite(values)]
    top = max(float(finite.max()), 1.0) if finite.size else 1.0
    shown = np.where(np.isposinf(values), top, values)
    figure = Figure(figsize=((width + 260) / _DPI, (height + 120) / _DPI), dpi=_DPI)
    FigureCanvasAgg(figure)
    left, bottom = 70 / (width + 260), 50 / (height + 120)
    axes = figure.add_axes((left, bottom, width / (width + 260), height / (height + 120)))
    low = 0.0 if loaded.calibration or not finite.size else min(0.0, float(finite.min()))
    norm = SymLogNorm(linthresh=1.0, vmin=low, vmax=top)
    colours = axes.imshow(shown, norm=norm, cmap="inferno", interpolation="nearest")
    axes.set_facecolor("0.5")
    kind = loaded.kinds[frame] if loaded.kinds else ""
    label = "synthetic data" if loaded.label == "synthetic" else "recorded data"
    axes.set_title(f"{loaded.source}   frame {frame} {kind}   {label}")
    axes.set_xlabel("column")
    axes.set_ylabel("row (modules stacked)")
    bar = figure.add_axes((left + (width + 20) / (width + 260), bottom, 20 / (width + 260), height / (height + 120)))
    figure.colorbar(colours, cax=bar, label=unit)
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    write_named(path, picture.getvalue())
