# SPDX-License-Identifier: Apache-2.0
"""What is said where the packages of a control system are not there."""


class MissingExtraError(ImportError):
    """Says which command installs what is missing."""


def missing(extra: str, error: ImportError) -> MissingExtraError:
    """For who catches that a package of the extra cannot be imported."""
    return MissingExtraError(f"{error}; `pip install rashpa[{extra}]` brings what rashpa needs for it", name=error.name)
