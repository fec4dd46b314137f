# SPDX-License-Identifier: Apache-2.0
"""`rashpa status [NODE…]`: shows the progress of nodes: states, books, rates, margins."""

import contextlib
import os
import sys
from dataclasses import asdict, dataclass, field

from rich.console import Group, RenderableType
from rich.text import Text

from rashpa.cli.fitted import Fitted
from rashpa.cli.run.watch import Authority, Every, Json, Nodes, Once, Watched, watch
from rashpa.cli.summary_text import summary_text
from rashpa.control.books.run_summary import SummaryFacts, summary_lines
from rashpa.control.nodes.node_client import NodeClient, NodeError
from rashpa.control.nodes.node_progress import Receiving, Sending, progress_of
from rashpa.control.nodes.standstill import Standstill
from rashpa.control.telegrams.telegram import Books, Status

_STYLES = {"running": "green", "fault": "red", "paused": "yellow"}
_LOW = 0.25  # share of free slots below which the sinks are about to hold up the sources
_LATE_S = 0.1
_MOST_PICTURES = 4


@dataclass(frozen=True)
class NodeStatus:
    """Holds a snapshot of one node. `parts`: an emulator, or the buffers of a receiver; `standing`: the places at which nothing moves."""

    node: str
    role: str
    state: str
    holder: str
    message: str
    parts: tuple[Sending | Receiving, ...]
    standing: tuple[str, ...]
    said: Status = field(repr=False)
    watch: Standstill = field(repr=False)


def status(
    nodes: Nodes = None, authority: Authority = "", every: Every = 1.0, once: Once = False, json: Json = False
) -> None:
    """Show the progress of nodes: state, books, rates and margins, live.

    `margin` of an emulator is its longest delay behind the planned rate; `margin` of a buffer is the share of its slots that are free. The bearer
    token is taken from the environment's RASHPA_TOKEN.
    """
    watch("status", nodes or (), authority, every, once, json, _look, _drawn, _show_image)


async def _show_image(nodes: list[Watched[NodeStatus]]) -> None:
    """Show the newest image of the first buffer, on a terminal that can show pictures."""
    if not sys.stdout.isatty():
        return
    from rashpa.cli.terminal_picture import protocol_of, show_picture  # PIL, for a picture alone

    protocol = protocol_of(sys.stdout, os.environ)
    for node in nodes if protocol else ():
        for part in node.view.parts if node.view is not None and not node.problem else ():
            if isinstance(part, Receiving):
                with contextlib.suppress(NodeError):
                    if protocol and (png := await node.client.preview(part.name)) is not None:
                        show_picture(png, protocol)
                return


async def _look(client: NodeClient, before: NodeStatus | None) -> NodeStatus:
    now = await client.status()
    parts = progress_of(before.said if before else None, now)
    standstill = before.watch if before else Standstill()
    standing = standstill.look(now)
    return NodeStatus(now.node, now.role, now.state, now.holder, now.message, parts, standing, now, standstill)


def _drawn(nodes: list[Watched[NodeStatus]]) -> RenderableType:
    """Return the summary of all buffers, and a row for each part."""
    known = [node.view for node in nodes if node.view is not None and not node.problem]
    parts = [part for view in known for part in view.parts]
    receiving = [part for part in parts if isinstance(part, Receiving)]
    if not receiving:
        return _table(nodes)
    books = sum((part.books for part in receiving), Books())
    asked = [part.asked_hz for part in parts if isinstance(part, Sending)]
    facts = SummaryFacts(
        ", ".join(dict.fromkeys(view.state for view in known)),
        None,
        asdict(books),
        max(part.images_per_s for part in receiving),  # of a buffer that leaves out none
        max(asked, default=None),
    )
    return Group(summary_text(summary_lines(facts)), _table(nodes))


def _table(nodes: list[Watched[NodeStatus]]) -> Fitted:
    table = Fitted("node", "state", "of", title="nodes", title_justify="left", heads=3)
    for name in ("done", "complete", "partial", "missing", "accepted", "vetoed", "errored", "written", "images/s", "Gb/s", "margin"):  # fmt: skip
        table.add_column(name, justify="right")
    for node in nodes:
        _add_node(table, node)
    seen = [line for node in nodes for line in _pictures(node)][:_MOST_PICTURES]
    if seen:
        table.caption = "\n".join(["newest accepted images, as PNG:", *seen])
        table.caption_justify = "left"
    return table


def _pictures(node: Watched[NodeStatus]) -> list[str]:
    """Return the URLs of pictures of the images that a node receives, for a browser or curl."""
    parts = node.view.parts if node.view is not None and not node.problem else ()
    return [f"{node.client.url}/preview?buffer={part.name}" for part in parts if isinstance(part, Receiving)]


def _add_node(table: Fitted, node: Watched[NodeStatus]) -> None:
    if node.problem or node.view is None:
        table.add_row(Text(node.client.name), Text("lost", "red"))
        return
    known = node.view
    head = (Text(known.node), Text(known.state, _STYLES.get(known.state, "")))
    if not known.parts:
        table.add_row(*head, Text(known.message or known.holder))
    for part in known.parts:
        table.add_row(*head, *(_sending(part) if isinstance(part, Sending) else _receiving(part)))
        head = (Text(""), Text(""))
    for text in known.standing:
        table.add_row(*head, Text(text, "bold red"))
    if known.parts and known.message:
        table.add_row(*head, Text(known.message, "red" if known.state == "fault" else ""))


def _sending(part: Sending) -> tuple[Text, ...]:
    skipped = f", {part.images_skipped:,} skipped" if part.images_skipped else ""
    late = Text(f"{part.late_s:.3f} s late", "yellow" if part.late_s > _LATE_S else "") if part.asked_hz else Text("")
    return (
        Text(f"{part.dtps} DTPs"),
        Text(f"{part.images_sent:,} sent{skipped}"),
        *(Text("") for _ in range(7)),
        Text(f"{part.images_per_s:,.0f}"),
        Text(f"{part.bytes_per_s * 8e-9:.2f}"),
        late,
    )


def _receiving(part: Receiving) -> tuple[Text, ...]:
    books = part.books
    return (
        Text(f"buffer {part.name}"),
        Text(f"{part.done:.1%}"),
        Text(f"{books.complete:,}"),
        *(Text(f"{value:,}", "yellow" if value else "") for value in (books.partial, books.missing)),
        Text(f"{books.accepted:,}"),
        Text(f"{books.vetoed:,}"),
        Text(f"{books.errored:,}", "red" if books.errored else ""),
        Text(f"{books.written:,}"),
        Text(f"{part.images_per_s:,.0f}"),
        Text(f"{part.stored_bytes_per_s * 8e-9:.2f}"),
        Text(
            "" if part.free_slots is None else f"{part.free_slots:.0%} free",
            "yellow" if (part.free_slots or 1) < _LOW else "",
        ),
    )
