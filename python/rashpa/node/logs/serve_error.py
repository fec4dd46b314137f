# SPDX-License-Identifier: Apache-2.0
"""The error of a node that does not start."""


class ServeError(RuntimeError):
    """Names the reason why a node cannot be started this way; the text says what to change."""
