# SPDX-License-Identifier: Apache-2.0
"""`rashpa emulator`, `rashpa receiver`: a node that obeys a manager."""

import dataclasses
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rashpa.cli.node.node_options import NodeOptions
from rashpa.cli.option_fields import with_options
from rashpa.control.nodes.version import software_version
from rashpa.control.runfile.token import TokenError, token_of_environment
from rashpa.control.telegrams.telegram import Throughput
from rashpa.data.base.exit_code import ExitCode
from rashpa.data.base.limit_said import with_limit
from rashpa.data.stream.feedback import FEEDBACK_FOLDER
from rashpa.node.door.tls import in_memory
from rashpa.node.engine.engine import EngineError
from rashpa.node.engine.folders import Folders
from rashpa.node.host.printed import drain_of_process
from rashpa.node.logs.serve_error import ServeError
from rashpa.node.serve import read_grant, serve_node

if TYPE_CHECKING:
    from rashpa.node.engine.native_engine import NativeFactory

_Kernels = Annotated[
    Path | None,
    typer.Option(
        help="Folder of kernels from outside (shared objects, Python modules) that runs may name. Their code runs with all that this node may do; "
        "none when not given."
    ),
]
_Feedback = Annotated[Path, typer.Option(help="Folder of the rings in which runs publish what was decided.")]
_Publish = Annotated[
    list[str] | None,
    typer.Option(
        help="Address at which runs may publish by ZeroMQ, besides loopback; everyone who reaches it may read. Repeatable."
    ),
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
        help="Measure also how fast the buffers' files are written, with --measure, in a folder beside run.output that goes again.",
    ),
]
_MeasureSeconds = Annotated[
    float, typer.Option("--measure-seconds", min=0.1, help="How long each pipeline is measured on each unit.")
]
_Measured = Annotated[
    Path | None,
    typer.Option(
        help="File of the figures that --measure keeps, ~/.local/state/rashpa/measured.json when not given. Managers get them while hardware "
        "and software stay the same."
    ),
]


@with_options(NodeOptions, port=4780)
def emulator(options: NodeOptions) -> None:
    """Emulate a detector in software: play datasets to a receiver on the orders of a manager.

    The bearer token is taken from the environment's RASHPA_TOKEN, the password of an encrypted --key from RASHPA_KEY_PASSWORD. One line of JSON
    with the URL is printed when the node is ready.
    """
    _serve("emulator", options, Folders(options.readable(), options.writable(), cards=options.card or ()))


@with_options(NodeOptions, port=4781)
def receiver(
    options: NodeOptions,
    kernels: _Kernels = None,
    feedback: _Feedback = FEEDBACK_FOLDER,
    publish: _Publish = None,
    measure: _Measure = None,
    measure_seconds: _MeasureSeconds = 3.0,
    measure_files: _MeasureFiles = False,
    measured: _Measured = None,
) -> None:
    """Receive images into memory, correct, veto and store them on the orders of a manager.

    The bearer token is taken from the environment's RASHPA_TOKEN, the password of an encrypted --key from RASHPA_KEY_PASSWORD. One line of JSON
    with the URL is printed when the node is ready.
    """
    if measure:
        from rashpa.cli.node.measure import measure_pipelines  # plans and their tables, which no run asks a node for

        measure_pipelines(measure, measure_seconds, measured, files_too=measure_files)
        return
    if kernels is not None and not kernels.is_dir():
        sys.stderr.write(f"rashpa receiver: --kernels {kernels}: there is no such folder\n")
        raise typer.Exit(ExitCode.BAD_INPUT)
    try:
        folders = Folders(
            options.readable(),
            options.writable(),
            kernels,
            options.card or (),
            feedback=feedback,
            publish=publish or (),
        )
    except ValueError as error:
        sys.stderr.write(f"rashpa receiver: --publish: {error}\n")
        raise typer.Exit(ExitCode.BAD_INPUT) from None
    _serve("receiver", options, folders, measured)


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


def _serve(role: str, options: NodeOptions, folders: Folders, measured: Path | None = None) -> None:
    printed = drain_of_process()
    listen = options.listen()
    try:
        if options.of_run:
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
        factory = _native_factory(role, int(options.link_gbps * 1e9 / 8), folders, measured)
        factory.set_log_level(options.log_level)
        name = options.name or f"{role}@{socket.gethostname()}"
        listen = dataclasses.replace(listen, token=token)
        serve_node(role, name, factory, listen, software_version(), options.log(name), options.audit(), printed)
    except (EngineError, ServeError, TokenError) as error:
        sys.stderr.write(f"rashpa {role}: {error}\n")
        raise typer.Exit(ExitCode.BAD_INPUT) from None
