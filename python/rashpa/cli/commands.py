# SPDX-License-Identifier: Apache-2.0
"""The table of commands: the module of each, and its text in `rashpa --help`. Listing commands imports none of them."""

from typing import NamedTuple


class Listed(NamedTuple):
    """Describes one command of the table.

    `module` of this package holds a function of the command's name, or an `app`. `text` is the first paragraph of the command's own help. `native` marks a
    command that is not listed where nothing is compiled, because its module imports the native one. `answers` marks a command that only makes output: it ends
    when the output is lost, and waits for a slow reader; every other command goes on (`rashpa.data.base.telling`).
    """

    module: str
    text: str
    native: bool = False
    answers: bool = False


COMMANDS = {
    "demo": Listed(
        "run.demo",
        "Run the first example: a JUNGFRAU 1M in software pushes images over RoCEv2 into a receiver on this machine.",
    ),
    "run": Listed(
        "run.run",
        "Carry a run through: start or reach its nodes, configure, acquire, and close the books.",
    ),
    "attach": Listed(
        "run.attach",
        "Take over a run whose manager has died: watch it to its end, close the books, write its report.",
    ),
    "stop": Listed(
        "run.stop",
        "End a run in order at the next frame at which all emulators can end: every image until then is in the books and in the files, none behind it.",
    ),
    "pause": Listed(
        "run.steer",
        "Pause a run: all its emulators stop before the same frame, at the end of whole stacks, or at once where these take more than 10 s.",
    ),
    "resume": Listed(
        "run.steer",
        "Go on with a run that was paused, at the rate that it had. The frames of the pause come later, none is left out.",
    ),
    "abort": Listed(
        "run.steer",
        "End a run at once, as Ctrl-C in front of it does: files are completed, images that have not come are missing. `rashpa stop` ends it in order.",
    ),
    "join": Listed(
        "run.join",
        "Add a receiver to a group of a run that goes on. It has the group's buffer, kernels and sinks, files of its own, and its share of the images from then on.",
    ),
    "plan": Listed(
        "plan.plan",
        "Show the plan of a run: the pixels that go to each buffer and their rate, the load of links, memory and units, and the processing of the images of each buffer. Without --nodes no node is started or asked; files that nodes of this machine would load, it loads itself, as `rashpa run --check`.",
        answers=True,
    ),
    "emulator": Listed(
        "node.node",
        "Emulate a detector in software: play datasets to a receiver when a manager says so.",
    ),
    "receiver": Listed(
        "node.node",
        "Take images into memory, correct, veto and store them when a manager says so.",
    ),
    "status": Listed(
        "run.status",
        "Show the progress of nodes: state, books, rates and margins, live.",
        answers=True,
    ),
    "top": Listed(
        "run.top",
        "Show the load of nodes on their machines: processors, memory, files, queues and the busiest threads, live.",
        answers=True,
    ),
    "dashboard": Listed(
        "doors.dashboard",
        "Show a run in a browser while it lasts: books, rates, margins, nodes, hits, vetoes, latencies, and the image; start, pause, stop and abort it.",
    ),
    "tango": Listed(
        "doors.tango",
        "Serve a Tango device of class Rashpa, with commands and attributes as LimaCCDs has them, which carries out runs of a run file.",
    ),
    "epics": Listed(
        "doors.epics",
        "Serve variables (PVAccess) with areaDetector's names: orders to acquire, counters, and previews as NTNDArray, which are asked for while a client has them open.",
    ),
    "free": Listed(
        "node.free",
        "Free a node: end its run, also one of another owner. Files are completed as by an interrupt.",
    ),
    "trigger": Listed(
        "node.trigger",
        'Trigger emulators of a run with detector.trigger = "software": all at the same time, as far as the network allows.',
    ),
    "conformance": Listed(
        "bench.conformance",
        "Compare a unit with the public vectors: integers must be identical, floating point numbers within what each vector states.",
        native=True,
        answers=True,
    ),
    "inspect": Listed(
        "files.inspect",
        "Show a summary of a run: books, rates, vetoes, first incomplete images. Make pictures on request.",
        answers=True,
    ),
    "check": Listed(
        "files.check",
        "Judge an NXmx file, of ours or of others: places of pixels, units, masks, counts, times, links.",
        answers=True,
    ),
    "combine": Listed(
        "files.combine",
        "Combine several masters of a run into one NeXus file: an entry each, or one of all frames in their order, each once, where they say the same of the experiment.",
    ),
    "peaks": Listed(
        "files.peaks",
        "Write the peaks that a kernel has found as a CXI file, which indexamajig reads with --peaks=cxi.",
    ),
    "feedback": Listed(
        "doors.feedback",
        "Show the decisions of a receiver on each image, as it takes them, until the run is over.",
        answers=True,
    ),
    "receive-stream": Listed(
        "doors.receive_stream",
        "Receive images that a detector, or a receiver with a sink stream2, sends as DECTRIS Stream V2, and write NXmx files.",
        native=True,
    ),
    "process": Listed(
        "files.process",
        "Process stored images as a run would have: the same kernels, files and books.",
        native=True,
    ),
    "repair": Listed(
        "files.repair",
        "Complete the master file of a run whose receiver was killed, or had no room for it.",
        native=True,
    ),
    "convert": Listed(
        "files.convert",
        "Make NXmx files, as the sink hdf5 writes them, of a run that the sink raw has written.",
        native=True,
    ),
    "node": Listed(
        "node.node_orders",
        "Look at a node, or end what it does, without its manager. The bearer token is taken from the environment's RASHPA_TOKEN.",
        answers=True,
    ),
    "dataset": Listed(
        "files.dataset",
        "What an emulator plays: make a dataset, describe it, look at a frame.",
    ),
    "calibrate": Listed(
        "files.calibrate",
        "Make calibration files of a detector.",
        native=True,
    ),
    "packet": Listed(
        "bench.packet",
        "RoCE packets as hex and JSON: every header field, the payload, the ICRC's verdict.",
        native=True,
        answers=True,
    ),
    "card": Listed(
        "node.card",
        "Start a simulated card: the sender in hardware of `rtl/`, or with --unit the processing unit, compiled, in a directory that looks like a card's device nodes.",
    ),
    "bench": Listed(
        "bench.bench",
        "Benchmarks: each row is measured beside its peer or floor, in the same run.",
        answers=True,
    ),
}
"""The commands by name, in the order of `rashpa --help`."""
