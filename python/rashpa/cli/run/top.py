# SPDX-License-Identifier: Apache-2.0
"""`rashpa top [NODE…]`: shows the load of nodes on their machines, thread by thread."""

from dataclasses import dataclass, field
from typing import Annotated

import typer
from rich.text import Text

from rashpa.cli.fitted import Fitted
from rashpa.cli.run.watch import Authority, Every, Json, Nodes, Once, Watched, watch
from rashpa.control.nodes.node_client import NodeClient
from rashpa.control.nodes.node_load import Busy, Load, busy
from rashpa.control.nodes.node_progress import Receiving, Sending, progress_of
from rashpa.control.telegrams.telegram import Status

_BUSY = 0.9  # of a processor: the others wait for such a thread


@dataclass(frozen=True)
class NodeLoad:
    """Holds a snapshot of one node's load. `busy`: the number of processors that its process keeps busy, out of `processors`; `threads`: the busiest
    first; `queues`: the filled queues, as text."""

    node: str
    state: str
    busy: float
    processors: int
    resident_bytes: int
    open_files: int
    most_files: int
    queues: tuple[str, ...]
    bytes_per_s: float
    threads: tuple[Busy, ...]
    said: tuple[Load, Status] = field(repr=False)


def top(
    nodes: Nodes = None,
    authority: Authority = "",
    every: Every = 1.0,
    once: Once = False,
    json: Json = False,
    threads: Annotated[int, typer.Option(min=0, max=1000, help="Threads of a node that are shown, the busiest.")] = 5,
) -> None:
    """Show the load of nodes on their machines: processors, memory, files, queues and the busiest threads, live.

    A thread at 100 % of a processor limits its node. `rashpa status` shows the progress of the nodes. The bearer token is taken from the
    environment's RASHPA_TOKEN.
    """
    watch("top", nodes or (), authority, every, once, json, _look, lambda known: _table(known, threads))


async def _look(client: NodeClient, before: NodeLoad | None) -> NodeLoad:
    load, status = await client.load(), await client.status()
    parts = progress_of(before.said[1] if before else None, status)
    share, threads = busy(before.said[0] if before else None, load)
    return NodeLoad(
        node=status.node,
        state=status.state,
        busy=share,
        processors=load.processors,
        resident_bytes=load.resident_bytes,
        open_files=load.open_files,
        most_files=load.most_files,
        queues=tuple(_queue_of(part) for part in parts if isinstance(part, Receiving)),
        bytes_per_s=sum(part.bytes_per_s if isinstance(part, Sending) else part.stored_bytes_per_s for part in parts),
        threads=threads,
        said=(load, status),
    )


def _queue_of(part: Receiving) -> str:
    share = "" if part.free_slots is None else f" ({1 - part.free_slots:.0%})"
    return f"{part.name}: {part.to_write:,} slots{share}, sinks {part.waiting:,}"


def _table(nodes: list[Watched[NodeLoad]], threads: int) -> Fitted:
    table = Fitted("node", "state", title="load of nodes", title_justify="left", heads=2)
    for name in ("CPU", "of a processor", "on", "memory", "files", "queues", "Gb/s"):
        table.add_column(name, justify="left" if name == "queues" else "right")
    for node in nodes:
        if node.problem or node.view is None:
            table.add_row(Text(node.client.name), Text("lost", "red"))
            continue
        known = node.view
        table.add_row(
            Text(known.node),
            Text(known.state),
            f"{known.busy / known.processors:.0%} of {known.processors}",
            f"{known.busy:.0%}",
            "",
            f"{known.resident_bytes / 2**20:,.0f} MiB",
            f"{known.open_files} of {known.most_files}",
            Text("\n".join(known.queues)),
            f"{known.bytes_per_s * 8e-9:.2f}",
        )
        for thread in known.threads[:threads]:
            share = Text(f"{thread.processors:.0%}", "yellow" if thread.processors > _BUSY else "")
            table.add_row(Text(f"  {thread.name}"), "", "", share, str(thread.processor))
    return table
