# SPDX-License-Identifier: Apache-2.0
"""Converts exceptions of the native module to errors of engines."""

import contextlib
from collections.abc import Iterator

from rashpa import _native
from rashpa.node.engine.engine import EngineError


@contextlib.contextmanager
def native_errors() -> Iterator[None]:
    """Convert native exceptions raised in the context to EngineError with a code of the Fault telegram."""
    try:
        yield
    except _native.ConfigError as error:
        raise EngineError("config", str(error)) from None
    except _native.ResourceError as error:
        raise EngineError("resource", str(error)) from None
    except (_native.FileError, OSError) as error:
        raise EngineError("file", str(error)) from None
    except _native.StateError as error:
        raise EngineError("state", str(error)) from None
    except MemoryError:
        raise EngineError(
            "resource",
            "not enough memory; use fewer slots, a smaller region, fewer run.frames (each has a row in tables), or fewer frames in the dataset",
        ) from None
    except (_native.NativeError, ValueError, TypeError) as error:
        raise EngineError("config", str(error)) from None
