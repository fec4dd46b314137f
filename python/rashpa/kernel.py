# SPDX-License-Identifier: Apache-2.0
"""Every kernel as a function on arrays of images: `rashpa.kernel.csr(images, threshold=3)`.

The functions are made from the kernels' own declarations, and tools/make_kernels.py writes `kernel.pyi` from the same. Images are [image][row][column], or one
[row][column]; they are read in place, without Python's lock. `rashpa.Found` describes the results.

    >>> import numpy as np, rashpa.kernel
    >>> images = np.array([[[0, 7], [3, 0]], [[1, 0], [0, 0]]], np.uint16)

`csr` lists the pixels with a threshold or more:

    >>> rashpa.kernel.csr(images, threshold=3, capacity=1.0)[0].list
    PixelList(index=array([1, 2], dtype=uint32), value=array([7, 3], dtype=uint16))

A kernel that decides says which images it accepts:

    >>> rashpa.kernel.bragg_count(images, threshold=3, min_pixels=2).accepted
    array([0])
"""

from rashpa.data.kernels.kernel_functions import function_of, kernel_names

__all__ = list(kernel_names())

globals().update({name: function_of(name) for name in kernel_names()})
