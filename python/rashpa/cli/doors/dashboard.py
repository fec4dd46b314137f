# SPDX-License-Identifier: Apache-2.0
"""`rashpa dashboard [RUN FILE]`: a web page that shows a run and takes orders for it."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from rashpa.cli.completion import run_files
from rashpa.control.nodes.node_client import NodeError
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.control.runfile.token import TokenError, new_token, token_of_environment
from rashpa.data.base.exit_code import ExitCode
from rashpa.node.door.tls import tls_context
from rashpa.node.logs.serve_error import ServeError
from rashpa.node.serve import Listen

_File = Annotated[
    Path | None,
    typer.Argument(
        help="Run file whose runs are shown, and started; the nodes at their usual ports of this machine when not given.",
        show_default=False,
        autocompletion=run_files,
    ),
]
_Host = Annotated[str, typer.Option(help="Address to listen on. Any other than loopback needs a token and TLS.")]
_Alias = Annotated[
    list[str] | None,
    typer.Option(
        help="Another name by which browsers address this machine; repeatable. Its name and --host are known."
    ),
]
_Public = Annotated[
    str,
    typer.Option(
        help="Address at which a reverse proxy has the page, such as https://beamline.example/rashpa; the proxy keeps the path."
    ),
]
_Authority = Annotated[
    str,
    typer.Option(
        help="Certificate file that nodes are checked against; the system's, or the run file's, when not given."
    ),
]
_Reports = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="Folder of the reports of past runs, and of those that the page starts; run.output when not given.",
    ),
]
_Templates = Annotated[
    Path | None,
    typer.Option(help="Folder of run files that the page offers as templates of the next run."),
]


def dashboard(
    file: _File = None,
    host: _Host = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page; 0: any free one.")] = 4790,
    certificate: Annotated[Path | None, typer.Option(help="TLS certificate, PEM.")] = None,
    key: Annotated[Path | None, typer.Option(help="TLS key, PEM.")] = None,
    alias: _Alias = None,
    public: _Public = "",
    authority: _Authority = "",
    reports: _Reports = None,
    templates: _Templates = None,
) -> None:
    """Show a run in a browser while it lasts: books, rates, margins, nodes, hits, vetoes, latencies, and the image; start, pause, stop and abort it.

    The printed address has a token for reading. Orders need another token: RASHPA_TOKEN of the environment, or the one that is printed here.
    Listening on a network needs TLS. The dashboard asks nodes only while a page is open. It asks for the next image when a browser has drawn the last
    one.
    """
    try:
        token = token_of_environment()
        Listen(host, port, token, certificate, key).check()
        secure = tls_context(certificate, key) if certificate and key else None
        plan = load_plan(file) if file is not None else None
        # half of a command's start, for those who want it
        from rashpa.dashboard.gate import public_of
        from rashpa.dashboard.keys import Keys
        from rashpa.dashboard.nodes import USUAL, Nodes
        from rashpa.dashboard.orders import Starter
        from rashpa.dashboard.serve import Place, serve
        from rashpa.dashboard.settings.next_run import NextRun

        nodes = Nodes(plan, USUAL, token, authority)
        folder = reports or (plan.file.run.folder if plan is not None else Path())
        own = token or new_token()
        starter = Starter(plan, folder, token)

        def ready(url: str) -> None:
            typer.echo(f"dashboard: {url}")
            if not token:
                typer.echo(f"token for orders: {own}")
            sys.stdout.flush()

        keys = Keys(own)
        asyncio.run(
            serve(
                Place(host, port, secure, tuple(alias or ()), public_of(public) if public else None),
                nodes,
                keys,
                starter,
                [folder],
                ready,
                NextRun(plan, templates) if plan is not None else None,
            )
        )
    except (ServeError, TokenError, RunFileError, NodeError, OSError) as error:
        sys.stderr.write(f"rashpa dashboard: {error}\n")
        raise typer.Exit(ExitCode.BAD_INPUT) from None
