# SPDX-License-Identifier: Apache-2.0
"""A stranger's document is measured before it is parsed."""

import pytest

from rashpa.control.telegrams.telegram_limits import (
    MAX_ATTRIBUTES,
    MAX_BYTES,
    MAX_ELEMENTS,
    TelegramError,
    check_limits,
    root_of,
)


@pytest.mark.parametrize(
    "data",
    [
        b"<a" + b" b='1'" * MAX_ATTRIBUTES + b"/>",
        b"<a>" + b"<b/>" * (MAX_ELEMENTS - 2) + b"</a>",
        b"<a b='" + b"x" * (MAX_BYTES - 9) + b"'/>",
    ],
)
def test_the_largest_documents_pass(data: bytes) -> None:
    check_limits(data)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (bytes(MAX_BYTES + 1), f"{MAX_BYTES + 1} bytes; a telegram has at most {MAX_BYTES}"),
        (b"<!DOCTYPE a><a/>", "a telegram has no DOCTYPE and no entities; send the bare document"),
        (b"<!ENTITY a 'b'><a/>", "a telegram has no DOCTYPE and no entities; send the bare document"),
        (b"<" * (2 * MAX_ELEMENTS + 1), f"more than {MAX_ELEMENTS} elements"),
        (b"<a" + b" b = '1'" * (MAX_ATTRIBUTES + 1) + b"/>", f"more than {MAX_ATTRIBUTES} attributes"),
        (b"<a b='\xff'/>", "not well-formed XML: 'utf-8' codec"),
    ],
)
def test_too_much_of_something_is_refused(data: bytes, says: str) -> None:
    with pytest.raises(TelegramError) as refused:
        check_limits(data)
    assert str(refused.value).startswith(says)
    assert refused.value.code == "telegram"


@pytest.mark.parametrize(
    ("data", "root"),
    [
        (b"<?xml version='1.0'?><r:arm xmlns:r='u' version='3'><x/></r:arm>", ("arm", "3")),
        (b"<arm/>", ("arm", None)),
        (b"<arm><" + b"\xff" * 9000, ("arm", None)),  # the rest is not looked at
        (b" " * 5000 + b"<arm/>", ("", None)),  # no root in the first bytes
    ],
)
def test_the_root_is_found_without_the_rest(data: bytes, root: tuple[str, str | None]) -> None:
    assert root_of(data) == root


@pytest.mark.parametrize("data", [b"", b"arm", b"<arm"])
def test_a_document_without_a_root_is_refused(data: bytes) -> None:
    with pytest.raises(TelegramError, match=r"^not well-formed XML"):
        root_of(data)
