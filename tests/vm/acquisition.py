"""One acquisition between two programs `rashpa_vm_peer`, as a script for the machine, and what came of it."""

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
    """The same run for both ends; `options` are arguments of rashpa_vm_peer that both ends get."""

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

    def _command(self, role: str, link: str, peer: str, address: str, options: dict[str, str | float]) -> str:
        common = {"frames": self.frames, "modules": self.modules, "timeout-s": self.timeout_s // 3, **self.options}
        arguments = {"role": role, "link": link, "peer": peer, "bind": address, "exchange": "$OUT/exchange"}
        words = [f"--{name} {value}" for name, value in {**arguments, **common, **options}.items()]
        where = "far " if link == "roce" else ""
        return f"{where}rashpa_vm_peer {' '.join(words)} >$OUT/{role}.json 2>$OUT/{role}.err"

    def script(self, beside: str = "") -> str:
        """Both ends at once; with `beside`, that script too."""
        source, destination = self._addresses()
        begin, end = [], []
        if beside:
            begin = [f"( {beside} ) >$OUT/beside.out 2>&1 & beside=$!"]
            end = ["wait $beside && echo beside 0 || echo beside $?"]
        return "\n".join(
            [
                "rdma_counters >$OUT/counters.before",
                *begin,
                self._command("destination", self.destination, self.source, destination, self.destination_options)
                + " & destination=$!",
                self._command("source", self.source, self.destination, source, self.source_options) + " & source=$!",
                "wait $source && echo source 0 || echo source $?",
                "wait $destination && echo destination 0 || echo destination $?",
                *end,
                "rdma_counters >$OUT/counters.after",
                "rm -f $OUT/exchange.*",
            ]
        )


@dataclass(frozen=True)
class Outcome:
    """What both ends printed, and what the kernel's RDMA devices counted meanwhile."""

    source: dict[str, Any]
    destination: dict[str, Any]
    counters: Counter[tuple[str, str]]
    kernel: str
    story: str

    def kernel_accepted(self, device: str) -> int:
        """Packets with a right ICRC that an RDMA device of the kernel has taken."""
        return self.counters[device, "rcvd_pkts"]

    def kernel_sent(self, device: str) -> int:
        return self.counters[device, "sent_pkts"]

    def kernel_immediates(self, device: str) -> int:
        """Receives that the device has completed: each is one WRITE WITH IMMEDIATE."""
        return self.counters[device, "rdma_recvs"]


def acquire(machine: Machine, name: str, run: Acquisition, beside: str = "") -> Outcome:
    """Runs both ends (and the script `beside` at the same time) and checks that each ended well by its own judgement."""
    result = machine.run(name, run.script(beside), run.timeout_s)
    errors = "".join(f"\n-- {role}\n{result.text(f'{role}.err')}" for role in ("source", "destination"))
    story = f"{result.output}{errors}\n-- kernel\n{result.kernel}\n(log: {result.log})"
    expected = ["source 0", "destination 0"] + (["beside 0"] if beside else [])
    if result.output.split("\n")[:-1] != expected or result.status:
        peers = "".join(f"\n-- {role}\n{result.text(f'{role}.json')}" for role in ("source", "destination"))
        raise MachineError(f"vm: {name}: status {result.status}: {story}{peers}")
    counters = _counters(result.text("counters.after"))
    counters.subtract(_counters(result.text("counters.before")))
    source, destination = (json.loads(result.text(f"{role}.json")) for role in ("source", "destination"))
    return Outcome(source, destination, counters, result.kernel, story)


def _counters(text: str) -> Counter[tuple[str, str]]:
    rows = [line.split() for line in text.splitlines()]
    return Counter({(device, name): int(value) for device, name, value in rows})
