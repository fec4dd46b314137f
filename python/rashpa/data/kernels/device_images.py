# SPDX-License-Identifier: Apache-2.0
"""Gives a kernel on a GPU access to images in the memory of a CUDA device, without a copy."""

from typing import Any

CUDA = 2  # of DLPack
TYPES = {
    "uint8": "|u1",
    "uint16": "<u2",
    "uint32": "<u4",
    "int16": "<i2",
    "int32": "<i4",
    "float32": "<f4",
}
"""Types of pixels, as the CUDA array interface has them."""


class DeviceImages:
    """Holds the images of a stack, [image][row][column], on a CUDA device. They are read-only, and valid only during the call.

    They implement the CUDA array interface, for `cupy.asarray(images)`, `torch.as_tensor(images, device="cuda")` and
    `numba.cuda.as_cuda_array(images)`. They also implement DLPack, for `torch.from_dlpack(images)`, `cupy.from_dlpack(images)` and others. None of
    these copies. The places of vetoed and absent images hold old data, and results for them are ignored. `stream`: the address of the stack's CUDA
    stream, which is the current stream of CuPy and PyTorch.
    """

    def __init__(
        self, dlpack: Any, address: int, shape: tuple[int, int, int], stride: int, pixel: str, stream: int
    ) -> None:
        self._dlpack = dlpack
        self._address = address
        self._stride = stride  # bytes from one image to the next
        self.shape = shape
        self.pixel = pixel
        self.stream = stream

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<{' × '.join(map(str, self.shape))} pixels {self.pixel} on a CUDA device>"

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        pixel = int(TYPES[self.pixel][2:])
        return {
            "shape": self.shape,
            "strides": (self._stride, self.shape[2] * pixel, pixel),
            "typestr": TYPES[self.pixel],
            "data": (self._address, False),  # consumers refuse what is marked as read only
            "version": 3,
            "stream": None,  # all work goes into the same stream
        }

    def __dlpack__(self, **_: Any) -> Any:
        return self._dlpack.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        device: tuple[int, int] = self._dlpack.__dlpack_device__()
        return device
