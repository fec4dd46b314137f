# SPDX-License-Identifier: Apache-2.0
"""Runs acquisitions with the program `rashpa_vm_peer` as scripts of the virtual machine, and reads their results."""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.vm.machine import Machine, MachineError

# Addresses of guest/setup_rdma by IP version: two devices of the kernel on one wire, and the kernel's and user space's end
# of the other.
KERNEL_WIRE = {4: ("10.0.1.1", "10.0.1.2"), 6: ("fd00:1::1", "fd00:1::2")}
MIXED_WIRE = {4: {"verbs": "10.0.2.1", "roce": "10.0.2.2"}, 6: {"verbs": "fd00:2::1", "roce": "fd00:2::2"}}


@dataclass(frozen=True)
class Acquisition:
    """Describes a run for both ends. `options`: arguments of rashpa_vm_peer for both ends."""

    source: str
    destination: str
    ip: int = 4
    frames: int = 40
    modules: int = 2
    options: dict[str, str | float] = field(default_factory=dict)
    source_options: dict[str, str | float] = field(default_factory=dict)
    destination_options: dict[str, str | float] = field(default_factory=dict)
    timeout_s: int = 60

    @property
    def events(self) -> int:
        return self.frames * self.modules

    def _addresses(self) -> tuple[str, str]:
        if self.source == self.destination == "verbs":
            return KERNEL_WIRE[self.ip]
        return MIXED_WIRE[self.ip][self.source], MIXED_WIRE[self.ip][self.destination]

    def programs(self) -> dict[str, str]:
        source, destination = self._addresses()
        common = {"frames": self.frames, "modules": self.modules, "timeout-s": self.timeout_s // 3, **self.options}
        places = {
            "destination": (self.destination, self.source, destination, self.destination_options),
            "source": (self.source, self.destination, source, self.source_options),
        }
        return {
            role: peer(link, {"role": role, "peer": other, "bind": bind, "exchange": "$OUT/exchange", **common, **own})
            for role, (link, other, bind, own) in places.items()
        }


@dataclass(frozen=True)
class Fan:
    """Describes a run of one source and two destinations, which share its two modules. The destinations' link is verbs, each on its own device."""

    source: str  # link
    hub: str  # role of the one: source (fan-out) or destination (fan-in)
    bind: str  # its address
    leaves: tuple[str, str]  # those of the two
    devices: tuple[str, ...]  # of the destinations
    frames: int = 40
    options: dict[str, str | float] = field(default_factory=dict)

    def programs(self) -> dict[str, str]:
        exchanges = ["$OUT/exchange1", "$OUT/exchange2"]
        programs = {self.hub: self._end(self.hub, self.bind, ",".join(exchanges), {"modules": 2})}
        leaf = "destination" if self.hub == "source" else "source"
        for i, (bind, exchange) in enumerate(zip(self.leaves, exchanges, strict=True)):
            programs[f"{leaf}{i + 1}"] = self._end(leaf, bind, exchange, {"modules": 1, "first-module": i})
        return programs

    def _end(self, role: str, bind: str, exchange: str, share: dict[str, str | float]) -> str:
        link, other = (self.source, "verbs") if role == "source" else ("verbs", self.source)
        arguments: dict[str, str | float] = {"role": role, "peer": other, "bind": bind, "exchange": exchange}
        return peer(link, {**arguments, "frames": self.frames, "timeout-s": 20, **share, **self.options})


def peer(link: str, arguments: dict[str, str | float]) -> str:
    """Return the command of one program. User-space RoCE runs in a namespace with its own port 4791."""
    words = " ".join(f"--{name} {value}" for name, value in arguments.items())
    return f"{'far ' if link == 'roce' else ''}rashpa_vm_peer --link {link} {words}"


def script(programs: dict[str, str], beside: str = "") -> str:
    """Return a script that runs all programs at once, each by name, together with the script `beside`."""
    if beside:
        programs = {"beside": f"( {beside} )", **programs}
    return "\n".join(
        [
            "rdma_counters >$OUT/counters.before",
            *(f"{command} >$OUT/{name}.json 2>$OUT/{name}.err & {name}=$!" for name, command in programs.items()),
            *(f"wait ${name} && echo {name} 0 || echo {name} $?" for name in programs),
            "rdma_counters >$OUT/counters.after",
            "rm -f $OUT/exchange*",
        ]
    )


@dataclass(frozen=True)
class Played:
    """Holds the output of programs by name, and the counters of the kernel's RDMA devices meanwhile."""

    printed: dict[str, dict[str, Any]]
    counters: Counter[tuple[str, str]]
    kernel: str
    story: str

    def kernel_accepted(self, device: str) -> int:
        """Return the number of packets with a right ICRC that a kernel RDMA device has accepted."""
        return self.counters[device, "rcvd_pkts"]

    def kernel_sent(self, device: str) -> int:
        return self.counters[device, "sent_pkts"]

    def kernel_immediates(self, device: str) -> int:
        """Return the number of receives that the device has completed; each is one WRITE WITH IMMEDIATE."""
        return self.counters[device, "rdma_recvs"]


class Outcome(Played):
    """Holds the results of a source and a destination."""

    @property
    def source(self) -> dict[str, Any]:
        return self.printed["source"]

    @property
    def destination(self) -> dict[str, Any]:
        return self.printed["destination"]


def play(machine: Machine, name: str, programs: dict[str, str], timeout_s: float, beside: str = "") -> Played:
    """Run the programs, with the script `beside` at the same time, and check that each reports success."""
    result = machine.run(name, script(programs, beside), timeout_s)
    errors = "".join(f"\n-- {program}\n{result.text(f'{program}.err')}" for program in programs)
    story = f"{result.output}{errors}\n-- kernel\n{result.kernel}\n(log: {result.log})"
    expected = sorted(f"{program} 0" for program in [*programs, *(["beside"] if beside else [])])
    if sorted(result.output.split("\n")[:-1]) != expected or result.status:
        printed = "".join(f"\n-- {program}\n{result.text(f'{program}.json')}" for program in programs)
        raise MachineError(f"vm: {name}: status {result.status}: {story}{printed}")
    counters = _counters(result.text("counters.after"))
    counters.subtract(_counters(result.text("counters.before")))
    results = {program: json.loads(result.text(f"{program}.json")) for program in programs}
    return Played(results, counters, result.kernel, story)


def acquire(machine: Machine, name: str, run: Acquisition, beside: str = "") -> Outcome:
    """Run both ends of `run` and return their results."""
    played = play(machine, name, run.programs(), run.timeout_s, beside)
    return Outcome(played.printed, played.counters, played.kernel, played.story)


def _counters(text: str) -> Counter[tuple[str, str]]:
    rows = [line.split() for line in text.splitlines()]
    return Counter({(device, name): int(value) for device, name, value in rows})
