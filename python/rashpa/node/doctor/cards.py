# SPDX-License-Identifier: Apache-2.0
"""Reads the receive ring and the pause setting of a network interface from its driver, as ethtool(8) does."""

import ctypes
import fcntl
import socket
import struct
from dataclasses import dataclass

_SIOCETHTOOL = 0x8946
_RING, _PAUSE = 0x10, 0x12  # ETHTOOL_GRINGPARAM, ETHTOOL_GPAUSEPARAM
_RING_WORDS, _PAUSE_WORDS = 9, 4
_NAME_BYTES = 15


@dataclass(frozen=True)
class Ring:
    """Holds the number of descriptors of a receive ring, and the maximum that the card allows."""

    now: int
    most: int


def ring_of(name: str) -> Ring | None:
    """Return the receive ring of an interface, None when its driver reports none, as for virtual interfaces and loopback."""
    words = _asked(name, _RING, _RING_WORDS)
    return None if words is None or not words[1] else Ring(now=words[5], most=words[1])


def pauses(name: str) -> bool | None:
    """Return True when the interface sends pause frames to its switch while its ring is full; None when its driver does not report it."""
    words = _asked(name, _PAUSE, _PAUSE_WORDS)
    return None if words is None else bool(words[2])


def _asked(name: str, command: int, words: int) -> tuple[int, ...] | None:
    """Send an ethtool command to the driver; return the words of its answer, the command first, None when it fails."""
    answer = bytearray(struct.pack(f"={words}I", command, *([0] * (words - 1))))
    place = ctypes.c_char.from_buffer(answer)
    request = struct.pack("16sP8x", name.encode()[:_NAME_BYTES], ctypes.addressof(place))
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            fcntl.ioctl(asking, _SIOCETHTOOL, request)
    except OSError:
        return None
    finally:
        del place
    return struct.unpack(f"={words}I", answer)
