# SPDX-License-Identifier: Apache-2.0
"""Checks bearer tokens, and reads or makes them."""

import os
import re
import secrets

from rashpa.data.base.rashpa_error import RashpaError

VARIABLE = "RASHPA_TOKEN"
_VISIBLE = re.compile(r"[\x21-\x7e]+")


class TokenError(RashpaError, ValueError):
    """Refuses a text that is no token; the message names its source, and never the text itself."""


def checked_token(token: str, where: str) -> str:
    """Return the token. Raise TokenError when it is blank, which would give everyone access, or when it cannot be sent in a header."""
    if not token.strip():
        raise TokenError(f"{where} is blank: a blank token would keep nobody out; give a token, or leave it away")
    if not _VISIBLE.fullmatch(token):
        raise TokenError(f"{where} has white space or other than ASCII in it; take what `openssl rand -hex 32` prints")
    return token


def token_of_environment() -> str:
    """Remove RASHPA_TOKEN from the environment, so that child processes do not inherit it, and return it; empty when it is not set. Raise TokenError
    for a bad token."""
    token = os.environ.pop(VARIABLE, None)
    return "" if token is None else checked_token(token, f"{VARIABLE} of the environment")


def new_token() -> str:
    """Return a random token that cannot be guessed."""
    return secrets.token_urlsafe(32)
