# SPDX-License-Identifier: Apache-2.0
"""Every kernel as a function on arrays of images; written by tools/make_kernels.py."""

from typing import Any, Literal

from numpy.typing import NDArray

from rashpa.data.base.pixels import Masking
from rashpa.data.kernels.pipeline import CalibrationMaps, Found

def jungfrau(
    images: NDArray[Any],
    calibration: CalibrationMaps,
    *,
    output: Literal["photons", "kev"] = "photons",
    photon_energy_kev: float,
    borders: Literal["raw", "shared", "masked"] = "raw",
    track: Literal["off", "darks", "empty", "next", "every"] = "off",
    track_images: int = 200,
    track_sigma: float = 3,
    drift_alarm: float = 0,
    unit: str = "cpu",
    threads: int = 0,
    stack: int = 16,
    masked: str | Masking | None = None,
) -> Found:
    """Raw words to photons (int16) or keV (float32).

    Takes pixels of uint16.
    Makes pixels of int16 or float32.
    Finds masked_pixels (pixels), saturated_pixels (pixels).
    photon_energy_kev: photon energy; that of the detector when not given.
    borders: pixels of double size between chips. raw: as modules send them. shared: image assembled, their counts shared. masked: image assembled, they are masked.
    track: pedestals of G0 follow dark images (darks, next), and pixels without a photon (empty, every): from the next image on (next, every) or stack.
    track_images: images that the running mean looks back.
    track_sigma: track empty, every: no farther from the pedestal, in RMS.
    drift_alarm: median drift of the pedestals, in RMS, from which on there is an alarm; 0: none.
    """

def bragg_count(
    images: NDArray[Any],
    *,
    threshold: int,
    min_pixels: int,
    max_pixels: int = 4294967295,
    unit: str = "cpu",
    threads: int = 0,
    stack: int = 16,
    masked: str | Masking | None = None,
) -> Found:
    """Keeps an image when min_pixels <= pixels at or above threshold <= max_pixels.

    Takes pixels of uint8, uint16, uint32, int16, int32.
    Finds bright_pixels (pixels).
    Vetoes: too_few, too_many.
    threshold: photons.
    """

def csr(
    images: NDArray[Any],
    *,
    threshold: int = 1,
    capacity: float = 0.1,
    unit: str = "cpu",
    threads: int = 0,
    stack: int = 16,
    masked: str | Masking | None = None,
) -> Found:
    """Pixels at or above the threshold as index and value.

    Takes pixels of uint8, uint16, uint32, int16, int32.
    Makes lists of pixels.
    threshold: photons.
    capacity: fraction of the pixels there is room for.
    """

def total_counts(
    images: NDArray[Any],
    *,
    min_counts: int = 0,
    max_counts: int = 1000000000000000,
    max_masked: float = 1,
    unit: str = "cpu",
    threads: int = 0,
    stack: int = 16,
    masked: str | Masking | None = None,
) -> Found:
    """Keeps an image when min_counts <= sum of its photons <= max_counts and not too much of it is masked.

    Takes pixels of uint8, uint16, uint32, int16, int32.
    Finds total_counts (photons), masked_in_total (pixels).
    Vetoes: too_few_counts, too_many_counts, too_many_masked.
    min_counts: sum of all photons; 0: no minimum, sums below zero are kept, too.
    max_counts: sum of all photons.
    max_masked: fraction of the pixels that may be masked.
    """

def accumulate(
    images: NDArray[Any],
    *,
    sum: bool = True,
    mean: bool = True,
    max: bool = True,
    variance: bool = False,
    window: int = 0,
    added: Literal["accepted", "reached"] = "accepted",
    unit: str = "cpu",
    threads: int = 0,
    stack: int = 16,
    masked: str | Masking | None = None,
) -> Found:
    """Sum, mean, maximum and variance of each pixel over the run or a window of images.

    Takes pixels of uint8, uint16, uint32, int16, int32, float32.
    Accumulates sum, mean, max, variance, counted of many images.
    max: largest value.
    variance: unbiased: n - 1.
    window: images, a multiple of the buffer"s stack; 0: the whole run.
    added: accepted: images that the pipeline accepts; reached: all that the kernels before it let through.
    """

def roi_stats(
    images: NDArray[Any],
    *,
    regions: str,
    unit: str = "cpu",
    threads: int = 0,
    stack: int = 16,
    masked: str | Masking | None = None,
) -> Found:
    """Sum, mean, least and largest value of named rectangles.

    Takes pixels of uint8, uint16, uint32, int16, int32.
    Finds <name>_sum (counts), <name>_mean (counts), <name>_min (counts), <name>_max (counts), <name>_pixels (pixels), for each name.
    regions: name=x,y,width,height of the image, 8 at most, with ; between them.
    """

