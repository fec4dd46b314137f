# SPDX-License-Identifier: Apache-2.0
"""Tests images dealt among receivers, as a user runs them, while receivers are killed and stopped: every frame is stored at a member, with every
pixel right."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  registers the filter of images
import numpy as np
import pytest
from typer.testing import CliRunner, Result

import rashpa
from rashpa.cli.main import app
from rashpa.cli.report.report import report_of
from rashpa.control.nodes.fleet import Fleet
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.run.manager import Manager
from rashpa.data.parts.run_parts import StoredRunError
from rashpa.data.stored.joined_run import open_parts
from rashpa.data.stored.reader import open_run
from rashpa.data.stored.run_facts import COMPLETENESS
from rashpa.sim import pattern_frame
from rashpa.testing.waiting import GUARD_S, eventually

COMMAND = [sys.executable, "-m", "rashpa.cli.entry"]
WIDTH, HEIGHT, DIFFERENT = 64, 32, 7
LONG = 1500  # frames, of a run that receivers join or whose manager is replaced: those need many seconds on a loaded machine
MEMBERS = ("a", "b", "c")
RUN = """\
[run]
name = "dealt"
frames = {frames}
output = "."
existing = "replace"
[detector]
width = 64
height = 32
rate_hz = {rate_hz}
module = [{{ x = 0, y = 0 }}, {{ x = 0, y = 40 }}]
[dataset]
kind = "pattern"
width = 64
height = 32
modules = 2
frames = 7
[link]
{link}
[[receiver]]
name = "a"
port = 0
[[receiver]]
name = "b"
port = 0
[[receiver]]
name = "c"
port = 0
[[group]]
name = "farm"
receivers = ["a", "b", "c"]
{group}
[[buffer]]
name = "full"
group = "farm"
slots = 20
stack = 5
deadline_ms = 2000
[[buffer.sink]]
kind = "hdf5"
"""


def write(folder: Path, frames: int, rate_hz: float, link: str = "", group: str = "", extra: str = "") -> Path:
    file = folder / "dealt.toml"
    file.write_text(RUN.format(frames=frames, rate_hz=rate_hz, link=link, group=group) + extra, encoding="utf-8")
    return file


def start(file: Path) -> "subprocess.Popen[str]":
    command = [*COMMAND, "run", str(file), "-q", "--no-page", "--output", str(file.parent / "report")]
    return subprocess.Popen(command, cwd=file.parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def end(process: "subprocess.Popen[str]", folder: Path) -> tuple[int, str, dict[str, Any]]:
    output, _ = process.communicate(timeout=150)
    report = folder / "report" / "report.json"
    return process.returncode, output, json.loads(report.read_text()) if report.is_file() else {}


def receivers(process: "subprocess.Popen[str]") -> dict[str, int]:
    """Return the processes of the run's receivers, by name."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().decode().split("\0")
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError):
            continue
        if parent == process.pid and "receiver" in words:
            found.update({name: int(entry.name) for name in MEMBERS if f"receiver {name}" in words or name in words})
    return found


def begun(folder: Path, process: "subprocess.Popen[str]") -> None:
    """Wait until every member has a file that is being written."""
    masters = [folder / f"dealt_full_{name}_master.h5" for name in MEMBERS]
    eventually(lambda: all(master.exists() for master in masters), process=process)
    time.sleep(0.7)  # wait: in the middle of what each has


def stored(folder: Path, members: tuple[str, ...] = MEMBERS) -> tuple[Counter[int], Counter[int]]:
    """Return how often each frame is stored whole, with every pixel checked, and how often in part. A member that is late in the middle of an image
    keeps the part that it has; another member has the whole image."""
    whole, partial = Counter[int](), Counter[int]()
    for name in members:
        with open_run(folder / f"dealt_full_{name}_master.h5") as run:
            for index, frame in enumerate(run.frame_numbers.tolist()):
                if run.tables.completeness[run.row_of(index)] != COMPLETENESS.index("complete"):
                    partial[frame] += 1
                    continue
                image = run.image(index)
                for module, top in enumerate((0, 40)):
                    part = pattern_frame("uint16", module, frame % DIFFERENT, HEIGHT, WIDTH)
                    np.testing.assert_array_equal(image[top : top + HEIGHT], part, err_msg=f"{name} frame {frame}")
                whole[frame] += 1
    return whole, partial


@pytest.mark.parametrize("link", ["", 'roce.transport = "rc"', 'kind = "pcie"'])
def test_every_frame_is_at_one_member(tmp_path: Path, link: str) -> None:
    code, output, report = end(start(write(tmp_path, 601, 0.0, link)), tmp_path)
    assert code == 0, output
    whole, partial = stored(tmp_path)
    assert sorted(whole) == list(range(601))
    (group,) = report["groups"]
    assert group["images"] == group["complete"] == 601
    assert whole.total() + partial.total() == 601 + group["duplicates"]
    # as fast as they take them: a member whose process the machine does not run meanwhile may get none
    assert sum(member["dealt"] for member in group["members"]) >= 601
    assert report["injected"]["unexplained"] == 0


