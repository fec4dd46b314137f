# SPDX-License-Identifier: Apache-2.0
"""The error of a node that does not start."""

from rashpa.data.base.rashpa_error import RashpaError


class ServeError(RashpaError, RuntimeError):
    """Names the reason why a node cannot be started this way; the text says what to change."""
