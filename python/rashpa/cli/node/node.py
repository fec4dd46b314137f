# SPDX-License-Identifier: Apache-2.0
"""`rashpa emulator`, `rashpa receiver`: a node that obeys a manager."""

import dataclasses
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rashpa.control.nodes.version import software_version
from rashpa.control.runfile.token import TokenError, token_of_environment
from rashpa.control.telegrams.telegram import Throughput
from rashpa.data.base.exit_code import ExitCode
from rashpa.data.base.limit_said import with_limit
from rashpa.data.stream.feedback import FEEDBACK_FOLDER
from rashpa.node.door.audit import Audit, audit_into
from rashpa.node.door.tls import in_memory
from rashpa.node.engine.engine import EngineError
from rashpa.node.engine.folders import Folders
from rashpa.node.host.printed import drain_of_process
from rashpa.node.logs.log import NodeLog
from rashpa.node.logs.log_file import Format, log_into
from rashpa.node.logs.serve_error import ServeError
from rashpa.node.serve import Listen, read_grant, serve_node

if TYPE_CHECKING:
    from rashpa.node.engine.native_engine import NativeFactory

_Name = Annotated[str, typer.Option(help="How the node calls itself in messages; the machine's name when not given.")]
_Host = Annotated[str, typer.Option(help="Address to listen on. Any other than loopback needs a token and TLS.")]
_Port = Annotated[int, typer.Option(min=0, max=65535, help="Port of the control link; 0: any free one.")]
_Certificate = Annotated[Path | None, typer.Option(help="TLS certificate, PEM.")]
_Key = Annotated[Path | None, typer.Option(help="TLS key, PEM.")]
_LinkGbps = Annotated[
    float,
    typer.Option(min=0.0, help="Capacity of the data link, Gb/s; 0: not known, plans are not checked against it."),
]
_Read = Annotated[
    list[Path] | None,
    typer.Option(
        help="Folder, or file, from which datasets and calibration may be read; repeatable. The current folder when not given."
    ),
]
_Write = Annotated[
    list[Path] | None,
    typer.Option(help="Folder below which output may be written; repeatable. The current folder when not given."),
]
_Kernels = Annotated[
    Path | None,
    typer.Option(
        help="Folder of kernels from outside (shared objects, Python modules) that runs may name. Their code runs with all that this node may do; "
        "none when not given."
    ),
]
_Card = Annotated[
    list[str] | None,
    typer.Option(
        help='Directory of a card\'s nodes (/dev of a real one) that runs may name as `card`; "sim": runs may have cards simulated here, a process '
        "each. Repeatable; none when not given."
    ),
]
_Feedback = Annotated[Path, typer.Option(help="Folder of the rings in which runs publish what was decided.")]
_Publish = Annotated[
    list[str] | None,
    typer.Option(
        help="Address at which runs may publish by ZeroMQ, besides loopback; everyone who reaches it may read. Repeatable."
    ),
]
_Alias = Annotated[
    list[str] | None,
    typer.Option(
        help="Another name by which managers address this node; repeatable. Its addresses and --host are known."
    ),
]
_Lease = Annotated[
    float,
    typer.Option(min=2.0, help="Seconds without a word of its manager after which the node ends the run and is free."),
]
_LogLevel = Annotated[
    Literal["debug", "info", "warning", "error"],
    typer.Option(help="Lowest level that the node's log keeps. debug has the place of each DTP and thread."),
]
_LogFile = Annotated[
    Path | None,
    typer.Option(help="File that the log is written to besides, 10 MB at most; two older ones are kept beside it"),
]
_Measure = Annotated[
    list[Path] | None,
    typer.Option(
        help="Run file whose pipelines are measured on this machine's units, as it would process them; the figures are kept for managers, and the "
        "command ends. Repeatable.",
        show_default=False,
    ),
]
_MeasureFiles = Annotated[
    bool,
    typer.Option(
        "--measure-files",
        help="With --measure: also how fast the buffers' files are written, with a folder of files beside run.output that goes again.",
    ),
]
_MeasureSeconds = Annotated[
    float, typer.Option("--measure-seconds", min=0.1, help="How long each pipeline is measured on each unit.")
]
_Measured = Annotated[
    Path | None,
    typer.Option(
        help="File of the figures that --measure keeps, ~/.local/state/rashpa/measured.json when not given. They are told to managers while hardware "
        "and software stay the same."
    ),
]
_LogFormat = Annotated[
    Literal["text", "json"],
    typer.Option(
        help="Of that file: lines for people, or one JSON document a line, with node, run, DTP, module and frame."
    ),
]
_AuditFile = Annotated[
    Path | None,
    typer.Option(
        help="File with the sender and the answer of each order, a JSON document a line; 10 MB at most, two older ones are kept"
    ),
]
_WithParent = Annotated[bool, typer.Option("--with-parent", hidden=True, help="End when standard input is closed.")]
_OfRun = Annotated[
    bool, typer.Option("--of-run", hidden=True, help="As --with-parent; token and folders come on standard input.")
]

_DEFAULT_PORT = {"emulator": 4780, "receiver": 4781}


