# SPDX-License-Identifier: Apache-2.0
"""Rules of vetoes, compared with the table of cases that the native tests read, too."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.kernels import Column
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.control.runfile.veto_rule import RuleError, check_rule

CASES = Path(__file__).resolve().parents[3] / "src/rashpa/kernel/veto/cases.txt"
COLUMNS = [
    Column("n_peaks", "uint32"),
    Column("total_counts", "int64"),
    Column("lit_pixels", "uint64"),
    Column("snr", "float64"),
]


def cases() -> Iterator[tuple[str, str]]:
    """Yield each rule with its result."""
    for line in CASES.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            rule, _, expected = (part.strip(" ") for part in line.split("|"))
            yield rule, expected


@pytest.mark.parametrize(("rule", "expected"), list(cases()))
def test_rules_are_refused_with_the_words_of_the_native_side(rule: str, expected: str) -> None:
    if expected in ("true", "false"):
        check_rule(rule, COLUMNS)
        return
    with pytest.raises(RuleError) as caught:
        check_rule(rule, COLUMNS)
    assert expected.removeprefix("! ") in str(caught.value)


def test_columns_of_code_from_outside_are_not_known_here() -> None:
    check_rule("anything > 3", None)
    with pytest.raises(RuleError, match="it ends"):
        check_rule("anything >", None)


RUN = """\
[run]
name = "vetoes"
frames = 10
[detector]
width = 64
height = 32
[dataset]
kind = "pattern"
width = 64
height = 32
[[buffer]]
name = "full"
unit = "{unit}"
sink = [{{ kind = "null" }}]
[[buffer.kernel]]
name = "total_counts"
[[buffer.kernel]]
name = "veto"
keep = "{keep}"
reason = "{reason}"
[[buffer.kernel]]
name = "veto"
keep = "masked_in_total < 10"
reason = "too_dark"
"""


def refusal(tmp_path: Path, *, keep: str = "total_counts > 3", reason: str = "weak", unit: str = "cpu") -> str:
    path = tmp_path / "run.toml"
    path.write_text(RUN.format(keep=keep, reason=reason, unit=unit))
    try:
        load_plan(path)
    except RunFileError as error:
        return str(error)
    return ""


def test_a_run_file_with_rules_is_checked_by_key(tmp_path: Path) -> None:
    assert not refusal(tmp_path)
    assert (
        "run.toml:19: buffer[0].kernel[1].keep: no step before it makes the column n_peaks; there are total_counts, masked_in_total"
        in refusal(tmp_path, keep="n_peaks >= 15")
    )
    assert 'keep: "masked_in_total > -1" is always true: masked_in_total is uint32, 0 to 4294967295' in refusal(
        tmp_path, keep="masked_in_total > -1"
    )
    assert "run.toml:20: buffer[0].kernel[1].reason: the name is not allowed; give a small letter" in refusal(
        tmp_path, reason="No Hit"
    )
    assert not refusal(tmp_path, unit="cuda")
    assert not refusal(tmp_path, unit="opencl")
