# SPDX-License-Identifier: Apache-2.0
"""Imports the modules of a report's page when they are needed, in any thread."""

import importlib
import threading
from typing import Any

_ONE_IMPORT = threading.Lock()
"""Guards an import: when a module fails, a second thread that imports it can see half of it."""


def page_module() -> Any:
    """Import and return the module of the page, which takes half of a command's start-up time. Raise the errors of its import in every thread."""
    with _ONE_IMPORT:
        return importlib.import_module("rashpa.cli.report.report_html")
