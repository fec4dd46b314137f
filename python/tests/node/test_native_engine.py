# SPDX-License-Identifier: Apache-2.0
import socket
from dataclasses import replace
from pathlib import Path

import h5py
import pytest

from rashpa.control.books.outcome import Outcome
from rashpa.control.orders.plan_telegrams import destination_telegram, source_telegram
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import Endpoint, Placement
from rashpa.node.engine.engine import EngineError
from rashpa.node.state.node import Node

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.node.engine.native_engine import NativeFactory
from rashpa.testing.in_process import run_in_process
from rashpa.testing.run_file import run_file

pytestmark = pytest.mark.whole


def run_text(frames: int, output: Path, port: int, transport: str = "uc") -> str:
    return run_file(
        run={"name": "native", "frames": frames, "output": output},
        detector={"module": [{"x": 0, "y": 0}, {"x": 0, "y": 40}]},
        dataset={"modules": 2, "frames": 8},
        link={"roce": {"pmtu": 256, "transport": transport}},
        receiver={"port": port, "memory": "pageable"},
        buffer=[
            {"name": "full", "bands": 2, "slots": 40, "deadline_ms": 1500, "sink": [{"kind": "hdf5"}]},
            {
                "name": "centre",
                "region": [16, 8, 32, 40],
                "every": 5,
                "phase": 2,
                "slots": 8,
                "stack": 4,
                "deadline_ms": 1500,
                "sink": [{"kind": "memory"}],
            },
        ],
    )


FAULTS = """\
[faults]
seed = 3
drop = 0.003
duplicate = 0.003
reorder = 0.003
corrupt = 0.003
"""


def run_native(
    tmp_path: Path,
    extra: str = "",
    frames: int = 200,
    port: int = 0,
    link: str = "",
    threads: int = 1,
    transport: str = "uc",
) -> tuple[Outcome, dict[str, Node]]:
    path = tmp_path / "run.toml"
    text = run_text(frames=frames, output=tmp_path / "out", port=port, transport=transport) + extra
    text = text.replace("[receiver]\n", f"[receiver]\nthreads = {threads}\n")
    path.write_text(text.replace("[link]\n", f"[link]\n{link}\n"))
    nodes = {role: Node(role, role, NativeFactory(role)) for role in ("emulator", "receiver")}
    return run_in_process(load_plan(path), nodes), nodes


def test_a_run_over_roce_arrives_complete_and_is_in_the_file(tmp_path: Path) -> None:
    outcome, _ = run_native(tmp_path)
    assert outcome.good, outcome.problem
    assert outcome.books.expected == outcome.books.complete == 200 + 40
    assert [latency.stage for latency in outcome.buffers[0].latencies] == ["ready", "decision", "written"]
    with h5py.File(tmp_path / "out" / "native_full_master.h5") as file:
        assert file["/entry/rashpa/frame_number"][()].tolist() == list(range(200))
        assert file["/entry/rashpa/books/written"][()] == 200


@pytest.mark.parametrize(
    ("verify", "proof"), [("all", "CRC32C of every image (all)"), ("off", "none; the event alone (off)")]
)
def test_a_run_over_shared_memory_arrives_complete_and_its_file_names_the_proof(
    tmp_path: Path, verify: str, proof: str
) -> None:
    outcome, _ = run_native(tmp_path, link=f'kind = "pcie"\npcie.verify = "{verify}"', threads=2)
    assert outcome.good, outcome.problem
    assert outcome.books.expected == outcome.books.complete == 200 + 40
    assert outcome.destinations["receiver"].memory == "shared-pageable"
    with h5py.File(tmp_path / "out" / "native_full_master.h5") as file:
        assert file["/entry/rashpa"].attrs["proof"] == proof


def test_stalls_and_dead_modules_of_a_source_in_shared_memory_are_as_its_log_says(tmp_path: Path) -> None:
    faults = "[faults]\nstall = 0.05\nstall_us = 500\n[[faults.dead_modules]]\nmodule = 1\nfrom_frame = 150\n"
    outcome, _ = run_native(tmp_path, faults, link='kind = "pcie"')
    assert outcome.good, [account.first_unexplained for account in outcome.accounts]
    assert outcome.books.partial == 50 + 10


