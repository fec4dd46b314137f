# SPDX-License-Identifier: Apache-2.0
"""Disturbs a run from outside, at a planned moment."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import h5py
from tests.chaos.neighbours import Neighbours, page_address
from tests.chaos.plan import SIGNALS, Plan, Standstill
from tests.chaos.processes import crowding, helpers_of, node_of, send, wait_until
from tests.chaos.run_file import JOINER, buffers_of, names_of

_APPEARS_S = 60.0
RASHPA = Path(sys.executable).parent / "rashpa"
_NUMBERS = {
    "kill": signal.SIGKILL,
    "replace_killed": signal.SIGKILL,
    "stop": signal.SIGSTOP,
    "pause": signal.SIGSTOP,
    "terminate": signal.SIGTERM,
    "interrupt": signal.SIGINT,
}


def compiled_shim(folder: Path) -> Path:
    """Return the compiled library that disturbs writes."""
    library = folder / "shim.so"
    source = Path(__file__).with_name("shim.c")
    command = ["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", str(library), str(source), "-ldl"]
    subprocess.run(command, check=True)
    return library


class Disturber:
    """Disturbs one run. `effective`: True afterwards when the disturbance hit the run before its end."""

    def __init__(
        self, plan: Plan, mark: str, output: Path, folder: Path, prefix: tuple[str, ...], environment: dict[str, str]
    ) -> None:
        self._plan = plan
        self._what = plan.disturbance
        self._mark = mark
        self._output = output
        self._folder = folder
        self._prefix, self._env = prefix, environment
        self.effective = False
        self.early = False
        self.struck: list[str] = []  # members that were killed, or stopped for good
        self.joined = False
        self.problems: list[str] = []

    def environment(self) -> dict[str, str]:
        """Return environment variables for the run's processes."""
        return writes_environment(self._plan, self._folder)

    def disturb(self, process: "subprocess.Popen[bytes]") -> None:
        """Wait for the moment and disturb the run, in parallel to it."""
        kind = self._what.kind
        if kind in ("disk_full", "failing_writes", "slow_writes", "port_taken"):
            self.effective = True  # prepared before the start
        elif kind == "members" and self._await_moment(process):
            self._strike(process)
        elif kind == "still" and self._await_moment(process):
            self._hold_still(process)
        elif kind == "unheard":
            self._kill_unheard(process)
        elif kind == "neighbours":
            self._live_beside(process)
        elif kind in SIGNALS and self._await_moment(process):
            self._signal(process)
        elif kind == "folder_removed" and self._await_moment(process):
            self._remove_folder(process)

    def _await_moment(self, process: "subprocess.Popen[bytes]") -> bool:
        """Wait for the planned moment; return True when the run still goes on then."""
        if self._what.phase == "running":
            names = [name for name in buffers_of(self._plan) if not name.endswith(f"_{JOINER}")]
            masters = [self._output / f"chaos_{name}_master.h5" for name in names]
            old = {path: path.stat().st_ino for path in masters if path.exists()}
            appeared = wait_until(
                lambda: (
                    process.poll() is not None
                    or all(path.exists() and path.stat().st_ino != old.get(path) for path in masters)
                ),
                _APPEARS_S * crowding(),
            )
            if not appeared:
                return False
        elif self._what.target != "manager":
            wait_until(lambda: process.poll() is not None or self._target(process) is not None, _APPEARS_S)
        time.sleep(self._what.after_s)  # wait: the moment of the disturbance
        return process.poll() is None

    def _strike(self, process: "subprocess.Popen[bytes]") -> None:
        """Strike the members one after the other; a member that is stopped for a while resumes meanwhile."""
        began = time.monotonic()
        waking: list[threading.Timer] = []
        names = names_of(self._plan)
        for blow in self._plan.blows:
            time.sleep(max(0.0, began + blow.after_s - time.monotonic()))  # wait: the moment of the blow
            if process.poll() is not None:
                break
            if blow.kind == "join":
                self.joined = self._join()
                continue
            target = node_of(self._mark, "receiver", names[blow.member])
            if target is None:
                continue
            number = signal.SIGKILL if blow.kind == "kill" else signal.SIGSTOP
            self.struck += [names[blow.member]] if send(target, number) and blow.kind != "pause" else []
            self.effective = True
            if blow.kind == "pause":
                waking.append(threading.Timer(blow.lasts_s, send, (target, signal.SIGCONT)))
                waking[-1].start()
        for timer in waking:
            timer.join()

    def _hold_still(self, process: "subprocess.Popen[bytes]") -> None:
        """Stop processes for a while, one after the other."""
        page = self._page() if any(still.target == "page" for still in self._plan.stills) else None
        try:
            for still in self._plan.stills:
                time.sleep(still.after_s)  # wait: the moment at which it stands still
                target = page.pid if page is not None and still.target == "page" else self._still_target(still, process)
                if process.poll() is not None or target is None or not send(target, signal.SIGSTOP):
                    break
                self.effective = True
                time.sleep(still.lasts_s)  # wait: so long does it stand still
                send(target, signal.SIGCONT)
        finally:
            if page is not None:
                page.terminate()
                page.wait()

    def _kill_unheard(self, process: "subprocess.Popen[bytes]") -> None:
        """Kill a member before its first status: it has made its files, but the manager has not asked it yet."""
        name = names_of(self._plan)[self._what.which % self._plan.receivers]
        master = self._output / f"chaos_{self._plan.buffers[0].name}_{name}_master.h5"
        journal = self._output / f"chaos_{self._plan.buffers[0].name}_{name}_master.h5.journal"
        if not wait_until(
            lambda: process.poll() is not None or master.exists() or journal.exists(), _APPEARS_S * crowding()
        ):
            return
        time.sleep(self._what.after_s)  # wait: the moment of the blow
        target = node_of(self._mark, "receiver", name)
        if process.poll() is None and target is not None and send(target, signal.SIGKILL):
            self.effective = True
            self.struck.append(name)

    def _live_beside(self, process: "subprocess.Popen[bytes]") -> None:
        page = self._page("--output", str(self._output))
        neighbours = Neighbours(self._what.amount, self._output, self._folder / "report")
        try:
            self.effective = neighbours.haunt(process, lambda: page_address(self._folder / "page.log"))
        finally:
            page.terminate()
            page.wait()
        self.problems += neighbours.problems

    def _still_target(self, still: Standstill, process: "subprocess.Popen[bytes]") -> int | None:
        names = names_of(self._plan)
        receiver = node_of(self._mark, "receiver", names[still.which % len(names)])
        if still.target == "manager":
            return process.pid
        if still.target == "emulator":
            return node_of(self._mark, "emulator", "emulator")
        if still.target == "receiver":
            return receiver
        helpers = sorted(helpers_of(self._mark, process.pid))
        return helpers[still.which % len(helpers)] if helpers else receiver

    def _page(self, *options: str) -> "subprocess.Popen[bytes]":
        """Start a dashboard with its own connection to the nodes."""
        file = max(self._folder.glob("run*.toml"))
        command = [*self._prefix, str(RASHPA), "dashboard", str(file), "--port", "0", *options]
        with (self._folder / "page.log").open("ab") as log:
            return subprocess.Popen(command, env=self._env, stdout=log, stderr=subprocess.STDOUT)

    def _join(self) -> bool:
        """Return True when one more receiver has become a member."""
        command = [*self._prefix, str(RASHPA), "join", str(self._output), JOINER]
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=_APPEARS_S + 30.0, env=self._env
        )
        (self._folder / "join.log").write_text(f"{done.returncode}\n{done.stdout}{done.stderr}", encoding="utf-8")
        return done.returncode == 0

    def _target(self, process: "subprocess.Popen[bytes]") -> int | None:
        if self._what.target == "manager":
            return process.pid
        if self._what.target == "emulator":
            return node_of(self._mark, "emulator", "emulator")
        names = names_of(self._plan)
        return node_of(self._mark, "receiver", names[self._what.which % len(names)])

    def _signal(self, process: "subprocess.Popen[bytes]") -> None:
        target = self._target(process)
        if target is None:
            return
        self.early = self._what.phase == "starting" and not self._spoken()
        self.effective = send(target, _NUMBERS[self._what.kind])
        if self._what.kind == "pause":
            time.sleep(self._what.resume_s)  # wait: so long does it stand still
            send(target, signal.SIGCONT)
        if self._what.kind == "stop" and self._what.target == "manager":
            time.sleep(5.0)  # wait: nobody else can end a manager that stands still
            send(target, signal.SIGKILL)

    def _spoken(self) -> bool:
        """Return True when the manager has begun its work, so that it has started a node."""
        return node_of(self._mark, "emulator", "emulator") is not None and self._plan.nodes == "local"

    def _remove_folder(self, process: "subprocess.Popen[bytes]") -> None:
        masters = [self._output / f"chaos_{buffer.name}_master.h5" for buffer in self._plan.buffers]
        unfinished = [master for master in masters if not _is_closed(master)]
        shutil.rmtree(
            self._output, ignore_errors=True
        )  # a file that is made meanwhile keeps the folder, and nothing else
        self.effective = any(not master.exists() for master in unfinished)


