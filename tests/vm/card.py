# SPDX-License-Identifier: Apache-2.0
"""Runs acquisitions from a simulated card on the host to a program in the virtual machine, whose network interface is connected to the card."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.vm.acquisition import Outcome, peer, play
from tests.vm.machine import Machine

# Of the machine and of the card, by IP version; guest/setup_card.
ADDRESSES = {4: ("10.0.4.1", "10.0.4.2"), 6: ("fd00:4::1", "fd00:4::2")}
MACS = {"card-mac": "02:00:00:00:00:02", "peer-mac": "02:00:00:00:00:01"}
READY_S = 60


@dataclass(frozen=True)
class Wire:
    """Holds a machine, the folder that it shares with the host, and the directory of the card connected to its interface."""

    machine: Machine
    share: Path
    card: Path
    generator: Path  # rashpa_vm_card: the card's own adders make descriptors
    sender: Path  # rashpa_vm_peer: software pushes them


def interface(sockets: Path) -> tuple[str, ...]:
    """Return QEMU's arguments for a network interface that exchanges frames as datagrams between two sockets."""
    ends = f"local.type=unix,local.path={sockets}/machine,remote.type=unix,remote.path={sockets}/card"
    return "-netdev", f"dgram,id=card,{ends}", "-device", "virtio-net-pci,netdev=card"


@contextmanager
def simulated_card(program: Path, directory: Path, sockets: Path) -> Iterator[None]:
    """Run the card during the context."""
    network = f"unix:{sockets}/card,{sockets}/machine"
    with subprocess.Popen(
        [program, directory, "--network", network], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as card:
        try:
            assert card.stdout is not None
            line = card.stdout.readline()
            assert line.startswith("ready"), line + card.stdout.read()
            yield
        finally:
            card.terminate()
            assert card.wait(READY_S) == 0


@dataclass(frozen=True)
class CardRun:
    """Describes a run for both ends; options have the names of the programs' options, with `_` for `-`."""

    ip: int = 4
    frames: int = 40
    modules: int = 2
    width: int = 253  # ends with a short packet that needs padding
    height: int = 31
    pmtu: int = 1024
    packetisation: str = "only"
    timeout_s: int = 60

    @property
    def events(self) -> int:
        return self.frames * self.modules

    def common(self) -> dict[str, str | float]:
        return {
            "frames": self.frames,
            "modules": self.modules,
            "width": self.width,
            "height": self.height,
            "pmtu": self.pmtu,
            "packetisation": self.packetisation,
            "timeout-s": self.timeout_s // 2,
        }


def acquire_from_card(
    wire: Wire,
    name: str,
    run: CardRun,
    source: dict[str, str | float] | None = None,
    destination: dict[str, str | float] | None = None,
    *,
    pushed: bool = False,
) -> Outcome:
    """Run both ends of `run`, with additional options of each; each must report success. `{out}` is the folder of both.

    `pushed`: True when software pushes the descriptors.
    """
    here, there = ADDRESSES[run.ip]
    folder = wire.share / "run" / name
    folder.mkdir(parents=True, exist_ok=True)
    arguments = {"card": wire.card, "exchange": f"{folder}/exchange", "bind": there, **run.common(), **(source or {})}
    if pushed:
        arguments |= {"role": "source", "link": "fpga", "peer": "verbs", **MACS}
    program = wire.sender if pushed else wire.generator
    words = [str(word).format(out=folder) for key, value in arguments.items() for word in (f"--{key}", value)]
    receive: dict[str, str | float] = {"role": "destination", "peer": "roce", "bind": here, "exchange": "$OUT/exchange"}
    receive |= run.common() | {key: str(value).format(out="$OUT") for key, value in (destination or {}).items()}
    with subprocess.Popen(
        [program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as source_program:
        try:
            played = play(wire.machine, name, {"destination": peer("verbs", receive)}, run.timeout_s)
            printed, errors = source_program.communicate(timeout=run.timeout_s)
        except BaseException:
            source_program.kill()
            print("".join(source_program.communicate()))
            raise
    story = f"{printed}{errors}{played.story}"
    assert source_program.returncode == 0, story
    return Outcome({**played.printed, "source": json.loads(printed)}, played.counters, played.kernel, story)