def test_a_gpu_as_engine_is_refused_in_words_where_there_is_none(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    text = run_text(frames=20, output=tmp_path / "out", port=0)
    path.write_text(text.replace("[link]\n", '[link]\nkind = "pcie"\npcie = { engine = "cuda", engine_device = 63 }\n'))
    plan = load_plan(path)
    place = Placement(
        pixels_offset=0,
        slot_bytes=1 << 20,
        slots=4,
        first_line_offset=0,
        pitch=64,
        line_bytes=64,
        lines=8,
        records_offset=8 << 20,
    )
    ends = {
        dtp.id: (Endpoint(address="/proc/1/fd/12", port=0, qpn=dtp.id, rkey=1, credit_offset=0), place)
        for dtp in plan.dtps
    }
    with pytest.raises(EngineError, match=r"pcie: .*(use engine cpu|engine_device)"):
        NativeFactory("emulator").make(source_telegram(plan, plan.emulators[0], ends))


def test_a_transport_that_the_links_do_not_have_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    text = run_text(frames=20, output=tmp_path / "out", port=0, transport="ud")
    path.write_text(text.replace("[link]\n", '[link]\nverbs.transport = "ud"\n'))
    plan = load_plan(path)
    order = destination_telegram(plan, plan.receivers[0])
    assert order.destination is not None
    # a plan would not have it; a telegram of somebody else may
    wrong = replace(order, destination=replace(order.destination, options=plan.file.link.options("verbs", "")))
    with pytest.raises(EngineError, match="transport ud needs the link roce on both sides"):
        NativeFactory("receiver").make(wrong)


def test_a_reliable_connection_repairs_what_is_dropped(tmp_path: Path) -> None:
    outcome, _ = run_native(tmp_path, "[faults]\ndrop = 0.01\nseed = 3\n", transport="rc")
    assert outcome.good, outcome.problem
    assert outcome.books.expected == outcome.books.complete == 200 + 40
    status = outcome.sources.get("emulator")
    assert status is not None
    assert sum(dtp.retransmitted_packets for dtp in status.dtps) > 0
    assert sum(dtp.connection_errors + dtp.send_errors for dtp in status.dtps) == 0


def test_losses_of_datagrams_stand_in_the_books(tmp_path: Path) -> None:
    outcome, _ = run_native(tmp_path, "[faults]\ndrop = 0.01\nseed = 3\n", transport="ud")
    assert outcome.good, [account.first_unexplained for account in outcome.accounts]
    assert outcome.books.partial > 0


def test_the_receiver_finds_what_the_emulator_injected(tmp_path: Path) -> None:
    outcome, _ = run_native(tmp_path, FAULTS, frames=1000)
    assert outcome.good, [account.first_unexplained for account in outcome.accounts]
    assert outcome.books.partial > 0
    source = outcome.sources.get("emulator")
    assert source is not None
    assert all(
        telegram.count_of(source.counts, "injected")[name] for name in ("drop", "duplicate", "reorder", "corrupt")
    )


def test_files_of_an_earlier_run_are_not_overwritten_unasked(tmp_path: Path) -> None:
    assert run_native(tmp_path)[0].good
    outcome, nodes = run_native(tmp_path)
    assert outcome.refused
    assert 'set run.existing = "replace"' in outcome.problem
    assert {node.state for node in nodes.values()} == {"idle"}


def test_a_data_port_in_use_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        outcome, _ = run_native(tmp_path, port=port)
    assert outcome.refused
    assert f"port {port}" in outcome.problem
    assert not (tmp_path / "out").exists(), "not even the folder"
    assert run_native(tmp_path)[0].good


def test_a_kernel_without_calibration_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        RunFileError, match=r"run.toml:\d+: buffer\[2\].kernel\[0\].name: kernel jungfrau needs pedestal"
    ):
        run_native(
            tmp_path, '[[buffer]]\nname = "photons"\nsink = [{ kind = "null" }]\n[[buffer.kernel]]\nname = "jungfrau"\n'
        )
