# SPDX-License-Identifier: Apache-2.0
"""Finds the version of this rashpa."""

from importlib.metadata import PackageNotFoundError, version


def software_version() -> str:
    """Return the version of the installed package, "0+source" for a source tree that was never installed."""
    try:
        return version("rashpa")
    except PackageNotFoundError:
        return "0+source"
