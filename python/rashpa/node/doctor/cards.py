# SPDX-License-Identifier: Apache-2.0
"""Asks the driver of a network interface for its receive ring and its pause frames, as ethtool(8) does."""

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
    """Holds the descriptors of the receive ring, and the most that the card has."""

    now: int
    most: int


def ring_of(name: str) -> Ring | None:
    """Return the receive ring of an interface; None: its driver gives none, as for virtual interfaces and loopback."""
    words = _asked(name, _RING, _RING_WORDS)
    return None if words is None or not words[1] else Ring(now=words[5], most=words[1])


def pauses(name: str) -> bool | None:
    """Return True when the interface asks its switch to wait while its ring is full; None: its driver does not give it."""
    words = _asked(name, _PAUSE, _PAUSE_WORDS)
    return None if words is None else bool(words[2])


def _asked(name: str, command: int, words: int) -> tuple[int, ...] | None:
    """Return the words of the driver's answer, the command first."""
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
