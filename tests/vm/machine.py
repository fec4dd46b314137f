# SPDX-License-Identifier: Apache-2.0
"""Runs shell scripts in a QEMU machine and returns their output."""

import contextlib
import os
import selectors
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

BOOT_S = 120.0  # 12 s alone on two cores
STOP_S = 10.0


class MachineError(Exception):
    """Reports a failure of the machine; the text ends with the last lines of its console."""


@dataclass(frozen=True)
class Result:
    """Holds the result of one script: exit status (137: killed at its time limit), output, kernel messages meanwhile."""

    name: str
    status: int
    output: str
    kernel: str
    files: Path
    log: Path

    def text(self, name: str) -> str:
        """Return a file that the script wrote to $OUT."""
        return (self.files / name).read_text(errors="replace")


class Machine:
    """Runs a machine, which boots in the constructor and powers off in close(). The folder `share` is /host in the machine."""

    def __init__(
        self, kernel: Path, initramfs: Path, share: Path, arguments: tuple[str, ...] = (), append: str = ""
    ) -> None:
        self._run = share / "run"
        self._run.mkdir(parents=True, exist_ok=True)
        self._console = share / "console.log"
        self._buffer = b""
        command = [
            *("qemu-system-x86_64", "-M", "q35,kernel-irqchip=split", "-cpu", "max", "-smp", "2", "-m", "1024"),
            *("-accel", _accelerator(), "-nic", "none", "-display", "none", "-monitor", "none", "-no-reboot"),
            *("-serial", f"file:{self._console}", "-serial", "stdio"),
            *("-virtfs", f"local,path={share},mount_tag=host,security_model=none,multidevs=remap"),
            *("-kernel", str(kernel), "-initrd", str(initramfs)),
            *("-append", f"console=ttyS0 panic=-1 mitigations=off cryptomgr.notests {append}"),
            *arguments,
        ]
        with (share / "qemu.log").open("wb") as errors:
            self._qemu = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        self._share = share
        try:
            try:
                line = self._line(time.monotonic() + BOOT_S)
            except TimeoutError:
                line = "nothing"
            if line != "ready":
                raise MachineError(self._story(f"vm: the machine said {line!r} instead of ready"))
        except BaseException:
            self.close()
            raise

    def run(self, name: str, script: str, timeout_s: float = 30) -> Result:
        """Run `script` (sh -e) and wait for its end; its log is logs/<name>.log in the share."""
        files = self._run / name
        files.mkdir(exist_ok=True)
        (self._run / f"{name}.sh").write_text(f"OUT=/host/run/{name}\n. /guest/functions\n{script}")
        status = self._ask(name, timeout_s)
        output = (self._run / f"{name}.out").read_text(errors="replace")
        kernel = (self._run / f"{name}.kernel").read_text(errors="replace")
        result = Result(name, status, output, kernel, files, self._share / "logs" / f"{name}.log")
        self._write_log(result, script)
        return result

    def _ask(self, name: str, timeout_s: float) -> int:
        """Send a request and return the exit status. Requests and answers are files; the serial line only wakes up the machine, and may lose
        characters on a busy host."""
        answer = self._run / f"{name}.status"
        answer.unlink(missing_ok=True)
        partial = self._run / "request.partial"
        partial.write_text(f"{name} {timeout_s}\n")
        partial.rename(self._run / "request")
        self._say("look")
        end = time.monotonic() + timeout_s + 15
        while not answer.exists():
            if time.monotonic() > end:
                raise MachineError(self._story(f"vm: the machine does not answer to {name}"))
            with contextlib.suppress(TimeoutError):
                self._line(min(end, time.monotonic() + 0.5))
        return int(answer.read_text())

    def _write_log(self, result: Result, script: str) -> None:
        parts = [("script", script), ("output", result.output), ("kernel", result.kernel)]
        parts += [(path.name, path.read_text(errors="replace")) for path in sorted(result.files.iterdir())]
        text = "".join(f"==== {title}\n{body.rstrip()}\n" for title, body in parts)
        result.log.parent.mkdir(exist_ok=True)
        result.log.write_text(f"{text}==== status {result.status}\n")

    def close(self) -> None:
        """Power off; kill the machine when it has not ended within ten seconds."""
        try:
            self._say("stop")
            self._qemu.wait(STOP_S)
        except (OSError, MachineError, subprocess.TimeoutExpired):
            self._qemu.kill()
        with contextlib.suppress(BrokenPipeError):
            self._qemu.__exit__(None, None, None)  # closes the pipes, waits

    def _say(self, line: str) -> None:
        assert self._qemu.stdin is not None
        try:
            self._qemu.stdin.write(line.encode() + b"\n")
            self._qemu.stdin.flush()
        except BrokenPipeError:
            raise MachineError(self._story("vm: the machine is off")) from None

    def _line(self, end: float) -> str:
        assert self._qemu.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._qemu.stdout, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                if not selector.select(max(0.0, end - time.monotonic())):
                    raise TimeoutError
                data = os.read(self._qemu.stdout.fileno(), 4096)
                if not data:
                    raise MachineError(self._story(f"vm: the machine went off (exit status {self._qemu.wait()})"))
                self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode(errors="replace").strip()

    def _story(self, what: str) -> str:
        tail = [what]
        for path in (self._share / "qemu.log", self._console, self._run / "setup.out"):
            if path.exists() and (text := path.read_text(errors="replace").strip()):
                tail += [f"-- {path.name}", *text.splitlines()[-15:]]
        return "\n".join(tail)


def _accelerator() -> str:
    return "kvm" if os.environ.get("RASHPA_VM_KVM") == "1" else "tcg,thread=multi"
