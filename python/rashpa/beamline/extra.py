# SPDX-License-Identifier: Apache-2.0
"""Defines the error for missing packages of a control system."""

from rashpa.data.base.rashpa_error import RashpaError


class MissingExtraError(RashpaError, ImportError):
    """Reports a missing package; the text has the command that installs it."""


def missing(extra: str, error: ImportError) -> MissingExtraError:
    """Return the error to raise when a package of the extra `extra` cannot be imported because of `error`."""
    return MissingExtraError(
        f"{error}; `pip install 'rashpa[{extra}]'` brings what rashpa needs for it", name=error.name
    )
