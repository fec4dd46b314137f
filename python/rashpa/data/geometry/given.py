# SPDX-License-Identifier: Apache-2.0
"""Makes the arrays that kernels need at set-up (their declared `inputs`) from the files that their parameters name."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa.data.base.pixels import Masking, bad_pixels, counts_of, delivered
from rashpa.data.base.rashpa_error import RashpaError
from rashpa.data.files.file_names import expanded

Values = Mapping[str, Any]
"""Parameters of a kernel by name; paths of files are absolute, or count from the current folder."""


class GivenError(RashpaError, ValueError):
    """Reports arrays that cannot be made. The text names kernel, key, file and, for a wrong pixel, the pixel."""


@dataclass(frozen=True)
class Image:
    """Describes the images that a kernel will receive. `mask`: NXmx pixel_mask bits [height][width], None when unknown. `counts`: the least and the
    largest value of an unmasked pixel, None when unknown."""

    height: int
    width: int
    mask: NDArray[np.uint32] | None = None
    counts: tuple[float, float] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.height, self.width

    @property
    def masked(self) -> NDArray[np.bool_]:
        """Return True where there is no valid pixel."""
        return np.zeros(self.shape, np.bool_) if self.mask is None else bad_pixels(self.mask)


def behind(image: Image, declared: Mapping[str, Any], values: Values) -> Image:
    """Return the description of the images that a kernel makes, for the next kernel. `declared`, `values`: declaration and parameters of the kernel.
    New pixels are masked as kernels mask them."""
    port = next((one for one in declared.get("makes", ()) if one["port"] == "pixels"), None)
    if port is None:
        return image
    types = list(port["pixels"])
    by = next((one for one in declared["parameters"] if one["name"] == port.get("by")), None)
    chosen = types[0]
    if by is not None:
        chosen = types[list(by["choices"]).index(str(values.get(by["name"]) or by.get("default")))]
    return replace(
        image, counts=counts_of(chosen, Masking("minimum") if chosen.startswith("int") else delivered(chosen))
    )


Maker = Callable[[Values, Image], dict[str, NDArray[Any]]]
"""Makes a kernel's inputs, by name. Raises ValueError or OSError that begin with the key: "poni: FILE: …"."""

MAKERS: dict[str, str] = {
    "azimuthal": "rashpa.data.geometry.azimuthal_arrays:azimuthal_arrays",
    "peakfinder8": "rashpa.data.geometry.peak_geometry:peak_geometry",
    "peakfinder": "rashpa.data.geometry.peak_geometry:peak_geometry",
    "sparsify": "rashpa.data.geometry.peak_geometry:pixel_distances",
}
"""The makers by kernel, as module:function. They are imported when they are used, since geometry libraries are large."""


def given_arrays(kernel: str, values: Values, image: Image) -> dict[str, NDArray[Any]]:
    """Return the inputs of the kernel, empty for a kernel without inputs. Raise GivenError when they cannot be made."""
    if kernel not in MAKERS:
        return {}
    module, _, name = MAKERS[kernel].partition(":")
    maker: Maker = getattr(importlib.import_module(module), name)
    try:
        named = {key: expanded(value) if isinstance(value, str) else value for key, value in values.items()}
        return {key: np.ascontiguousarray(array) for key, array in maker(named, image).items()}
    except (ValueError, OSError) as error:
        raise GivenError(f"kernel {kernel}: {error}") from error
