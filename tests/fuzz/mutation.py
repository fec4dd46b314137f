# SPDX-License-Identifier: Apache-2.0
"""Mutates text and bytes with some knowledge of their structure; seeded, so that a test repeats the mutations."""

import random
import re

_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_QUOTED = re.compile(rb'"[^"\n]*"')
_LONG = 3000

NUMBERS = (
    b"0",
    b"-1",
    b"1",
    b"255",
    b"65536",
    b"4294967296",
    b"18446744073709551616",
    b"-9223372036854775809",
    b"1e400",
    b"1e-400",
    b"nan",
    b"inf",
    b"NaN",
    b"-INF",
    b"true",
    b"0x" + b"f" * _LONG,
    b"9" * (2 * _LONG),
    b"1.5",
    b"",
    b"null",
    b"[]",
    b"{}",
    b'"text"',
)
TEXTS = (
    b"",
    b"\0",
    b"../../x",
    b"/dev/zero",
    b"a" * _LONG,
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\xf0\x9f\x9a\x80",
    b"\\u0000",
    b"\\ud800",
    b"&amp;&#0;",
    b"1 2 3",
    b"http://[::1",
    b"local",
)


def _replaced(data: bytes, pattern: re.Pattern[bytes], new: bytes, generator: random.Random) -> bytes:
    places = [found.span() for found in pattern.finditer(data)]
    if not places:
        return data
    first, end = generator.choice(places)
    return data[:first] + new + data[end:]


def number(data: bytes, generator: random.Random) -> bytes:
    """Return the data with a number replaced by another."""
    return _replaced(data, _NUMBER, generator.choice(NUMBERS), generator)


def text(data: bytes, generator: random.Random) -> bytes:
    """Return the data with a quoted text replaced by another."""
    return _replaced(data, _QUOTED, b'"' + generator.choice(TEXTS) + b'"', generator)


def lines(data: bytes, generator: random.Random) -> bytes:
    """Return the data with a line removed, doubled, repeated many times, or moved."""
    parts = data.split(b"\n")
    at = generator.randrange(len(parts))
    how = generator.randrange(4)
    if how == 0:
        del parts[at]
    elif how == 3:
        parts.insert(generator.randrange(len(parts)), parts.pop(at))
    else:
        parts[at:at] = [parts[at]] * (1 if how == 1 else generator.randrange(200))
    return b"\n".join(parts)


def nested(data: bytes, generator: random.Random) -> bytes:
    """Return the data with many brackets, dots or elements of one kind inserted."""
    at = generator.randrange(len(data) + 1)
    piece = generator.choice(
        (b"[", b"{a=", b'{"a":', b"a.", b"(", b"<a>", b"<Count>", b"]", b"'", b'"', b'"""', b"\\", b"[[a]]\n")
    )
    return data[:at] + piece * generator.choice((1, 2, 40, 2000)) + data[at:]


def bits(data: bytes, generator: random.Random) -> bytes:
    """Return the data with some bytes changed."""
    wrong = bytearray(data)
    for _ in range(generator.choice((1, 1, 2, 8))):
        if wrong:
            at = generator.randrange(generator.choice((min(64, len(wrong)), len(wrong))))
            wrong[at] = generator.choice((wrong[at] ^ 1 << generator.randrange(8), 0, 255, generator.randrange(256)))
    return bytes(wrong)


def cut(data: bytes, generator: random.Random) -> bytes:
    """Return the data without an end, a beginning or a middle."""
    first, end = sorted(generator.randrange(len(data) + 1) for _ in range(2))
    return generator.choice((data[:first], data[first:end], data[:first] + data[end:]))


def joined(data: bytes, generator: random.Random, others: list[bytes]) -> bytes:
    """Return the beginning of the data with the end of another input."""
    other = generator.choice(others)
    return data[: generator.randrange(len(data) + 1)] + other[generator.randrange(len(other) + 1) :]


def mutated(data: bytes, generator: random.Random, others: list[bytes]) -> bytes:
    """Return the data after one to four random mutations."""
    for _ in range(generator.choice((1, 1, 2, 4))):
        how = generator.choice((number, number, text, text, lines, nested, bits, bits, cut))
        data = joined(data, generator, others) if generator.random() < 0.1 else how(data, generator)
    return data
