# SPDX-License-Identifier: Apache-2.0
"""The options that emulator and receiver share: one dataclass, whose fields are options of both commands."""

import dataclasses
from pathlib import Path
from typing import Annotated, Literal

import typer

from rashpa.node.door.audit import Audit, audit_into
from rashpa.node.logs.log import NodeLog
from rashpa.node.logs.log_file import log_into
from rashpa.node.serve import Listen


@dataclasses.dataclass(frozen=True)
class NodeOptions:
    """Holds the options of a node of any role, with their texts for `--help`. A command gives the default of the port."""

    name: Annotated[
        str, typer.Option(help="How the node calls itself in messages; the machine's name when not given.")
    ] = ""
    host: Annotated[str, typer.Option(help="Address to listen on. Any other than loopback needs a token and TLS.")] = (
        "127.0.0.1"
    )
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the control link; 0: any free one.")] = 0
    certificate: Annotated[Path | None, typer.Option(help="TLS certificate, PEM.")] = None
    key: Annotated[Path | None, typer.Option(help="TLS key, PEM.")] = None
    link_gbps: Annotated[
        float,
        typer.Option(min=0.0, help="Capacity of the data link, Gb/s; 0: not known, plans are not checked against it."),
    ] = 0.0
    read: Annotated[
        list[Path] | None,
        typer.Option(
            help="Folder, or file, from which datasets and calibration may be read; repeatable. The current folder when not given."
        ),
    ] = None
    write: Annotated[
        list[Path] | None,
        typer.Option(help="Folder below which output may be written; repeatable. The current folder when not given."),
    ] = None
    card: Annotated[
        list[str] | None,
        typer.Option(
            help='Directory of a card\'s nodes (/dev of a real one) that runs may name as `card`; "sim": runs may have cards simulated here, a process '
            "each. Repeatable; none when not given."
        ),
    ] = None
    alias: Annotated[
        list[str] | None,
        typer.Option(
            help="Another name by which managers address this node; repeatable. Its addresses and --host are known."
        ),
    ] = None
    lease: Annotated[
        float,
        typer.Option(
            min=2.0, help="Seconds without a word of its manager after which the node ends the run and is free."
        ),
    ] = 10.0
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        typer.Option(help="Lowest level that the node's log keeps. debug has the place of each DTP and thread."),
    ] = "info"
    log_file: Annotated[
        Path | None,
        typer.Option(help="File that the log is written to besides, 10 MB at most; two older ones are kept beside it"),
    ] = None
    log_format: Annotated[
        Literal["text", "json"],
        typer.Option(
            help="Form of that file: lines for people, or one JSON document a line, with node, run, DTP, module and frame."
        ),
    ] = "text"
    audit_file: Annotated[
        Path | None,
        typer.Option(
            help="File with the sender and the answer of each order, a JSON document a line; 10 MB at most, two older ones are kept"
        ),
    ] = None
    with_parent: Annotated[
        bool, typer.Option("--with-parent", hidden=True, help="End when standard input is closed.")
    ] = False
    of_run: Annotated[
        bool,
        typer.Option(
            "--of-run", hidden=True, help="The same as --with-parent; token and folders come on standard input."
        ),
    ] = False

    def listen(self) -> Listen:
        """Return the place at which the node listens, without a token."""
        with_parent = self.with_parent or self.of_run
        aliases = tuple(self.alias or ())
        return Listen(self.host, self.port, "", self.certificate, self.key, with_parent, self.lease, aliases)

    def readable(self) -> list[Path]:
        """Return the folders and files that the node may read."""
        return self.read or [Path.cwd()]

    def writable(self) -> list[Path]:
        """Return the folders below which the node may write."""
        return self.write or [Path.cwd()]

    def log(self, node: str) -> NodeLog:
        """Return the log of the node. Raise ServeError when its file cannot be written."""
        return NodeLog(self.log_level, log_into(self.log_file, self.log_format) if self.log_file else None, node)

    def audit(self) -> Audit:
        """Return the record of orders. Raise ServeError when its file cannot be written."""
        return Audit(audit_into(self.audit_file) if self.audit_file else None)
