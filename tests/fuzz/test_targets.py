# SPDX-License-Identifier: Apache-2.0
"""Tests the fuzzers' targets without a fuzzer: good input, earlier findings (corpus/), and some hundred seeded mutations of both, each in bounded
time. `make fuzz` searches for more."""

import importlib.util
import random
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("rashpa._native")
HERE = Path(__file__).parent


def _module(name: str) -> "object":
    spec = importlib.util.spec_from_file_location(f"rashpa_fuzz_{name}", HERE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


mutation = _module("mutation")
TARGETS = _module("targets").TARGETS  # type: ignore[attr-defined]
SECONDS = 2.0  # an input takes milliseconds; this machine may have other things to do


@pytest.mark.parametrize("name", TARGETS)
def test_no_input_is_answered_but_by_an_error_of_ours_and_soon(name: str) -> None:
    target = TARGETS[name]
    seeds = target.seeds()
    known = [path.read_bytes() for path in sorted((HERE / "corpus" / name).glob("*"))]
    generator = random.Random(8)
    made = (mutation.mutated(generator.choice(seeds), generator, seeds) for _ in range(400))  # type: ignore[attr-defined]
    for data in (b"", *seeds, *known, *made):
        before = time.process_time()
        target.run(data)
        took = time.process_time() - before
        assert took < SECONDS, f"{took:.1f} s for {data[:200]!r}"
