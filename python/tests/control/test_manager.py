# SPDX-License-Identifier: Apache-2.0
import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from rashpa.control.books.outcome import Outcome, Progress
from rashpa.control.nodes.launcher import LocalLauncher
from rashpa.control.nodes.local_node import LocalNode
from rashpa.control.nodes.node_client import NodeClient, NodeError
from rashpa.control.orders.grant import Grant, grant_of
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.run.manager import Manager
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram_xml import encode
from rashpa.node.state.node import Node
from rashpa.testing.fake_engine import FakeFactory
from rashpa.testing.in_process import run_in_process, transports_of
from rashpa.testing.run_file import run_file
from rashpa.testing.struck_run import fake_command, run_and_strike
from rashpa.testing.waiting import eventually_in_loop, slowed

pytestmark = pytest.mark.whole


def run_text(frames: int, rate_hz: float, port: int) -> str:
    return run_file(
        run={"name": "test", "frames": frames},
        detector={"rate_hz": rate_hz, "module": [{"x": 0, "y": 0}, {"x": 0, "y": 40}]},
        dataset={"modules": 2},
        receiver={"port": port},
        buffer=[
            {"name": "full", "sink": [{"kind": "null"}], "bands": 2, "slots": 40},
            {"name": "centre", "sink": [{"kind": "null"}], "region": [16, 8, 32, 24], "every": 5, "deadline_ms": 100},
        ],
    )


ENDLESS: dict[str, Any] = {"frames": 100_000, "rate_hz": 50.0}


def plan_of(tmp_path: Path, extra: str = "", frames: int = 120, rate_hz: float = 0.0, port: int = 0) -> Plan:
    path = tmp_path / "run.toml"
    path.write_text(run_text(frames=frames, rate_hz=rate_hz, port=port) + extra)
    return load_plan(path)


def nodes(receiver: FakeFactory | None = None) -> dict[str, Node]:
    return {
        "emulator": Node("emulator", "emulator", FakeFactory("emulator")),
        "receiver": Node("receiver", "receiver", receiver or FakeFactory("receiver")),
    }


def test_a_run_without_faults_ends_with_balanced_books(tmp_path: Path) -> None:
    phases: list[str] = []
    made = nodes()
    outcome = run_in_process(plan_of(tmp_path), made, lambda progress: phases.append(progress.phase))
    assert outcome.good, outcome.problem
    assert outcome.books.expected == 120 + 24 == outcome.books.complete
    assert outcome.books.accepted == outcome.books.written
    assert phases[0] == "starting nodes"
    assert phases[-1] == "done"
    assert {node.state for node in made.values()} == {"idle"}
    assert outcome.rates.images_per_s > 0


def test_nodes_that_stay_up_take_the_next_run(tmp_path: Path) -> None:
    made = nodes()
    for _ in range(2):
        assert run_in_process(plan_of(tmp_path), made).good


def test_what_the_log_says_is_found_by_the_receiver(tmp_path: Path) -> None:
    faults = "[faults]\nseed = 4\ndrop = 0.1\ndead_modules = [{ module = 1, from_frame = 100 }, { module = 0, from_frame = 110 }]\n"
    outcome = run_in_process(plan_of(tmp_path, faults), nodes())
    assert outcome.good, outcome.problem
    full = outcome.accounts[0]
    assert full.expected_missing == 10
    assert full.expected_partial >= 10
    assert full.expected_complete + full.expected_partial + full.expected_missing == 120
    assert outcome.books.missing == sum(account.expected_missing for account in outcome.accounts)


class LyingFactory(FakeFactory):
    """Makes a receiver that reports a partial image as complete."""

    def make(self, order: telegram.Configure):  # type: ignore[no-untyped-def]
        engine = super().make(order)
        told = engine.table

        def table(name: str, key: str):  # type: ignore[no-untyped-def]
            honest = told(name, key).copy()
            if name == "completeness":
                honest[honest == 2] = 1
            return honest

        engine.table = table  # type: ignore[method-assign]
        return engine


def test_an_image_that_the_log_does_not_explain_makes_the_run_fail(tmp_path: Path) -> None:
    outcome = run_in_process(plan_of(tmp_path, "[faults]\ndrop = 0.2\n"), nodes(LyingFactory("receiver")))
    assert outcome.balanced
    assert outcome.unexplained > 0
    assert not outcome.good
    assert "the emulator's log says partial, the receiver found complete" in outcome.accounts[0].first_unexplained


