# SPDX-License-Identifier: Apache-2.0
"""A kernel's files have the same names on every unit, so that a reader finds the version of a unit by its name.

`x.hpp`, `x.cpp` and `x_test.cpp` are the plain reference; `x_simd.cpp` is that of vectors; `x.cu` and `x.cl` are device code, `x_cuda` and `x_opencl` its host
side, `x_fpga` that of a card, each with `_test.cpp` for its test. A part of a kernel adds its own word behind x.
"""

import re
from pathlib import Path

import pytest

KERNELS = Path(__file__).parents[2] / "src/rashpa/kernel"
UNITS = ("cuda", "opencl", "fpga")
ROOMS = {"contract", "testing"}  # they are about units, and hold no kernel
INCLUDED = {"work_group.cl"}  # text of other device code
NAME = re.compile(r"[a-z0-9_]+?_(?:(?:cuda|opencl|fpga)(?:_test\.cpp|\.cpp|\.hpp)|simd\.cpp)")


def wrong_names(files: list[str]) -> list[str]:
    """Return the files of one folder with names that break the rule, with the reason."""
    found = []
    for name in files:
        stem, _, kind = name.partition(".")
        words = stem.replace("-", "_").split("_")
        if any(unit in words for unit in (*UNITS, "simd")) and not NAME.fullmatch(name):
            found.append(f"{name}: a unit is named otherwise than x_unit.hpp, x_unit.cpp, x_unit_test.cpp, x_simd.cpp")
        if kind in ("cu", "cl") and name not in INCLUDED:
            unit = {"cu": "cuda", "cl": "opencl"}[kind]
            heads = [f"{'_'.join(words[:count])}_{unit}.hpp" for count in range(1, len(words) + 1)]
            if not {f"{stem}.hpp", *heads} & set(files):
                found.append(f"{name}: neither {heads[-1]} nor {stem}.hpp declares it")
    return found


def test_files_of_kernels_are_named_by_one_rule() -> None:
    folders = [one for one in (KERNELS, *KERNELS.rglob("*")) if one.is_dir() and one.name not in ROOMS]
    listed = {folder: sorted(file.name for file in folder.iterdir() if file.is_file()) for folder in folders}
    assert sum(name.endswith((".cu", ".cl")) for names in listed.values() for name in names) > 25
    wrong = [f"{folder.relative_to(KERNELS)}/{text}" for folder, names in listed.items() for text in wrong_names(names)]
    assert wrong == []


@pytest.mark.parametrize(
    "name", ["x_cuda.cu", "x_cuda_pass.cpp", "cuda_x.cpp", "x_simd_test.cpp", "x_opencl.cl", "x_fpga.cu", "y.cu"]
)
def test_other_names_are_found(name: str) -> None:
    good = [
        "x.hpp",
        "x.cpp",
        "x.cu",
        "x.cl",
        "x_cuda.hpp",
        "x_opencl.hpp",
        "x_opencl_test.cpp",
        "x_simd.cpp",
        "x_join.cu",
    ]
    assert wrong_names(good) == []
    assert len(wrong_names([*good, name])) >= 1