def test_what_a_killed_and_a_stopped_member_had_is_stored_by_others(tmp_path: Path) -> None:
    process = start(write(tmp_path, 1500, 300.0))
    begun(tmp_path, process)
    nodes = receivers(process)
    assert set(nodes) == set(MEMBERS), nodes
    os.kill(nodes["a"], signal.SIGKILL)
    os.kill(nodes["b"], signal.SIGSTOP)
    time.sleep(1.0)  # wait: so long does it stand still
    os.kill(nodes["b"], signal.SIGCONT)
    code, output, report = end(process, tmp_path)
    assert code == 0, output
    (group,) = report["groups"]
    assert group["missing"] == group["left_window"] == 0
    assert group["images"] == group["complete"] == 1500
    members = {member["name"]: member for member in group["members"]}
    assert "SIGKILL" in members["a"]["lost"]["reason"]
    assert {one["name"] for one in report["receivers"] if one["lost"]} == {"a"}
    assert members["b"]["lost"] is None
    assert members["b"]["lates"] >= 1
    assert group["resent"] > 0
    assert "went on without a" in output
    repair(tmp_path / "dealt_full_a_master.h5")
    assert sorted(stored(tmp_path)[0]) == list(range(1500))


def shown(leading: Path) -> list[int]:
    """Return the frames that a combined file shows to programs without knowledge of rashpa, with each pixel checked."""
    with h5py.File(leading) as file:
        frames: list[int] = file["entry/data/frame_number"][()].tolist()
        data = file["entry/data"]
        reached = data["state"][()] == 0 if "state" in data else np.ones(len(frames), np.bool_)  # of one master alone
        for index, frame in enumerate(frames):
            for module, top in enumerate((0, 40)):
                part = pattern_frame("uint16", module, frame % DIFFERENT, HEIGHT, WIDTH)
                if reached[index]:
                    np.testing.assert_array_equal(file["entry/data/data"][index, top : top + HEIGHT], part)
    return frames


def test_the_leading_file_is_of_the_run_whose_files_are_there(tmp_path: Path) -> None:
    leading = tmp_path / "dealt_master.h5"
    code, output, _ = end(start(write(tmp_path, 211, 0.0)), tmp_path)
    assert code == 0, output
    assert shown(leading) == list(range(211))
    shutil.rmtree(tmp_path / "report")
    process = start(write(tmp_path, 900, 300.0))
    eventually(lambda: not leading.exists(), process=process)
    begun(tmp_path, process)
    os.kill(receivers(process)["a"], signal.SIGKILL)
    code, output, _ = end(process, tmp_path)
    assert code == 0, output
    some = shown(leading)
    assert 0 < len(some) <= 900
    assert some == sorted(set(some))
    with pytest.raises(StoredRunError, match=r"lacks the images of dealt_full_a_master\.h5: .*repair"):
        open_parts(leading, whole=True)
    repair(tmp_path / "dealt_full_a_master.h5")
    assert shown(leading) == list(range(900))
    with rashpa.open(leading) as run:
        assert run.frame_numbers.tolist() == list(range(900))


def test_faults_of_packets_are_explained_in_a_group_too(tmp_path: Path) -> None:
    faults = "[faults]\nseed = 5\ndrop = 0.003\ncorrupt = 0.002\nduplicate = 0.002\n"
    code, output, report = end(start(write(tmp_path, 900, 0.0, extra=faults)), tmp_path)
    assert report["injected"]["unexplained"] == 0, output
    assert code == 0, output


def repair(master: Path) -> None:
    """Complete the file of a killed member, which does not know the images that others have taken since."""
    done = subprocess.run([*COMMAND, "repair", str(master)], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 3), done.stdout + done.stderr


def test_all_members_lost_ends_the_run_with_a_reason(tmp_path: Path) -> None:
    process = start(write(tmp_path, 3000, 300.0))
    begun(tmp_path, process)
    for pid in receivers(process).values():
        os.kill(pid, signal.SIGKILL)
    code, output, _ = end(process, tmp_path)
    assert code != 0
    assert "SIGKILL" in output or "nobody is left" in output


