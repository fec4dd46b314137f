# SPDX-License-Identifier: Apache-2.0
"""Why a node does not start."""


class ServeError(RuntimeError):
    """The node cannot be started this way; the text says what to change."""