def _is_closed(master: Path) -> bool:
    try:
        with h5py.File(master, "r") as file:
            return "entry/rashpa/books" in file
    except OSError:
        return False


def writes_environment(plan: Plan, folder: Path) -> dict[str, str]:
    """Return the environment for a receiver whose writes fail or are slow."""
    what = plan.disturbance
    order = {"failing_writes": f"fail {what.amount} {1 + what.amount // 3}", "slow_writes": f"slow {what.amount}"}
    if what.kind not in order:
        return {}
    return {"LD_PRELOAD": str(compiled_shim(folder)), "CHAOS_WRITES": order[what.kind]}


class SmallDisk:
    """Holds a small tmpfs at a folder, where mounting is allowed."""

    def __init__(self, folder: Path, room: int) -> None:
        self._folder = folder
        command = ["mount", "-t", "tmpfs", "-o", f"size={room}", "chaos", str(folder)]
        self.mounted = os.geteuid() == 0 and subprocess.run(command, check=False, capture_output=True).returncode == 0

    def grow(self) -> None:
        """Enlarge it, so that everything fits."""
        subprocess.run(["mount", "-o", "remount,size=512m", str(self._folder)], check=True)

    def close(self) -> None:
        """Remove it with its content."""
        if self.mounted:
            subprocess.run(["umount", "--lazy", str(self._folder)], check=True)


def taken_port(port: int) -> socket.socket:
    """Return a socket that occupies a UDP port until it is closed."""
    holder = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    holder.bind(("127.0.0.1", port))
    return holder
