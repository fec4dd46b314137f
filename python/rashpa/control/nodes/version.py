# SPDX-License-Identifier: Apache-2.0
"""The version of this rashpa."""

from importlib.metadata import PackageNotFoundError, version


def software_version() -> str:
    """Return the version of the installed package, "0+source" when it runs from a tree that was never installed."""
    try:
        return version("rashpa")
    except PackageNotFoundError:
        return "0+source"
