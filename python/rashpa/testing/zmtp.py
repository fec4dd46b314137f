# SPDX-License-Identifier: Apache-2.0
"""Sends hostile bytes to a ZeroMQ socket by the protocol ZMTP 3.0, without the library's checks."""

import contextlib
import random
import socket
import struct
from collections.abc import Callable, Iterator

_GREETING = b"\xff\0\0\0\0\0\0\0\x01\x7f\x03\0" + b"NULL".ljust(20, b"\0") + bytes(32)
_LONG = 2
_COMMAND = 4
_PATIENCE_S = 10.0
_STALL_S = 0.5  # a sender to a peer that reads nothing goes away


def connect(endpoint: str) -> socket.socket:
    """Return a connection to tcp://ADDRESS:PORT."""
    address, _, port = endpoint.removeprefix("tcp://").rpartition(":")
    return socket.create_connection((address.strip("[]"), int(port)), timeout=_PATIENCE_S)


def frame(body: bytes, flags: int = 0) -> bytes:
    """Return a message or command with its length before it."""
    if len(body) < 256:
        return bytes([flags, len(body)]) + body
    return bytes([flags | _LONG]) + struct.pack(">Q", len(body)) + body


def ready(kind: bytes) -> bytes:
    """Return the command that ends the handshake, for a socket of this kind."""
    value = b"\x05READY\x0bSocket-Type" + struct.pack(">I", len(kind)) + kind
    return frame(value, _COMMAND)


def shake_hands(endpoint: str, kind: bytes = b"SUB") -> socket.socket:
    """Return a connection after a correct handshake."""
    peer = connect(endpoint)
    peer.sendall(_GREETING)
    _read(peer, len(_GREETING))
    peer.sendall(ready(kind))
    flags, size = _read(peer, 2)
    if flags != _COMMAND:
        raise OSError(f"a frame of flags {flags} in place of READY")
    _read(peer, size)
    return peer


def subscription(topic: bytes) -> bytes:
    """Return the message with which a subscriber asks for this topic."""
    return frame(b"\x01" + topic)


def _read(peer: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        more = peer.recv(size - len(found))
        if not more:
            raise OSError("the other side hung up")
        found += more
    return found


def _send(peer: socket.socket, data: bytes) -> None:
    """Send the data, or as much as the peer takes before it closes the connection or stops reading."""
    peer.settimeout(_STALL_S)
    with contextlib.suppress(OSError):
        peer.sendall(data)


def long_subscription(endpoint: str, kind: bytes = b"SUB") -> None:
    """Send one subscription of 25 MB."""
    with shake_hands(endpoint, kind) as peer:
        _send(peer, subscription(b"x" * 25_000_000))


def many_topics(endpoint: str, kind: bytes = b"SUB") -> None:
    """Send 4000 subscriptions of 4 kB, all different."""
    with shake_hands(endpoint, kind) as peer:
        _send(peer, b"".join(subscription(n.to_bytes(4, "big") * 1000) for n in range(4000)))


def many_short_topics(endpoint: str, kind: bytes = b"SUB") -> None:
    """Send 40 000 subscriptions, each short enough for the socket, but together too many."""
    with shake_hands(endpoint, kind) as peer:
        _send(peer, b"".join(subscription(n.to_bytes(4, "big") * 50) for n in range(40_000)))


def garbage(endpoint: str, kind: bytes = b"SUB", seed: int = 1) -> None:
    """Send random bytes in place of a greeting, and again after a correct handshake."""
    words = random.Random(seed)  # noqa: S311 (a test repeats itself by it)
    for start in (connect, lambda where: shake_hands(where, kind)):
        for _ in range(20):
            with contextlib.suppress(OSError), start(endpoint) as peer:
                _send(peer, words.randbytes(words.randrange(1, 5000)))


def half_handshakes(endpoint: str, kind: bytes = b"SUB") -> None:
    """Send greetings that are cut at each byte, and one without a READY after it."""
    del kind
    for size in (0, 1, 10, 11, 12, 32, 63, len(_GREETING)):
        with contextlib.suppress(OSError), connect(endpoint) as peer:
            _send(peer, _GREETING[:size])


def lengths_that_lie(endpoint: str, kind: bytes = b"SUB") -> None:
    """Send frames that announce up to 2⁶⁴ − 1 bytes and contain ten."""
    for size in (2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1):
        with contextlib.suppress(OSError), shake_hands(endpoint, kind) as peer:
            _send(peer, bytes([_LONG]) + struct.pack(">Q", size) + b"\x01" + bytes(9))


@contextlib.contextmanager
def stalled(endpoint: str, count: int, kind: bytes = b"SUB") -> Iterator[int]:
    """Keep `count` correct subscribers to everything, which read nothing, during the context. Yield the number of accepted ones."""
    peers: list[socket.socket] = []
    try:
        for _ in range(count):
            peer = connect(endpoint)
            peers.append(peer)
            _send(peer, _GREETING + ready(kind) + subscription(b""))
        yield len(peers)
    finally:
        for peer in peers:
            peer.close()


HOSTILE: dict[str, Callable[[str, bytes], None]] = {
    "long_subscription": long_subscription,
    "many_topics": many_topics,
    "many_short_topics": many_short_topics,
    "garbage": garbage,
    "half_handshakes": half_handshakes,
    "lengths_that_lie": lengths_that_lie,
}
"""The actions of one visitor, which then goes."""