def test_a_plan_beyond_the_nodes_is_refused_before_anything_is_configured(tmp_path: Path) -> None:
    made = nodes(FakeFactory("receiver", bytes_per_s=1000))
    outcome = run_in_process(plan_of(tmp_path, rate_hz=1000.0), made)
    assert outcome.refused
    assert "what fits: detector.rate_hz = 0.1176\n" in outcome.problem
    assert {node.state for node in made.values()} == {"idle"}


def test_a_plan_beyond_the_nodes_is_carried_through_when_forced_and_the_outcome_says_so(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, rate_hz=1000.0)
    poor = nodes(FakeFactory("receiver", bytes_per_s=1000))
    refused = run_in_process(plan, poor)
    assert refused.problem.endswith("`rashpa run --force` tries it as it is")
    outcome = asyncio.run(Manager(plan, transports=transports_of(poor), force=True).run())
    assert outcome.good, outcome.problem
    assert outcome.cautions[0].startswith("forced: ")
    assert "link roce of receiver 0.00 GB/s" in outcome.cautions[0]
    assert "what fits: " in outcome.cautions[-1]


def test_nodes_are_asked_what_they_can_do_and_nothing_else(tmp_path: Path) -> None:
    asked = nodes()
    found = asyncio.run(Manager(plan_of(tmp_path), transports=transports_of(asked)).ask())
    assert {name: can.role for name, can in found.items()} == {"emulator": "emulator", "receiver": "receiver"}
    assert all(node.status().state == "idle" and not node.status().holder for node in asked.values())