def checksum(
    images: NDArray[Any],
    *,
    on_mismatch: Literal["error", "veto"] = "error",
    unit: str = "cpu",
    threads: int = 0,
    stack: int = 16,
    masked: str | Masking | None = None,
) -> Found:
    """CRC32C of each image, its parts verified against their frame records.

    Takes pixels of uint8, uint16, uint32, int16, int32, float32.
    Finds crc32c, checksums_verified.
    Vetoes: wrong_checksum.
    on_mismatch: the treatment of an image that differs from its source"s.
    """

def unpack(
    images: NDArray[Any],
    *,
    bits: Literal["1", "6", "12", "24"],
    module_width: int = 1536,
    module_height: int = 1536,
    modules_across: int = 1,
    modules_down: int = 1,
    gap_x: int = 0,
    gap_y: int = 0,
    unit: str = "cpu",
    threads: int = 0,
    stack: int = 16,
    masked: str | Masking | None = None,
) -> Found:
    """Packed counters of 1, 6, 12 or 24 bits to pixels, modules in their places.

    Takes pixels of uint8.
    Makes pixels of uint8 or uint8 or uint16 or uint32.
    bits: bits of a counter.
    module_width: pixels, a multiple of 8.
    module_height: pixels.
    gap_x: pixels between modules beside each other.
    gap_y: rows between modules below each other.
    """

def peakfinder8(
    images: NDArray[Any],
    *,
    threshold: float = 800,
    min_snr: float = 5,
    min_pixels: int = 2,
    max_pixels: int = 200,
    local_bg_radius: int = 3,
    min_radius: float = 0,
    max_radius: float = 0,
    beam_x: float,
    beam_y: float,
    panel_width: int = 0,
    panel_height: int = 0,
    max_peaks: int = 2048,
    poni: str = "",
    geometry: str = "",
    unit: str = "cpu",
    threads: int = 0,
    stack: int = 16,
    masked: str | Masking | None = None,
) -> Found:
    """Finds Bragg peaks over a radial background and lists them.

    Takes pixels of uint8, uint16, uint32, int16, int32, float32.
    Finds n_peaks (peaks), peak_intensity, empty_rings (rings).
    Finds rows of x (pixels), y (pixels), intensity, snr, pixels (pixels), largest, background.
    threshold: least value of a pixel of a peak.
    min_snr: least signal-to-noise ratio.
    min_pixels: pixels of a peak.
    max_pixels: pixels of a peak.
    local_bg_radius: radius of the background around a peak, pixels.
    min_radius: least distance from the beam that is looked at, pixels.
    max_radius: largest distance from the beam that is looked at, pixels; 0: everywhere.
    beam_x: place where the beam hits the image, pixels from its corner; that of the detector when not given.
    beam_y: place where the beam hits the image, pixels from its corner; that of the detector when not given.
    panel_width: size of the panels that the image is made of; 0: it is one.
    panel_height: size of the panels that the image is made of; 0: it is one.
    max_peaks: room for peaks of an image.
    poni: geometry: a PONI file, in place of beam_x and beam_y.
    geometry: geometry: a CrystFEL file, in place of beam_x, beam_y, panel_width and panel_height.
    """

def peakfinder(
    images: NDArray[Any],
    *,
    beam_x: float,
    beam_y: float,
    min_radius: float = 0,
    max_radius: float = 0,
    bins: int = 800,
    error_model: Literal["poisson", "azimuthal", "hybrid"] = "poisson",
    clip: float = 0,
    cycles: int = 5,
    noise: float = 1,
    cutoff: float = 3,
    poni: str = "",
    geometry: str = "",
    patch: int = 5,
    connected: int = 3,
    max_peaks: int = 2048,
    unit: str = "cpu",
    threads: int = 0,
    stack: int = 16,
    masked: str | Masking | None = None,
) -> Found:
    """Finds pixels above a sigma-clipped radial background that are the largest around.

    Takes pixels of uint8, uint16, uint32, int16, int32, float32.
    Finds n_peaks (peaks), peak_intensity, empty_rings (rings).
    Finds rows of x (pixels), y (pixels), intensity, snr, pixels (pixels), largest, background.
    beam_x: place where the beam hits the image, pixels from its corner; that of the detector when not given.
    beam_y: place where the beam hits the image, pixels from its corner; that of the detector when not given.
    min_radius: least distance from the beam that is looked at, pixels.
    max_radius: largest distance from the beam that is looked at, pixels; 0: everywhere.
    bins: bins of the background by radius.
    clip: deviations from which on a pixel is left out of the background; at least Chauvenet"s criterion.
    cycles: how often pixels are left out, at most.
    noise: noise of the detector, in units of the pixels.
    cutoff: deviations of picked pixels above the background.
    poni: geometry: a PONI file, in place of beam_x and beam_y.
    geometry: geometry: a CrystFEL file, in place of beam_x and beam_y.
    patch: side of the square around a peak, pixels.
    connected: pixels of the square above the limit.
    max_peaks: room for peaks of an image.
    """

