"""`rashpa emulator`, `rashpa receiver`: a node that obeys a manager."""

import os
import socket
import sys
from pathlib import Path
from typing import Annotated

import typer

from rashpa.control.version import software_version
from rashpa.node.engine import EngineError
from rashpa.node.native_engine import NativeFactory
from rashpa.node.serve import Listen, ServeError, serve_node

_Name = Annotated[str, typer.Option(help="How the node calls itself in messages; the machine's name when not given.")]
_Host = Annotated[str, typer.Option(help="Address to listen on. Any other than loopback needs a token and TLS.")]
_Port = Annotated[int, typer.Option(min=0, max=65535, help="Port of the control link; 0: any free one.")]
_Certificate = Annotated[Path | None, typer.Option(help="TLS certificate, PEM.")]
_Key = Annotated[Path | None, typer.Option(help="TLS key, PEM.")]
_LinkGbps = Annotated[
    float,
    typer.Option(min=0.0, help="What the data link carries, Gb/s; 0: not known, plans are not checked against it."),
]
_WithParent = Annotated[bool, typer.Option("--with-parent", hidden=True, help="End when standard input is closed.")]

_DEFAULT_PORT = {"emulator": 4780, "receiver": 4781}


def emulator(
    name: _Name = "",
    host: _Host = "127.0.0.1",
    port: _Port = _DEFAULT_PORT["emulator"],
    certificate: _Certificate = None,
    key: _Key = None,
    link_gbps: _LinkGbps = 0.0,
    with_parent: _WithParent = False,
) -> None:
    """A detector in software: plays datasets to a receiver when a manager says so.

    The bearer token is taken from the environment's RASHPA_TOKEN. One line of JSON with the URL is printed when the node is ready.
    """
    _serve(
        "emulator",
        name,
        Listen(host, port, os.environ.get("RASHPA_TOKEN", ""), certificate, key, with_parent),
        link_gbps,
    )


def receiver(
    name: _Name = "",
    host: _Host = "127.0.0.1",
    port: _Port = _DEFAULT_PORT["receiver"],
    certificate: _Certificate = None,
    key: _Key = None,
    link_gbps: _LinkGbps = 0.0,
    with_parent: _WithParent = False,
) -> None:
    """Takes images into memory, corrects, vetoes and stores them when a manager says so.

    The bearer token is taken from the environment's RASHPA_TOKEN. One line of JSON with the URL is printed when the node is ready.
    """
    _serve(
        "receiver",
        name,
        Listen(host, port, os.environ.get("RASHPA_TOKEN", ""), certificate, key, with_parent),
        link_gbps,
    )


def _serve(role: str, name: str, listen: Listen, link_gbps: float) -> None:
    try:
        factory = NativeFactory(role, int(link_gbps * 1e9 / 8))
        serve_node(role, name or f"{role}@{socket.gethostname()}", factory, listen, software_version())
    except (EngineError, ServeError) as error:
        sys.stderr.write(f"rashpa {role}: {error}\n")
        raise typer.Exit(2) from None
