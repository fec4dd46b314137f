# SPDX-License-Identifier: Apache-2.0
"""Render a conda recipe with rattler-build, which reports its faults: `python tools/release/check_recipe.py FILE`."""

import sys
from pathlib import Path

from rattler_build import RenderConfig, Stage0Recipe, VariantConfig


def main() -> None:
    """Print the packages that the recipe would make."""
    recipe = Stage0Recipe.from_yaml(Path(sys.argv[1]).read_text(encoding="utf-8"))
    for variant in recipe.render(VariantConfig({"c_stdlib": ["sysroot"]}), RenderConfig()):
        package = variant.recipe.package
        print(f"check_recipe: {package.name} {package.version}")


if __name__ == "__main__":
    main()