def sparsify(
    images: NDArray[Any],
    *,
    beam_x: float,
    beam_y: float,
    min_radius: float = 0,
    max_radius: float = 0,
    bins: int = 800,
    error_model: Literal["poisson", "azimuthal", "hybrid"] = "poisson",
    clip: float = 0,
    cycles: int = 5,
    noise: float = 1,
    cutoff: float = 3,
    poni: str = "",
    geometry: str = "",
    capacity: float = 0.1,
    unit: str = "cpu",
    threads: int = 0,
    stack: int = 16,
    masked: str | Masking | None = None,
) -> Found:
    """Lists the pixels above a sigma-clipped radial background, and that background.

    Takes pixels of uint8, uint16, uint32, int16, int32, float32.
    Makes lists of pixels.
    Finds listed_pixels (pixels).
    Finds rows of radius (pixels), background, deviation.
    beam_x: place where the beam hits the image, pixels from its corner; that of the detector when not given.
    beam_y: place where the beam hits the image, pixels from its corner; that of the detector when not given.
    min_radius: least distance from the beam that is looked at, pixels.
    max_radius: largest distance from the beam that is looked at, pixels; 0: everywhere.
    bins: bins of the background by radius.
    clip: deviations from which on a pixel is left out of the background; at least Chauvenet"s criterion.
    cycles: how often pixels are left out, at most.
    noise: noise of the detector, in units of the pixels.
    cutoff: deviations of picked pixels above the background.
    poni: geometry: a PONI file, in place of beam_x and beam_y.
    geometry: geometry: a CrystFEL file, in place of beam_x and beam_y.
    capacity: room for listed pixels, as a part of all.
    """

def azimuthal(
    images: NDArray[Any],
    *,
    poni: str,
    mask: str = "",
    dark: str = "",
    flat: str = "",
    bins: int = 1000,
    azimuthal_bins: int = 0,
    splitting: Literal["no", "bbox", "full"] = "no",
    radial_unit: Literal["q_A^-1", "q_nm^-1", "2th_deg", "2th_rad", "r_mm"] = "q_A^-1",
    radial_min: float = 0,
    radial_max: float = 0,
    azimuth_min: float = -180,
    azimuth_max: float = 180,
    solid_angle: bool = True,
    polarization: bool = False,
    polarization_factor: float = 0.99,
    errors: Literal["none", "poisson", "azimuthal"] = "poisson",
    ring_min: float = 0,
    ring_max: float = 0,
    min_intensity: float = 0,
    max_intensity: float = 0,
    added: Literal["none", "accepted", "reached"] = "none",
    window: int = 0,
    unit: str = "cpu",
    threads: int = 0,
    stack: int = 16,
    masked: str | Masking | None = None,
) -> Found:
    """Sums pixels by bins of radius, or radius and azimuth, and keeps an image by the mean of a ring.

    Takes pixels of uint8, uint16, uint32, int16, int32, float32.
    Finds ring_intensity (photons).
    Makes a profile of I, I_errors, sum_signal, norm along azimuthal_axis and radial_axis.
    Vetoes: ring_too_weak, ring_too_strong.
    Accumulates I, I_errors, sum_signal, norm, counted of many images.
    poni: geometry: a PONI file.
    mask: image, not 0: masked; with the gaps of the detector.
    dark: image, subtracted.
    flat: image, divided by.
    bins: radial.
    azimuthal_bins: 0: one-dimensional.
    splitting: splitting of pixels over bins; no: a pixel is in the bin of its centre.
    radial_min: bound of the radial axis, in radial_unit; both 0: all.
    radial_max: bound of the radial axis, in radial_unit; both 0: all.
    azimuth_min: degrees; angles are folded into the range.
    azimuth_max: degrees; a circle above azimuth_min at most.
    solid_angle: correct for it.
    polarization: correct for it.
    polarization_factor: 1: horizontal.
    ring_min: bound of the ring that is judged, in radial_unit; both 0: all.
    ring_max: bound of the ring that is judged, in radial_unit; both 0: all.
    min_intensity: mean of the ring; 0: any.
    max_intensity: mean of the ring; 0: any.
    added: profiles summed over images. accepted: those that the pipeline accepts; reached: all that the kernels before it let through.
    window: images of such a sum, a multiple of the buffer"s stack; 0: the whole run.
    """