def emulator(
    name: _Name = "",
    host: _Host = "127.0.0.1",
    port: _Port = _DEFAULT_PORT["emulator"],
    certificate: _Certificate = None,
    key: _Key = None,
    link_gbps: _LinkGbps = 0.0,
    read: _Read = None,
    write: _Write = None,
    card: _Card = None,
    alias: _Alias = None,
    lease: _Lease = 10.0,
    log_level: _LogLevel = "info",
    log_file: _LogFile = None,
    log_format: _LogFormat = "text",
    audit_file: _AuditFile = None,
    with_parent: _WithParent = False,
    of_run: _OfRun = False,
) -> None:
    """Emulate a detector in software: play datasets to a receiver when a manager says so.

    The bearer token is taken from the environment's RASHPA_TOKEN, the password of an encrypted --key from RASHPA_KEY_PASSWORD. One line of JSON
    with the URL is printed when the node is ready.
    """
    listen = Listen(host, port, "", certificate, key, with_parent or of_run, lease, tuple(alias or ()))
    folders = Folders(read or [Path.cwd()], write or [Path.cwd()], cards=card or ())
    _serve("emulator", name, listen, link_gbps, folders, of_run, Records(log_level, log_file, log_format, audit_file))


def receiver(
    name: _Name = "",
    host: _Host = "127.0.0.1",
    port: _Port = _DEFAULT_PORT["receiver"],
    certificate: _Certificate = None,
    key: _Key = None,
    link_gbps: _LinkGbps = 0.0,
    read: _Read = None,
    write: _Write = None,
    kernels: _Kernels = None,
    feedback: _Feedback = FEEDBACK_FOLDER,
    publish: _Publish = None,
    card: _Card = None,
    alias: _Alias = None,
    lease: _Lease = 10.0,
    log_level: _LogLevel = "info",
    log_file: _LogFile = None,
    log_format: _LogFormat = "text",
    audit_file: _AuditFile = None,
    measure: _Measure = None,
    measure_seconds: _MeasureSeconds = 3.0,
    measure_files: _MeasureFiles = False,
    measured: _Measured = None,
    with_parent: _WithParent = False,
    of_run: _OfRun = False,
) -> None:
    """Take images into memory, correct, veto and store them when a manager says so.

    The bearer token is taken from the environment's RASHPA_TOKEN, the password of an encrypted --key from RASHPA_KEY_PASSWORD. One line of JSON
    with the URL is printed when the node is ready.
    """
    if measure:
        from rashpa.cli.node.measure import measure_pipelines  # plans and their tables, which no run asks a node for

        measure_pipelines(measure, measure_seconds, measured, files_too=measure_files)
        return
    listen = Listen(host, port, "", certificate, key, with_parent or of_run, lease, tuple(alias or ()))
    if kernels is not None and not kernels.is_dir():
        sys.stderr.write(f"rashpa receiver: --kernels {kernels}: there is no such folder\n")
        raise typer.Exit(ExitCode.BAD_INPUT)
    try:
        folders = Folders(
            read or [Path.cwd()], write or [Path.cwd()], kernels, card or (), feedback=feedback, publish=publish or ()
        )
    except ValueError as error:
        sys.stderr.write(f"rashpa receiver: --publish: {error}\n")
        raise typer.Exit(ExitCode.BAD_INPUT) from None
    records = Records(log_level, log_file, log_format, audit_file)
    _serve("receiver", name, listen, link_gbps, folders, of_run, records, measured)


def _native_factory(role: str, link_bytes_per_s: int, folders: Folders, measured: Path | None) -> "NativeFactory":
    try:
        from rashpa.node.engine.native_engine import NativeFactory
        from rashpa.node.offline.measured_file import default_path, load_measured
    except ImportError as error:
        raise EngineError(
            "internal", f"the compiled part of rashpa cannot be loaded ({with_limit(error)}); build it with `make`"
        ) from None
    known: tuple[Throughput, ...] = ()
    if role == "receiver":
        try:
            known = load_measured(measured or default_path())
        except EngineError as error:
            sys.stderr.write(f"rashpa receiver: caution: {error}\n")
    return NativeFactory(role, link_bytes_per_s, folders, known)


@dataclasses.dataclass(frozen=True)
class Records:
    """Says which entries the log keeps, and the files of log and audit."""

    level: str
    log_file: Path | None
    log_format: Format
    audit_file: Path | None


def _serve(
    role: str,
    name: str,
    listen: Listen,
    link_gbps: float,
    folders: Folders,
    of_run: bool,
    wanted: Records,
    measured: Path | None = None,
) -> None:
    printed = drain_of_process()
    try:
        if of_run:
            grant = read_grant()
            token = grant.token
            if grant.certificate:
                listen = dataclasses.replace(listen, certificate=in_memory(grant.certificate), key=in_memory(grant.key))
            kernels = Path(grant.kernels) if grant.kernels else None
            folders = Folders(
                map(Path, grant.read), map(Path, grant.write), kernels, grant.cards, publish=grant.publish
            )
        else:
            token = token_of_environment()
            if not token:
                sys.stderr.write(
                    f"rashpa {role}: caution: no RASHPA_TOKEN is set; every user of this machine can give this node orders\n"
                )
        factory = _native_factory(role, int(link_gbps * 1e9 / 8), folders, measured)
        factory.set_log_level(wanted.level)
        own_name = name or f"{role}@{socket.gethostname()}"
        log = NodeLog(wanted.level, log_into(wanted.log_file, wanted.log_format) if wanted.log_file else None, own_name)
        audit = Audit(audit_into(wanted.audit_file) if wanted.audit_file else None)
        serve_node(
            role, own_name, factory, dataclasses.replace(listen, token=token), software_version(), log, audit, printed
        )
    except (EngineError, ServeError, TokenError) as error:
        sys.stderr.write(f"rashpa {role}: {error}\n")
        raise typer.Exit(ExitCode.BAD_INPUT) from None
