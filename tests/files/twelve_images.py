# SPDX-License-Identifier: Apache-2.0
"""Makes twelve small images with one peak each, and pipelines that store them."""

import numpy as np

HEIGHT, WIDTH, IMAGES = 48, 64, 12
FRAMES = np.random.default_rng(1).poisson(3, (IMAGES, HEIGHT, WIDTH)).astype(np.uint16)
FRAMES[:, 20:22, 30:32] = 900
PEAKS = '[[buffer.kernel]]\nname = "peakfinder8"\n'


def pipeline(sink: str, images_per_file: int, kernel: str = PEAKS, *, keep_darks: bool = False) -> str:
    """Return a run file of one buffer `b`. `kernel`: the tables of its kernels."""
    darks = "keep_darks = true\n" if keep_darks else ""
    return f"""
[run]
name = "x"
frames = {IMAGES}
[detector]
width = {WIDTH}
height = {HEIGHT}
pixel = "uint16"
[dataset]
kind = "pattern"
modules = 1
frames = 2
width = {WIDTH}
height = {HEIGHT}
[[buffer]]
name = "b"
slots = 12
stack = 4
{darks}{kernel}
[[buffer.sink]]
kind = "{sink}"
images_per_file = {images_per_file}
"""