@pytest.mark.parametrize("victims", [("a",), ("a", "b")])
def test_members_that_die_before_they_say_anything_are_lost_and_not_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, victims: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    plan = load_plan(write(tmp_path, 600, 300.0))
    manager = Manager(plan)
    left = set(victims)
    real = Fleet.look_at

    async def look_at(fleet: Fleet, name: str) -> None:
        if name in left:  # the first look of a run that goes on; leases are renewed before
            left.remove(name)
            os.kill(manager.local_nodes[name].pid, signal.SIGKILL)
        await real(fleet, name)

    monkeypatch.setattr(Fleet, "look_at", look_at)
    outcome = asyncio.run(manager.run())
    assert not left
    assert outcome.problem == ""
    assert set(outcome.lost) == set(victims)
    assert not set(victims) & set(outcome.receivers)
    (group,) = outcome.groups
    assert group.images == group.complete == 600
    assert outcome.good, outcome.reasons
    assert report_of(outcome, tmp_path / "dealt.toml")["run"]["good"]


def test_a_run_that_is_given_up_has_its_groups_as_they_were_heard_last(tmp_path: Path) -> None:
    process = start(write(tmp_path, 100_000, 300.0))
    begun(tmp_path, process)
    process.send_signal(signal.SIGINT)
    code, output, report = end(process, tmp_path)
    assert code == 130, output
    (group,) = report["groups"]
    assert group["images"] == 100_000 == group["complete"] + group["partial"] + group["missing"]
    assert group["complete"] > 0
    assert [member["name"] for member in group["members"]] == list(MEMBERS)
    assert all(member["dealt"] >= member["complete"] > 0 for member in group["members"])
    # three members have a third each of what the detector has made, and together all of it
    rates = report["rates"]
    assert rates["frames_per_s"] * rates["elapsed_s"] == pytest.approx(group["complete"] + group["partial"], rel=0.02)


def joined(folder: Path, *words: str) -> Result:
    """Run `rashpa join` in this process, because another interpreter would need a large part of the run's time to start."""
    return CliRunner().invoke(app, ["join", str(folder), *words])


def test_a_receiver_joins_takes_its_share_and_may_take_all_that_others_had(tmp_path: Path) -> None:
    process = start(write(tmp_path, LONG, 100.0))
    begun(tmp_path, process)
    refused = joined(tmp_path, "a")
    assert (refused.exit_code, "has a receiver a" in refused.stderr) == (1, True), refused.output
    answer = joined(tmp_path, "d")
    assert answer.exit_code == 0, answer.output
    assert "is a member of group farm" in answer.stdout
    for name, pid in receivers(process).items():
        if name != "c":
            os.kill(pid, signal.SIGKILL)
    code, output, report = end(process, tmp_path)
    assert code == 0, output
    (group,) = report["groups"]
    assert group["images"] == group["complete"] == LONG
    members = {member["name"]: member for member in group["members"]}
    assert members["d"]["joined_s"] > 0
    assert members["c"]["joined_s"] is None
    assert members["d"]["counted"] > 0
    assert {name for name, member in members.items() if member["lost"]} == {"a", "b"}
    for name in ("a", "b"):
        repair(tmp_path / f"dealt_full_{name}_master.h5")
    assert sorted(stored(tmp_path, (*MEMBERS, "d"))[0]) == list(range(LONG))
    late = joined(tmp_path, "e")
    assert (late.exit_code, "there is no such run" in late.stderr) == (2, True), late.output


def test_who_takes_a_run_over_goes_on_with_its_groups_as_they_are(tmp_path: Path) -> None:
    file = write(tmp_path, LONG, 100.0)
    file.write_text(file.read_text().replace('output = "."', 'output = "."\norphaned = "finish"'))
    process = start(file)
    begun(tmp_path, process)
    assert joined(tmp_path, "d").exit_code == 0
    nodes = receivers(process)
    process.kill()
    process.communicate(timeout=GUARD_S)
    os.kill(nodes["b"], signal.SIGKILL)
    command = [*COMMAND, "attach", str(tmp_path), "-q", "--output", str(tmp_path / "report")]
    taken = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    code, output, report = end(taken, tmp_path)
    assert code == 0, output
    (group,) = report["groups"]
    assert group["images"] == group["complete"] == LONG
    assert {member["name"] for member in group["members"] if member["lost"]} == {"b"}
    repair(tmp_path / "dealt_full_b_master.h5")
    assert sorted(stored(tmp_path, (*MEMBERS, "d"))[0]) == list(range(LONG))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("[link]\n", '[link]\nflow = "paced"\n'), "credits"),
        (('receivers = ["a", "b", "c"]', 'receivers = ["a", "b", "x"]'), "no receiver is named x"),
        (('group = "farm"', 'group = "form"'), "no group is named form"),
        (('receivers = ["a", "b", "c"]', 'receivers = ["a", "b", "b"]'), "2 times"),
    ],
)
def test_a_group_that_cannot_be_is_refused(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    file = write(tmp_path, 10, 0.0)
    file.write_text(file.read_text().replace(*change))
    done = subprocess.run([*COMMAND, "plan", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert said in " ".join((done.stdout + done.stderr).split())
