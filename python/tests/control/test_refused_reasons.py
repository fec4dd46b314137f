# SPDX-License-Identifier: Apache-2.0
"""Values of verbs that are refused with a reason: no choice has one, and each stands before the choices."""

import pytest

from rashpa.control.runfile.reading.refused_values import _REASONS, reason_against
from rashpa.control.runfile.run_file_reader import RunFileError, run_file_of

RUN = {
    "run": {"name": "r", "frames": 2},
    "detector": {"width": 8, "height": 8, "pixel": "uint16"},
    "dataset": {"kind": "pattern"},
}
REFUSED = [(table, value) for table, reasons in _REASONS.items() for value in reasons]


@pytest.mark.parametrize(("table", "value"), REFUSED, ids=[f"{table}={value}" for table, value in REFUSED])
def test_the_reason_stands_before_the_choices(table: str, value: str) -> None:
    first, *within, key = table.split(".")
    values: dict[str, object] = {key: value}
    for name in reversed(within):
        values = {name: values}
    with pytest.raises(RunFileError) as refused:
        run_file_of({**RUN, first: values})
    said = str(refused.value)
    assert f"{table}: {reason_against(table, value)}; " in said
    assert "it must be " in said.partition(reason_against(table, value))[2]


def test_other_values_have_no_reason() -> None:
    assert not reason_against("link.verbs.operation", "read")
    assert not reason_against("link.verbs.operation", ["send"])
    assert not reason_against("link.roce.operation", "send")
