# SPDX-License-Identifier: Apache-2.0
"""Makes the grant of a node that `rashpa run` starts: a token, folders to read and write, addresses to publish at, and cards to use. It is sent
through the node's standard input, because other users can see command lines, and files could remain."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from rashpa.control.orders.plan_telegrams import card_of, unit_card_of
from rashpa.control.plan.checks.dataset_check import files_of, resolved_calibration, resolved_dataset
from rashpa.control.plan.model import Plan
from rashpa.control.plan.reduction import offset_files
from rashpa.control.runfile.dataset_spec import StoredSpec
from rashpa.control.runfile.kernels import code_of
from rashpa.control.runfile.kernels import files_of as files_of_kernel
from rashpa.control.runfile.sink_sections import Stream2Sink
from rashpa.control.runfile.token import checked_token
from rashpa.data.datasets.calibration_reference import file_of
from rashpa.data.files.file_names import located


@dataclass(frozen=True)
class Grant:
    """Holds the rights of a node; it is sent as one line of JSON."""

    token: str
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    kernels: str = ""  # the folder of code that it may load; empty: none
    cards: tuple[str, ...] = ()  # "sim", or directories of cards
    publish: tuple[str, ...] = ()  # addresses of sockets for feedback and streams
    certificate: str = ""  # of a node that may be on another machine, and its key: PEM
    key: str = ""

    def line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def of_line(cls, line: bytes) -> "Grant":
        """Parse a line. Raise ValueError when it is no grant."""
        values = json.loads(line)
        try:
            token = checked_token(str(values["token"]), "token")
            read, write, cards, publish = (tuple(values[name]) for name in ("read", "write", "cards", "publish"))
            kernels, certificate, key = (str(values[name]) for name in ("kernels", "certificate", "key"))
            return cls(token, read, write, kernels, cards, publish, certificate, key)
        except (KeyError, TypeError) as error:
            raise ValueError(f"no grant: {error}") from None


def grant_of(plan: Plan, role: str, token: str) -> Grant:
    """Return the grant for the files of the run file, and for no others. They are the dataset and, for a receiver, the files of its calibration and
    kernels, the output folder, and the run file's folder if the run file names code there. A receiver may also publish at its addresses, and each
    node may use its cards."""
    calibration = resolved_calibration(plan.file, plan.source, "local") if role == "receiver" else None
    # a receiver looks into the dataset for calibration and masks
    needed = calibration is None or isinstance(plan.file.dataset, StoredSpec)
    named = [] if not needed else [path for _, path in files_of(resolved_dataset(plan.file, plan.source, "local"))]
    # a dataset's folder may hold links to where its files really lie
    folders = [] if isinstance(plan.file.dataset, StoredSpec) else [path for path in named if path.is_dir()]
    inside = [entry for path in folders for entry in path.iterdir()]
    read = {str(path.resolve()) for path in (*named, *inside)}
    if isinstance(plan.file.dataset, StoredSpec):  # its data files lie beside it
        read |= {str(parent) for path in named for parent in (path.absolute().parent, path.resolve().parent)}
    folder = plan.source.path.resolve().parent
    if role == "emulator":
        read |= {str(path.resolve()) for path in offset_files(plan.file.buffer, folder)}
    if role == "receiver":
        read |= {str(path.resolve()) for path in (calibration.files() if calibration else ())}
        kernels_of_run = [kernel for buffer in plan.buffers for kernel in buffer.section.kernel]
        read |= {
            str(Path(file_of(located(name, folder))).resolve())
            for one in kernels_of_run
            for name in files_of_kernel(one).values()
        }
    write = (str(plan.file.run.folder.resolve()),) if role == "receiver" else ()
    outside = any(code_of(kernel) for buffer in plan.buffers for kernel in buffer.section.kernel)
    kernels = str(plan.source.path.parent.resolve()) if role == "receiver" and outside else ""
    played = [one for one in plan.emulators if one.engine == "fpga" and one.node == "local"]
    computed = [one for one in plan.buffers if one.section.unit == "fpga"]
    of_units = {unit_card_of(plan, one, "local") for one in computed}
    cards = sorted({card_of(plan, one) for one in played} if role == "emulator" else of_units)
    sockets = [one.section.feedback.zmq for one in plan.buffers if one.section.feedback and one.section.feedback.zmq]
    sockets += [sink.endpoint for one in plan.buffers for sink in one.section.sink if isinstance(sink, Stream2Sink)]
    publish = _addresses_of(sockets) if sockets and role == "receiver" else []
    return Grant(token, tuple(sorted(read)), write, kernels, tuple(cards), tuple(publish))


def _addresses_of(sockets: Iterable[str]) -> list[str]:
    from rashpa.data.stream.feedback import address_of  # NumPy, for runs that publish

    return sorted({address_of(endpoint) for endpoint in sockets})
