# SPDX-License-Identifier: Apache-2.0
"""Oracle of the kernel `veto`: its rules are also Python expressions, evaluated with 64-bit numbers."""

import numpy as np


def holds(rule: str, columns: dict[str, float]) -> bool:
    """Return True when the rule holds for these numbers."""
    with np.errstate(all="ignore"):
        names = {name: np.float64(value) for name, value in columns.items()}
        return bool(eval(compile(rule, "rule", "eval"), {"__builtins__": {}}, names))
