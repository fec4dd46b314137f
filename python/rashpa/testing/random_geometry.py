# SPDX-License-Identifier: Apache-2.0
"""Makes geometries of random detectors, and computes the places of their pixels with matrices, independently of the program."""

import math
import random
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

WIDTH, HEIGHT, PITCH = 60, 40, 75e-6
_AXES = {"x": np.array([1.0, 0.0, 0.0]), "y": np.array([0.0, 1.0, 0.0])}
WAYS = [(f"{a}{p}", f"{b}{q}") for p, q in ("xy", "yx") for a in "+-" for b in "+-"]


@dataclass(frozen=True)
class Panel:
    """A module as the file describes it; lengths are in pixels."""

    corner: NDArray[np.float64]
    fast: NDArray[np.float64]
    slow: NDArray[np.float64]

    def places(self) -> NDArray[np.float64]:
        """Return the places of the centres of all pixels in readout order, [row][column][x, y, z]."""
        row, column = np.mgrid[:HEIGHT, :WIDTH] + 0.5
        found: NDArray[np.float64] = self.corner + column[..., None] * self.fast + row[..., None] * self.slow
        return found


def direction(text: str) -> NDArray[np.float64]:
    """Return the unit vector for a text such as "-x"."""
    found: NDArray[np.float64] = _AXES[text[1]] * (1.0 if text[0] == "+" else -1.0)
    return found


def one_geometry(random_: random.Random, most: tuple[str, str], *, small_turns: bool) -> list[Panel]:
    """Return four modules without overlap: three in the directions `most`, one in any direction."""
    panels = []
    for number in range(4):
        fs, ss = most if number else random_.choice(WAYS)
        angle = random_.uniform(-0.01, 0.01) if small_turns else 0.0
        turn = np.array([[math.cos(angle), -math.sin(angle), 0], [math.sin(angle), math.cos(angle), 0], [0, 0, 1]])
        fast, slow = turn @ direction(fs), turn @ direction(ss)
        middle = np.array([90.0 * (number % 2) - 45.0, 90.0 * (number // 2) - 45.0, 0.0])
        middle[:2] += [random_.uniform(-4, 4), random_.uniform(-4, 4)]
        corner = middle - fast * WIDTH / 2 - slow * HEIGHT / 2
        corner[2] = random_.choice([0.0, 2.5])
        panels.append(Panel(corner, fast, slow))
    return panels


def text_of(panels: list[Panel]) -> str:
    """Return the geometry file for images of the modules, stacked from top to bottom."""
    lines = [f"res = {1 / PITCH!r}", "clen = 0.1", "photon_energy = 12400"]
    for number, panel in enumerate(panels):
        lines += [f"m{number}/min_fs = 0", f"m{number}/max_fs = {WIDTH - 1}"]
        lines += [f"m{number}/min_ss = {number * HEIGHT}", f"m{number}/max_ss = {number * HEIGHT + HEIGHT - 1}"]
        lines += [f"m{number}/corner_{axis} = {float(panel.corner[at])!r}" for at, axis in enumerate("xy")]
        lines += [f"m{number}/coffset = {float(panel.corner[2]) * PITCH!r}"]
        for name, step in (("fs", panel.fast), ("ss", panel.slow)):
            lines.append(f"m{number}/{name} = {step[0]:+.12f}x {step[1]:+.12f}y")
    return "\n".join(lines) + "\n"
