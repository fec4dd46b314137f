# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.control.books.outcome import Outcome
from rashpa.control.plan.run_plan import load_plan
from rashpa.testing.run_file import small_run
from rashpa.testing.warm_nodes import WarmNodes

pytestmark = pytest.mark.whole


def test_one_process_of_each_role_serves_all_runs_and_ends_behind_them(tmp_path: Path) -> None:
    with WarmNodes(tmp_path) as nodes:
        urls = [nodes.url(role) for role in ("emulator", "receiver")]
        for number in range(2):
            folder = tmp_path / str(number)
            folder.mkdir()
            (folder / "run.toml").write_text(small_run())
            outcome = nodes.good_run(folder / "run.toml")
            assert [outcome.plan.emulators[0].node, outcome.plan.receivers[0].node] == urls
            assert (folder / "out" / "small_full_master.h5").is_file()
        processes = [Path(f"/proc/{process}") for process in nodes.processes]
        assert len(processes) == 2
        assert all(process.is_dir() for process in processes)
    assert not any(process.exists() for process in processes)


def test_a_run_that_is_not_good_is_an_error_with_its_reasons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "run.toml"
    file.write_text(small_run())
    bad = Outcome(load_plan(file), problem="the receiver was killed")
    monkeypatch.setattr(WarmNodes, "run", lambda *_: bad)
    with WarmNodes(tmp_path) as nodes, pytest.raises(AssertionError, match="the receiver was killed"):
        nodes.good_run(file)
