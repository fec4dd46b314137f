# SPDX-License-Identifier: Apache-2.0
"""Runs programs of slsDetectorPackage for tests: its virtual detectors, its text client, and slsReceiver."""

import os
import subprocess
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from rashpa.testing.free_ports import free_ports
from rashpa.testing.waiting import GUARD_S

_ANSWER_S = 30.0


class SlsPackage:
    """Starts virtual modules of a detector and, if asked, slsReceiver, and ends them. `programs`: folder of the package's programs. `server`: name of the virtual server, with
    the arguments of each module."""

    def __init__(
        self,
        programs: Path,
        folder: Path,
        server: str,
        modules: Sequence[Sequence[str]] = ((),),
        receiver: bool = False,
    ) -> None:
        self._programs, self._folder = programs, folder
        self._environment = {**os.environ, "SLSDETNAME": f"rashpa_{uuid.uuid4().hex[:12]}"}
        self._started: list[subprocess.Popen[bytes]] = []
        first = free_ports(2 * len(modules))
        self._ports = [first + 2 * number for number in range(len(modules))]
        for port, words in zip(self._ports, modules, strict=True):
            self._start(f"server{port}", server, "--port", str(port), *words)
        self.receiver_port = 0
        if receiver:
            self.receiver_port = free_ports(1)
            self._start("receiver", "slsReceiver", "-t", str(self.receiver_port))

    def __enter__(self) -> "SlsPackage":
        until = time.monotonic() + GUARD_S
        name = "hostname", "+".join(f"localhost:{port}" for port in self._ports) + ("+" if len(self._ports) > 1 else "")
        while "ERROR" in (said := self._put(*name)):
            assert time.monotonic() < until, said
            time.sleep(0.2)  # wait: the servers say nothing when they are ready
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._put("free")
        for one in self._started:
            one.terminate()
            one.wait(GUARD_S)

    def put(self, *commands: str) -> None:
        """Give commands to the text client, each as one text. Raise AssertionError when one is refused."""
        for command in commands:
            said = self._put(*command.split())
            assert "ERROR" not in said, f"{command}: {said}"

    def words(self, *command: str) -> list[str]:
        """Return the command line of the text client for another program to run."""
        name = self._environment["SLSDETNAME"]
        return ["/usr/bin/env", f"SLSDETNAME={name}", str(self._programs / "sls_detector_put"), *command]

    def _start(self, name: str, program: str, *words: str) -> None:
        log = (self._folder / f"{name}.log").open("wb")
        command = [str(self._programs / program), *words]
        self._started.append(
            subprocess.Popen(command, cwd=self._programs, stdout=log, stderr=subprocess.STDOUT, env=self._environment)
        )
        log.close()

    def _put(self, *words: str) -> str:
        done = subprocess.run(
            [str(self._programs / "sls_detector_put"), *words],
            capture_output=True,
            text=True,
            env=self._environment,
            timeout=_ANSWER_S,
        )
        return done.stdout + done.stderr
