# SPDX-License-Identifier: Apache-2.0
"""Bearer tokens: what is one, and where they come from."""

import os
import re
import secrets

VARIABLE = "RASHPA_TOKEN"
_VISIBLE = re.compile(r"[\x21-\x7e]+")


class TokenError(ValueError):
    """A token that is none; the text says where it was given. Never the token itself."""


def checked_token(token: str, where: str) -> str:
    """The token. TokenError when it is blank, which would let in everybody, or cannot stand in a header."""
    if not token.strip():
        raise TokenError(f"{where} is blank: a blank token would keep nobody out; give a token, or leave it away")
    if not _VISIBLE.fullmatch(token):
        raise TokenError(f"{where} has white space or other than ASCII in it; take what `openssl rand -hex 32` prints")
    return token


def token_of_environment() -> str:
    """RASHPA_TOKEN, which programs started from here do not inherit; empty when it is not set. TokenError."""
    token = os.environ.pop(VARIABLE, None)
    return "" if token is None else checked_token(token, f"{VARIABLE} of the environment")


def new_token() -> str:
    """One that nobody guesses."""
    return secrets.token_urlsafe(32)
