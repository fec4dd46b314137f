# SPDX-License-Identifier: Apache-2.0
"""Makes texts and errors for optional libraries, which an extra of the package installs."""

from rashpa.data.base.rashpa_error import RashpaError

WITHOUT_FABIO = "images of this kind are read by fabio, which is not installed; pip install 'rashpa[images]'"


class MissingExtraError(RashpaError, ImportError):
    """Reports a missing package; the text has the command that installs it."""


def missing(extra: str, error: ImportError) -> MissingExtraError:
    """Return the error to raise when a package of the extra `extra` cannot be imported because of `error`."""
    return MissingExtraError(
        f"{error}; `pip install 'rashpa[{extra}]'` brings what rashpa needs for it", name=error.name
    )