def test_a_port_in_use_is_one_clear_error_and_the_next_run_works(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        made = nodes()
        outcome = run_in_process(plan_of(tmp_path, port=port), made)
    assert outcome.refused
    assert outcome.problem == f"fake: 127.0.0.1 port {port}: Address already in use; take another receiver.port"
    assert run_in_process(plan_of(tmp_path), made).good


def test_a_node_that_somebody_else_uses_is_left_alone(tmp_path: Path) -> None:
    made = nodes()

    async def occupy_and_run() -> Outcome:
        apps = transports_of(made)
        first = Manager(plan_of(tmp_path, **ENDLESS), transports=apps)
        running = asyncio.create_task(first.run())
        await eventually_in_loop(lambda: made["emulator"].state == "running")
        second = await Manager(plan_of(tmp_path), transports=apps).run()
        assert made["emulator"].state == "running"
        first.interrupt()
        await running
        return second

    outcome = asyncio.run(occupy_and_run())
    assert outcome.refused
    assert re.match(
        r"receiver belongs to run test of \S+@\S+ \(process \d+\); Claim of others is refused", outcome.problem
    )


def test_a_node_that_is_not_there_is_named(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        plan = plan_of(tmp_path, f'[nodes]\nreceiver = "{url}"\n')
        outcome = asyncio.run(Manager(plan, launcher=LocalLauncher(fake_command)).run())
    assert f"receiver at {url} cannot be reached" in outcome.problem


def _pid(manager: Manager, role: str) -> int:
    return manager.local_nodes[role].pid


def test_what_others_refuse_because_a_node_has_died_is_no_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = Manager(plan_of(tmp_path), launcher=LocalLauncher(fake_command))

    async def refuse(*_: object) -> None:
        os.kill(_pid(manager, "receiver"), signal.SIGKILL)
        await manager.local_nodes["receiver"].ended(30.0)
        raise NodeError("emulator", "memory: cannot open shared memory", "resource")

    monkeypatch.setattr("rashpa.control.run.course.configure_emulator", refuse)
    outcome = asyncio.run(manager.run())
    assert not outcome.refused, "the run file is right"
    assert "was killed by SIGKILL" in outcome.problem
    assert outcome.problem.endswith("; memory: cannot open shared memory")


@pytest.mark.parametrize("role", ["receiver", "emulator"])
def test_a_killed_node_is_named_with_the_first_missing_image_in_bounded_time(tmp_path: Path, role: str) -> None:
    plan = plan_of(tmp_path, **ENDLESS)
    outcome, seconds = run_and_strike(plan, lambda manager: os.kill(_pid(manager, role), signal.SIGKILL))
    assert not outcome.good
    assert f"{role} (process" in outcome.problem
    assert "was killed by SIGKILL" in outcome.problem
    assert "first missing image: buffer full image" in outcome.problem
    assert seconds < slowed(10.0)


@pytest.mark.parametrize("role", ["receiver", "emulator"])
def test_a_node_that_is_killed_after_its_books_are_taken_costs_the_run_nothing(tmp_path: Path, role: str) -> None:
    def observe(progress: Progress) -> None:
        if progress.phase == "done":
            os.kill(_pid(manager, role), signal.SIGKILL)

    manager = Manager(plan_of(tmp_path), observe, launcher=LocalLauncher(fake_command))
    outcome = asyncio.run(manager.run())
    assert outcome.good, outcome.problem
    (caution,) = outcome.cautions
    assert caution.startswith(f"{role} (process")
    assert caution.endswith("was killed by SIGKILL, after its books had been taken")


@pytest.mark.parametrize("role", ["receiver", "emulator"])
def test_a_node_that_hangs_is_named_in_bounded_time(tmp_path: Path, role: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rashpa.control.nodes.local_node._CLOSE_S", 0.5)
    plan = plan_of(tmp_path, **ENDLESS)

    def hang(manager: Manager) -> None:
        # a loaded machine may leave a node that does not hang without an answer for a second
        monkeypatch.setattr("rashpa.control.nodes.node_client._SILENCE_S", 1.0)
        os.kill(_pid(manager, role), signal.SIGSTOP)

    outcome, seconds = run_and_strike(plan, hang)
    assert f"{role} at http://127.0.0.1" in outcome.problem
    assert "did not answer in time (GetStatus)" in outcome.problem
    assert seconds < slowed(10.0)


def test_an_interrupt_ends_both_nodes_and_names_the_first_missing_image(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, **ENDLESS)
    pids: list[int] = []

    def strike(manager: Manager) -> None:
        pids.extend(_pid(manager, role) for role in ("receiver", "emulator"))
        manager.interrupt()

    outcome, seconds = run_and_strike(plan, strike)
    assert outcome.interrupted
    assert not outcome.good
    assert outcome.problem.startswith("interrupted\nfirst missing image: buffer full image")
    assert outcome.balanced
    assert seconds < slowed(10.0)
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_nobody_else_gives_orders_to_the_nodes_of_a_run_and_its_token_is_nowhere_to_be_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RASHPA_TOKEN", "of-the-site")
    plan = plan_of(tmp_path, **ENDLESS)
    paths = ("status", "capabilities", "metrics", "preview?buffer=full", "books?table=decisions&buffer=full")
    seen: list[int] = []

    def strike(manager: Manager) -> None:
        for local in manager.local_nodes.values():
            form = {"content-type": "application/x-www-form-urlencoded"}
            abort = encode(telegram.Abort(force=True))
            seen.append(httpx.post(f"{local.url}/telegram", content=abort, headers=form).status_code)
            for token in ("x", "of-the-site", "wrong"):
                given = {"content-type": "application/xml", "authorization": f"Bearer {token}"}
                seen.append(httpx.post(f"{local.url}/telegram", content=abort, headers=given).status_code)
                seen.extend(httpx.get(f"{local.url}/{path}", headers=given).status_code for path in paths)
            assert httpx.get(f"{local.url}/healthz").json()["state"] == "running"
            process = Path(f"/proc/{local.pid}")
            for where in ("cmdline", "environ"):
                assert manager._nodes.local_token.encode() not in (process / where).read_bytes()
            assert b"RASHPA_TOKEN" not in (process / "environ").read_bytes()
        manager.interrupt()

    outcome, _ = run_and_strike(plan, strike)
    assert outcome.interrupted
    assert set(seen) == {401}
    assert len(seen) == 2 * (1 + 3 * 6)


def test_a_node_is_granted_what_the_run_file_names_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # what the files hold is not looked at here
    monkeypatch.setattr("rashpa.control.plan.run_plan.dataset_problems", lambda *_: iter(()))
    plan = plan_of(tmp_path)
    for role, write in (("emulator", ()), ("receiver", (str(Path("out").resolve()),))):
        assert grant_of(plan, role, "secret") == Grant("secret", (), write)
    text = (tmp_path / "run.toml").read_text()
    geometry = str((tmp_path / "of" / "a.poni").resolve())
    (tmp_path / "of").mkdir()
    (tmp_path / "of" / "a.poni").write_text("")
    kernel = 'kernel = [{ name = "azimuthal", poni = "of/a.poni" }]'
    (tmp_path / "run.toml").write_text(f'{text}\n[[buffer]]\nname = "curve"\n{kernel}\nsink = [{{ kind = "null" }}]\n')
    for role, read in (("emulator", ()), ("receiver", (geometry,))):
        assert grant_of(load_plan(tmp_path / "run.toml"), role, "secret").read == read
    (tmp_path / "run.toml").write_text(text)
    (tmp_path / "frames").mkdir()
    names = [tmp_path / "frames" / "one.bin", tmp_path / "pedestal.npz", tmp_path / "gain.npy"]
    for name in names:
        name.write_bytes(b"")
    text = (tmp_path / "run.toml").read_text()
    recorded = """\
[dataset]
kind = "files"
files = [["frames/one.bin"], ["frames/../frames/one.bin"]]
width = 64
height = 32
[detector.calibration]
pedestal = ["pedestal.npz:p", "pedestal.npz:p"]
gain = ["gain.npy", "gain.npy"]
[receiver]
"""
    (tmp_path / "run.toml").write_text(re.sub(r"\[dataset\].*\[receiver\]\n", recorded, text, flags=re.DOTALL))
    plan = load_plan(tmp_path / "run.toml")
    assert grant_of(plan, "emulator", "secret").read == (str(names[0]),)
    assert grant_of(plan, "receiver", "secret").read == tuple(sorted(map(str, names[1:])))
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "module0_raw.npy").symlink_to(names[0])
    folder = '[dataset]\nkind = "directory"\npath = "set"\n[receiver]\n'
    (tmp_path / "run.toml").write_text(re.sub(r"\[dataset\].*\[receiver\]\n", folder, text, flags=re.DOTALL))
    grant = grant_of(load_plan(tmp_path / "run.toml"), "emulator", "secret")
    assert grant.read == (str(names[0]), str(tmp_path / "set"))


def test_a_url_without_a_port_is_explained(tmp_path: Path) -> None:
    for url, hint in (
        ("http://127.0.0.1", "port 80 is asked; a node prints its URL with its port when it starts"),
        ("https://127.0.0.1", "port 443 is asked"),
    ):
        outcome = asyncio.run(
            Manager(plan_of(tmp_path, f'[nodes]\nreceiver = "{url}"\n'), launcher=LocalLauncher(fake_command)).run()
        )
        assert hint in outcome.problem


def test_a_node_that_does_not_start_says_why() -> None:
    command = (sys.executable, "-c", "import sys; sys.exit('no luck today')")
    with pytest.raises(NodeError, match="receiver did not start; it said: no luck today"):
        asyncio.run(LocalNode.start("receiver", command, Grant("secret")))


def test_what_is_said_before_a_node_says_where_it_is_is_kept_and_a_process_that_never_stops_talking_is_heard() -> None:
    words = "print('module loaded'); print('{no json'); print('{\"url\": \"http://here\"}', flush=True); "
    words += "import sys\nwhile sys.stdout.write('x' * 100_000): pass"

    async def start() -> tuple[str, str]:
        node = await LocalNode.start("receiver", (sys.executable, "-c", words), Grant("secret"))
        said = node.last_words()
        node.kill()
        await node.close()
        return node.url, said

    assert asyncio.run(start()) == ("http://here", "; it said: module loaded | {no json")


def test_a_child_of_a_node_that_lives_on_costs_a_moment_and_no_traceback() -> None:
    """Run in a separate process, because open files are only found at its end."""
    child = "import subprocess; subprocess.Popen(['sleep', '60'], start_new_session=True)"
    node = f'{child}; print(\'{{"url": "http://here"}}\', flush=True); import sys; sys.stdin.read()'
    script = f"""
import asyncio, sys
from rashpa.control.nodes import local_node
from rashpa.control.orders.grant import Grant
local_node._CLOSE_S = 0.5
async def run():
    node = await local_node.LocalNode.start("receiver", (sys.executable, "-c", {node!r}), Grant("secret"))
    await node.close()
asyncio.run(run())
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_an_answer_that_is_no_telegram_is_explained() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(404, text="<html>not here</html>")

    async def ask() -> None:
        client = NodeClient("receiver", "http://node", transport=httpx.MockTransport(answer))
        try:
            await client.status()
        finally:
            await client.close()

    with pytest.raises(
        NodeError, match=r"answers GetStatus with HTTP 404 and no telegram .*give the URL of a rashpa node"
    ):
        asyncio.run(ask())


def test_a_run_in_which_nothing_happens_any_more_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rashpa.control.plan.patience._STALL_S", 0.2)
    monkeypatch.setattr("rashpa.testing.fake_engine.FakeDestination.stop", lambda _self, _order: None)
    plan = plan_of(tmp_path, "[faults]\ndead_modules = [{ module = 1, from_frame = 0 }]\n")
    outcome = run_in_process(plan, nodes())
    assert "receiver is running, but nothing has happened for" in outcome.problem
    assert "first missing image" in outcome.problem
