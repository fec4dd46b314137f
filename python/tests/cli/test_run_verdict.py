# SPDX-License-Identifier: Apache-2.0
"""The findings on a run's files in its report."""

import json
from pathlib import Path

import h5py
import pytest
from typer.testing import CliRunner

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.cli.main import app
from rashpa.cli.report.run_verdict import judged_file, verdict_cautions
from rashpa.testing.foreign_nxmx import foreign
from rashpa.testing.run_file import run_file


def run_text(folder: Path) -> str:
    return run_file(
        run={"name": "judged", "frames": 4, "output": f"{folder}/out"},
        buffer=[
            {"name": "one", "slots": 4, "stack": 2, "sink": [{"kind": "hdf5"}]},
            {"name": "two", "slots": 4, "stack": 2, "sink": [{"kind": "hdf5"}]},
        ],
    )


@pytest.mark.whole
def test_a_report_has_the_verdict_on_every_file(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(run_text(folder=tmp_path))
    report = tmp_path / "report"
    done = CliRunner().invoke(app, ["run", str(tmp_path / "run.toml"), "-q", "--output", str(report)])
    assert done.exit_code == 0, done.output
    said = json.loads((report / "report.json").read_text())
    names = [Path(one["file"]).name for one in said["files"]]
    assert names == ["judged_one_master.h5", "judged_two_master.h5", "judged_master.h5"]
    assert [one["images"] for one in said["files"]] == [4, 4, 8]
    assert [one["wrong"] for one in said["files"]] == [[], [], []]
    assert "rashpa check: 3 files, none of them wrong." in (report / "report.html").read_text()


def test_what_is_wrong_is_named_with_its_file(tmp_path: Path) -> None:
    def spoil(file: h5py.File) -> None:
        file["entry/data/frame_number"] = [1, 2, 2, 3]

    good = judged_file(foreign(tmp_path / "f.h5", spoil))
    assert any("1 frames are there more than once (2)" in text for text in good["wrong"])
    (tmp_path / "g.h5").write_bytes(b"no file")
    bad = judged_file(tmp_path / "g.h5")
    assert bad["images"] == 0
    assert len(bad["wrong"]) == 1
    first, second = verdict_cautions([good, {"file": "x", "images": 1, "wrong": [], "odd": ["y"]}, bad])
    assert first.startswith(f"{tmp_path / 'f.h5'}: rashpa check: /entry/")
    assert second.startswith(f"{tmp_path / 'g.h5'}: rashpa check: ")
