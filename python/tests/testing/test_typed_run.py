# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.testing.run_file import Table, small_run
from rashpa.testing.typed_run import good_run, typed_run

pytestmark = pytest.mark.whole


def test_a_good_run_has_its_output_and_its_report(tmp_path: Path) -> None:
    output, report = good_run(small_run(), tmp_path)
    assert "0 unexplained" in output
    assert report["run"]["good"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"buffer": {"slots": 1}}, "slots"), ({"run": {"frames": -1}}, "frames")],
)
def test_a_run_without_a_report_is_an_error_with_its_output(tmp_path: Path, wrong: dict[str, Table], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        typed_run(small_run(**wrong), tmp_path)


def test_a_run_that_is_not_good_is_an_error_with_its_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rashpa.testing.typed_run.typed_run", lambda *_: (3, "an image is missing", {}))
    with pytest.raises(AssertionError, match="an image is missing"):
        good_run(small_run(), tmp_path)
