# SPDX-License-Identifier: Apache-2.0
"""The table of commands: the module of each, its group, its text in `rashpa --help` and its exit codes. Listing the commands does not import their
modules."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from rashpa.data.base.exit_code import ExitCode

_NONE: Mapping[ExitCode, str] = MappingProxyType({})
_ENDED = ", or Ctrl-C ended it"


class Listed(NamedTuple):
    """Describes one command of the table.

    `module` names the module of this package that holds a function of the command's name, or an `app`. `text` is the first paragraph of the command's
    own help. `native` marks a command whose module imports the native module; it is not listed where nothing is compiled. `answers` marks a command
    that only makes output: it ends when the output is closed, and waits for a slow reader. Every other command ignores the loss of its output
    (`rashpa.data.base.telling`). `group` is the group in which `rashpa --help` lists it. `codes` holds the exit codes with a meaning of the command's
    own. `serves` marks a command that runs until Ctrl-C, which is its regular end.
    """

    module: str
    text: str
    group: str
    native: bool = False
    answers: bool = False
    codes: Mapping[ExitCode, str] = _NONE
    serves: bool = False

    @property
    def exits(self) -> dict[ExitCode, str]:
        """Return the exit codes of the command with their meanings, in order."""
        plain = {code: code.meaning for code in ExitCode if code is not ExitCode.NOT_WHOLE}
        if self.serves:
            plain[ExitCode.GOOD] += _ENDED
            plain[ExitCode.INTERRUPTED] += ", while it starts"
        return dict(sorted((plain | dict(self.codes)).items()))


COMMANDS = {
    "demo": Listed(
        "run.demo",
        "Run the first example: a JUNGFRAU 1M in software pushes images over RoCEv2 into a receiver on this machine.",
        "run",
        codes={ExitCode.NOT_WHOLE: "as of rashpa run"},
    ),
    "run": Listed(
        "run.run",
        "Carry a run through: start or reach its nodes, configure, acquire, and close the books.",
        "run",
        codes={
            ExitCode.GOOD: "the books balance, every image is stored, and the log explains each one that is not complete",
            ExitCode.FAILED: "a node failed, or the run could not be carried through",
            ExitCode.NOT_WHOLE: "the run came to its end, but images are errored, unwritten or unexplained",
        },
    ),
    "attach": Listed(
        "run.attach",
        "Take over a run whose manager has died: watch it to its end, close the books, write its report.",
        "run",
        codes={
            ExitCode.GOOD: "as of rashpa run",
            ExitCode.FAILED: "as of rashpa run",
            ExitCode.BAD_INPUT: "there is no such run, or its manager lives",
            ExitCode.NOT_WHOLE: "as of rashpa run",
        },
    ),
    "stop": Listed(
        "run.stop",
        "End a run in order at the next frame at which all emulators can end: images up to it are in books and files.",
        "run",
        codes={
            ExitCode.GOOD: "the run has ended, its books balance, and everything is stored or explained",
            ExitCode.FAILED: "the run did not come to its end",
            ExitCode.BAD_INPUT: "there is no such run, or it cannot end before its last frame",
            ExitCode.NOT_WHOLE: "the run ended, but images are errored, unwritten or unexplained",
        },
    ),
    "pause": Listed(
        "run.steer",
        "Pause a run: its emulators stop before the same frame, at the end of whole stacks, or at once where these take over 10 s.",
        "run",
        codes={
            ExitCode.BAD_INPUT: "there is no such run, or it cannot be paused",
        },
    ),
    "resume": Listed(
        "run.steer",
        "Go on with a paused run at its former rate. The pause delays its frames, and none is left out.",
        "run",
        codes={
            ExitCode.BAD_INPUT: "there is no such run, or it is not paused",
        },
    ),
    "abort": Listed(
        "run.steer",
        "End a run at once, as Ctrl-C in front of it does: files are completed, images that have not come are missing. `rashpa stop` ends it in order.",
        "run",
        codes={
            ExitCode.BAD_INPUT: "there is no such run",
        },
    ),
    "limits": Listed(
        "run.limits",
        "Give a veto other limits while its run goes on, from the next stack on. The answer names the first image that has them; file and report record it.",
        "run",
        codes={
            ExitCode.BAD_INPUT: "there is no such run, veto or limit, or its receiver cannot change it",
        },
    ),
    "join": Listed(
        "run.join",
        "Add a receiver to a group of a run that goes on. It has the group's buffer, kernels and sinks, files of its own, and its share of the images from then on.",
        "run",
        codes={
            ExitCode.FAILED: "the receiver does not take part",
            ExitCode.BAD_INPUT: "there is no such run, or its manager does not answer",
        },
    ),
    "plan": Listed(
        "plan.plan",
        "Show the plan of a run: the pixels of each buffer and their rate, the load of links, memory and units, the processing of images. Without --nodes no node is started or asked; files that nodes of this machine would load, it loads itself, as `rashpa run --check`.",
        "run",
        answers=True,
        codes={
            ExitCode.BAD_INPUT: "the run would refuse the file, or asks more of the nodes than they have",
        },
    ),
    "emulator": Listed(
        "node.node",
        "Emulate a detector in software: play datasets to a receiver on the orders of a manager.",
        "node",
        serves=True,
    ),
    "receiver": Listed(
        "node.node",
        "Receive images into memory, correct, veto and store them on the orders of a manager.",
        "node",
        serves=True,
    ),
    "status": Listed(
        "run.status",
        "Show the progress of nodes: state, books, rates and margins, live.",
        "run",
        answers=True,
        codes={ExitCode.FAILED: "a node did not answer the last time"},
        serves=True,
    ),
    "top": Listed(
        "run.top",
        "Show the load of nodes on their machines: processors, memory, files, queues and the busiest threads, live.",
        "run",
        answers=True,
        codes={ExitCode.FAILED: "a node did not answer the last time"},
        serves=True,
    ),
    "dashboard": Listed(
        "doors.dashboard",
        "Show a run in a browser while it lasts: books, rates, margins, nodes, hits, vetoes, latencies, and the image; start, pause, stop and abort it.",
        "run",
        serves=True,
    ),
    "tango": Listed(
        "doors.tango",
        "Serve a Tango device of class Rashpa, with commands and attributes as LimaCCDs has them, which carries out runs of a run file.",
        "run",
        serves=True,
    ),
    "epics": Listed(
        "doors.epics",
        "Serve variables (PVAccess) with areaDetector's names: orders to acquire, counters, and previews as NTNDArray, which nodes make only while a client has them open.",
        "run",
        serves=True,
    ),
    "doctor": Listed(
        "node.doctor",
        "Show what this machine lacks for a run, with the command that mends it, and the place where the data of a run end.",
        "node",
        codes={ExitCode.FAILED: "something is poor, or could not be set"},
    ),
    "free": Listed(
        "node.free",
        "Free a node: end its run, also one of another owner. Files are completed as by an interrupt.",
        "node",
    ),
    "trigger": Listed(
        "node.trigger",
        'Trigger emulators of a run with detector.trigger = "software": all at the same time, as far as the network allows.',
        "node",
        codes={ExitCode.FAILED: "an emulator refused, or did not answer"},
    ),
    "conformance": Listed(
        "bench.conformance",
        "Compare a unit with the public vectors: integers must be identical, floating point numbers within what each vector states.",
        "bench",
        native=True,
        answers=True,
        codes={
            ExitCode.GOOD: "every vector passes for which the unit has a version, or every rule was kept",
            ExitCode.FAILED: "a vector does not pass, or a rule was broken",
            ExitCode.BAD_INPUT: "there is no such unit, kernel or sender",
        },
    ),
    "inspect": Listed(
        "files.inspect",
        "Show a summary of a run: books, rates, vetoes, first incomplete images. Make pictures on request.",
        "file",
        answers=True,
        codes={
            ExitCode.GOOD: "every image of the run is there",
            ExitCode.BAD_INPUT: "a file cannot be read",
            ExitCode.NOT_WHOLE: "images are errored, not known, or not in their data files",
        },
    ),
    "check": Listed(
        "files.check",
        "Check an NXmx file of rashpa or of another program: places of pixels, units, masks, counts, times, links.",
        "file",
        answers=True,
        codes={
            ExitCode.GOOD: "nothing is wrong",
            ExitCode.BAD_INPUT: "the file cannot be read",
            ExitCode.NOT_WHOLE: "something in the file is wrong",
        },
    ),
    "combine": Listed(
        "files.combine",
        "Combine several masters of a run into one NeXus file: an entry each, or one of all frames where they describe the same experiment.",
        "file",
        codes={
            ExitCode.GOOD: "the file reaches every image of the runs",
            ExitCode.NOT_WHOLE: "images of the runs are errored, not known, or not in their data files; the file is written",
        },
    ),
    "peaks": Listed(
        "files.peaks",
        "Write the peaks that a kernel has found as a CXI file, which indexamajig reads with --peaks=cxi.",
        "file",
        codes={
            ExitCode.GOOD: "the peaks of every image are there",
            ExitCode.NOT_WHOLE: "images of the run are errored, not known, or not in their data files; the others are written",
        },
    ),
    "feedback": Listed(
        "doors.feedback",
        "Show the decisions of a receiver on each image, as it takes them, until the run is over.",
        "stream",
        answers=True,
        codes={
            ExitCode.FAILED: "nothing came in time, or the receiver has gone",
            ExitCode.NOT_WHOLE: "this reader lost images",
        },
    ),
    "receive-stream": Listed(
        "doors.receive_stream",
        "Receive images that a detector, or a receiver with a sink stream2, sends as DECTRIS Stream V2, and write NXmx files.",
        "stream",
        native=True,
        codes={
            ExitCode.GOOD: "a series came whole",
            ExitCode.FAILED: "nothing came in time, or a series lacks its start or end",
            ExitCode.NOT_WHOLE: "images were missed or could not be read, or a mask, a flatfield or a channel is not in the files",
        },
    ),
    "process": Listed(
        "files.process",
        "Process stored images as a run would have: the same kernels, files and books.",
        "file",
        native=True,
        codes={
            ExitCode.GOOD: "every image is decided and stored",
            ExitCode.FAILED: "a recording failed",
            ExitCode.NOT_WHOLE: "images are errored; the rest is stored",
        },
    ),
    "repair": Listed(
        "files.repair",
        "Complete the master file of a run whose receiver was killed, or had no room for it.",
        "file",
        native=True,
        codes={
            ExitCode.GOOD: "every image of the run is there",
            ExitCode.NOT_WHOLE: "images are errored, or nothing is known of them",
        },
    ),
    "convert": Listed(
        "files.convert",
        "Make NXmx files, as the sink hdf5 writes them, of a run that the sink raw has written.",
        "file",
        native=True,
        codes={
            ExitCode.GOOD: "every image of the run is converted",
            ExitCode.NOT_WHOLE: "images are errored, or nothing is known of them; the rest is converted",
        },
    ),
    "node": Listed(
        "node.node_orders",
        "Look at a node, or end what it does, without its manager. The bearer token is taken from the environment's RASHPA_TOKEN.",
        "node",
        answers=True,
    ),
    "dataset": Listed(
        "files.dataset",
        "Make a dataset for emulators, describe it, look at a frame.",
        "file",
    ),
    "example": Listed(
        "files.example",
        "Write the files of a small example, which a page of the documentation begins with.",
        "file",
    ),
    "calibrate": Listed(
        "files.calibrate",
        "Make calibration files of a detector.",
        "file",
        native=True,
        codes={
            ExitCode.GOOD: "every frame of the dark runs was used",
            ExitCode.NOT_WHOLE: "the dark runs lack frames; the file is written",
        },
    ),
    "packet": Listed(
        "bench.packet",
        "RoCE packets as hex and JSON: every header field, the payload, the ICRC's verdict.",
        "bench",
        native=True,
        answers=True,
    ),
    "card": Listed(
        "node.card",
        "Start a simulated card: the sender of `rtl/`, or with --unit the processing unit, in a directory that looks like a card's device nodes.",
        "node",
        serves=True,
    ),
    "bench": Listed(
        "bench.bench",
        "Benchmarks: each row is measured beside its peer or floor, in the same run.",
        "bench",
        answers=True,
        codes={ExitCode.FAILED: "a check of the benchmark failed, or it ended early"},
    ),
}
"""The commands by name, in the order of `rashpa --help`."""

GROUPS = {
    "run": "begin, steer and follow runs",
    "node": "start nodes, and talk to them",
    "file": "read and make files",
    "stream": "follow what a receiver or a detector sends",
    "bench": "measure and judge",
}
"""The groups of commands, and their texts. Each command can be typed in its group, too: `rashpa file inspect` is `rashpa inspect`."""


def members(group: str) -> dict[str, str]:
    """Return the commands of a group: the name inside the group, then the name that is typed without the group."""
    return {
        name.removesuffix(f"-{group}"): name for name, one in COMMANDS.items() if one.group == group and name != group
    }
