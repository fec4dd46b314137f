# SPDX-License-Identifier: Apache-2.0
"""Fuzzes one target of targets.py with atheris, which follows the Python code of rashpa that an input reaches: `python tests/fuzz/fuzz.py TARGET
[libFuzzer's options] CORPUS`. See docs/how-to/fuzz.md."""

import random
import sys
from pathlib import Path

import atheris

import rashpa._native

# atheris instruments what is imported from source files; the finder of an editable installation gives it something else. The compiled part,
# which only that finder finds, is there by now.
sys.meta_path[:] = [finder for finder in sys.meta_path if not type(finder).__name__.startswith("ScikitBuild")]
rashpa.__path__ = [str(Path(__file__).resolve().parents[2] / "python" / "rashpa")]
sys.path.insert(0, str(Path(__file__).parent))
with atheris.instrument_imports(include=["rashpa"]):
    import mutation  # type: ignore[import-not-found]  # beside this file
    import targets  # type: ignore[import-not-found]


def main() -> None:
    """Run until libFuzzer's options end it."""
    name = sys.argv.pop(1)
    target = targets.TARGETS[name]
    seeds = target.seeds()

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        generator = random.Random(seed)
        if generator.random() < 0.3:
            return bytes(atheris.Mutate(data, most))
        changed: bytes = mutation.mutated(data or generator.choice(seeds), generator, seeds)[:most]
        return changed

    corpus = Path(sys.argv[-1])
    for number, seed in enumerate(seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    atheris.Setup(sys.argv, target.run, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
