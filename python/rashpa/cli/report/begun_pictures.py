# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of a report in a thread of its own, while the command prints its tables and checks the files: most of this work is in libraries
that need no interpreter."""

from __future__ import annotations

import contextlib
import sys
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING

from rashpa.cli.report.page_module import page_module

if TYPE_CHECKING:
    from rashpa.cli.report.report_pictures import Shown
    from rashpa.control.books.outcome import Outcome

_SWITCH_S = 0.0005  # the pictures' thread waits this long for the interpreter, often; Python's own 5 ms would make it the slower one


class BegunPictures:
    """Holds the pictures and curves of a report while they are being made. The outcome must not change what it says about buffers and files."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self._made: Future[dict[str, Shown]] = Future()
        self._usual_s = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH_S)
        self._thread = threading.Thread(target=self._make, name="pictures", daemon=True)
        with contextlib.suppress(RuntimeError):  # without a thread, `result` makes them
            self._thread.start()

    def result(self) -> dict[str, Shown]:
        """Return the pictures and curves by buffer. Raise the error with which they failed."""
        if self._thread.ident is None and not self._made.done():
            self._make()
        return self._made.result()

    def _make(self) -> None:
        try:
            page_module()
            from rashpa.cli.report.report_pictures import pictures_of

            self._made.set_result(pictures_of(self._outcome))
        except BaseException as error:  # noqa: BLE001  (it is raised where the pictures are needed)
            self._made.set_exception(error)
        finally:
            sys.setswitchinterval(self._usual_s)
