# SPDX-License-Identifier: Apache-2.0
"""Oracle of the kernel `veto`: its rules are expressions of Python, too, on numbers of 64 bits."""

import numpy as np


def holds(rule: str, columns: dict[str, float]) -> bool:
    """Whether the rule holds of these numbers."""
    with np.errstate(all="ignore"):
        names = {name: np.float64(value) for name, value in columns.items()}
        return bool(eval(compile(rule, "rule", "eval"), {"__builtins__": {}}, names))
