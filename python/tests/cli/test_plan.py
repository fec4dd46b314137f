# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rashpa.cli.main import app

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def test_the_plan_of_an_example_names_steps_passes_units_and_memory() -> None:
    done = CliRunner().invoke(app, ["plan", str(EXAMPLES / "01_first_light.toml")])
    assert done.exit_code == 0, done.output
    for text in (
        "1. jungfrau: uint16 → int16 pixels, masked_pixels and saturated_pixels",
        "counts for bragg_count",
        "no pass: jungfrau counts on its way",
        "* unit cpu: jungfrau, bragg_count (counted on the way)",
        "  unit cuda: jungfrau, bragg_count (counted on the way)",
        "columns: masked_pixels, saturated_pixels, bright_pixels",
        "vetoes: too_few, too_many, dark, partial",
        "memory: images",
        "reads the marks of jungfrau",
    ):
        assert text in done.output, done.output


@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.glob("*.toml")))
def test_every_example_has_a_plan(example: str) -> None:
    done = CliRunner().invoke(app, ["plan", str(EXAMPLES / example)])
    assert done.exit_code == 0, done.output


def test_nothing_is_written_and_a_bad_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text("[run]\n")
    done = CliRunner().invoke(app, ["plan", str(path)])
    assert done.exit_code == 2
    assert [each.name for each in tmp_path.iterdir()] == ["run.toml"]
