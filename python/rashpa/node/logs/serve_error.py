# SPDX-License-Identifier: Apache-2.0
"""Defines the error of a node that does not start."""

from rashpa.data.base.rashpa_error import RashpaError


class ServeError(RashpaError, RuntimeError):
    """Says why a node cannot start and what to change."""
