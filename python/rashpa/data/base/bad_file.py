# SPDX-License-Identifier: Apache-2.0
"""Defines the base class of readers' errors about a file, and separates faults of a file from faults of our own process."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from rashpa.data.base.limit_said import limit_behind
from rashpa.data.base.rashpa_error import RashpaError

_OWN_NUMBERS = (errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EAGAIN)
_OF_OUTPUT = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG)
_OWN_WORDS = ("memory allocation failed", "unable to allocate", "can't allocate", "annot allocate memory")
_CONTRADICTIONS = (OSError, LookupError, RuntimeError, ValueError, TypeError, ArithmeticError)
"""The exceptions by which h5py and NumPy report that a file contradicts itself."""


class BadFileError(RashpaError, ValueError):
    """Reports a file with wrong content or in a wrong place. The text names the file, the fault and a remedy."""


def is_own(error: BaseException) -> bool:
    """Return True when the error is due to this process, for lack of memory or too many open files, and not due to a file."""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in _OWN_NUMBERS):
        return True
    return any(words in str(error).lower() for words in _OWN_WORDS)


@contextmanager
def blaming(what: str, kind: type[BadFileError] = BadFileError, advice: str = "copy it again") -> Iterator[None]:
    """Turn a contradiction in a file's content into an error of type `kind`, with a text that begins with `what`. Wrap only the reading of the file.
    Errors of our own process pass unchanged: MemoryError, and OSError of too many open files or of a full disk."""
    try:
        yield
    except BadFileError:
        raise
    except _CONTRADICTIONS as error:
        if isinstance(error, OSError) and error.errno in _OF_OUTPUT:  # an error of output, not of a read file
            raise
        if not is_own(error):
            said = str(error).strip('"')[:500] or type(error).__name__
            raise kind(f"{what}: {said}; {advice}") from error
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise MemoryError(f"{what}: {error}") from error


def advised(text: str, advice: str) -> str:
    """Return the text, with `advice` appended if it has none."""
    return text if ";" in text else f"{text}; {advice}"


def no_memory(error: MemoryError) -> str:
    """Return the text of a MemoryError, with the limit of address space when there is one."""
    limit = limit_behind(error)
    limited = f"; {limit}" if limit else ""
    said = f"{error}: " if str(error) else ""
    return f"{said}this process lacks memory{limited}; allow it more"
