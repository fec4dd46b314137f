# SPDX-License-Identifier: Apache-2.0
"""What `rashpa run` shows: a progress bar a receiver with rates and books while it lasts, a table at the end."""

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from rashpa.control.outcome import Outcome, keeps_of, simulates
from rashpa.control.outcome import Progress as RunProgress
from rashpa.control.run_plan import Plan
from rashpa.control.telegram import Books, DestinationStatus, Status, count_of

_SAY_EVERY_S = 5.0
_BOOKS = ("expected", "complete", "partial", "missing", "accepted", "vetoed", "errored", "written")


class RunDisplay:
    """The progress bars of one run, one a receiver; `show` is the manager's observer."""

    def __init__(self, console: Console, plan: Plan, quiet: bool) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TaskProgressColumn(),
            TextColumn("{task.fields[rates]}"),
            TextColumn("{task.fields[books]}"),
            TimeElapsedColumn(),
        )
        self._bar = Progress(*columns, console=console, disable=quiet, transient=True)
        self._names = {receiver.name: receiver.shown_name for receiver in plan.receivers}
        self._tasks = {
            name: self._bar.add_task(
                "",
                total=None if plan.file.run.open_ended else sum(buffer.images for buffer in plan.buffers_of(name)),
                rates="",
                books="",
            )
            for name in self._names
        }
        self._console = console
        self._tells = not quiet and not console.is_terminal  # a bar that nobody sees moving is told in lines
        self._writing: dict[str, tuple[float, int]] = {}  # when a line was due last, and the images then
        self._last = dict.fromkeys(self._names, (time.monotonic(), 0, 0))

    def __enter__(self) -> "RunDisplay":
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def show(self, progress: RunProgress) -> None:
        """Draws what the manager knows."""
        for name in progress.receivers:
            if name not in self._tasks:  # it has joined
                self._names[name] = name
                self._tasks[name] = self._bar.add_task("", total=None, rates="", books="")
                self._last[name] = (time.monotonic(), 0, 0)
        for name in self._tasks:
            simulated = simulates(status.source for status in progress.emulators.values() if status.source)
            self._show_receiver(name, progress.phase, progress.receivers.get(name), simulated)

    def _show_receiver(self, name: str, phase: str, status: Status | None, simulated: bool) -> None:
        description = f"{phase} {self._names[name]}".rstrip()
        destination = status.destination if status else None
        if destination is None:
            self._bar.update(self._tasks[name], description=description)
            return
        books = sum((buffer.books for buffer in destination.buffers), Books())
        decided, arrived = books.decided, books.arrived
        payload = count_of(destination.counts, "link").get("payload_bytes", 0)
        now = time.monotonic()
        then, arrived_then, payload_then = self._last[name]
        self._last[name] = (now, arrived, payload)
        seconds = max(now - then, 1e-3)
        rates = f"{(arrived - arrived_then) / seconds:7.0f} images/s"
        rates += " (simulated)" if simulated else f" {(payload - payload_then) / seconds / 1e9:5.2f} GB/s"
        lost = (
            f", [red]{books.partial} partial, {books.missing} missing[/red]" if books.partial or books.missing else ""
        )
        if phase == "finishing":
            self._show_writing(name, destination, status.state if status else "", rates)
            return
        kept = f"{books.complete} complete{lost}, {books.accepted} kept, {books.vetoed} vetoed"
        self._bar.update(self._tasks[name], description=description, completed=decided, rates=rates, books=kept)

    def _show_writing(self, name: str, destination: DestinationStatus, state: str, rates: str) -> None:
        """The sinks' part of the end: how far they are, also where no bar can be drawn."""
        books = sum((buffer.books for buffer in destination.buffers), Books())
        to_write = sum(buffer.to_write for buffer in destination.buffers)
        named = f" {self._names[name]}".rstrip()
        now = time.monotonic()
        then, decided_then = self._writing.setdefault(name, (now, books.decided))
        if to_write:
            rate = (books.decided - decided_then) / max(now - then, 1e-3)
            said = f"writing{named}: {books.decided} of {books.expected} images, {to_write} wait, {rate:.1f} images/s"
        else:
            said = (
                f"finishing{named}: {books.decided} of {books.expected} images are through, files are being completed"
            )
        self._bar.update(self._tasks[name], description=said, completed=books.decided, rates=rates, books="")
        if state != "finished" and now - then >= _SAY_EVERY_S:
            self._writing[name] = (now, books.decided)
            if self._tells:
                self._console.print(said, markup=False, highlight=False, soft_wrap=True)


def print_outcome(console: Console, outcome: Outcome) -> None:
    """The closing tables: books by buffer, latencies, what was injected and whether it explains the books."""
    buffers = [(buffer.name, buffer.books) for buffer in outcome.buffers]
    if len(buffers) > 1:
        buffers.append(("all", outcome.books))
    receivers = outcome.plan.shown_receivers
    table = Table(title=f"run {outcome.plan.file.run.name}: the books", title_justify="left")
    table.add_column("images")
    for name, _ in buffers:
        table.add_column(name, justify="right")
    if any(receivers.values()):
        table.add_row("receiver", *(receivers.get(name, "") for name, _ in buffers))
        table.add_section()
    for entry in _BOOKS:
        table.add_row(entry, *(f"{getattr(books, entry):,}" for _, books in buffers))
    table.add_section()
    table.add_row("balanced", *("[green]yes[/green]" if books.balanced else "[red]NO[/red]" for _, books in buffers))
    console.print(table)
    _print_groups(console, outcome)
    _print_sinks(console, outcome)
    _print_latencies(console, outcome)
    _print_rates(console, outcome)
    _print_faults(console, outcome)
    for buffer in outcome.buffers:
        if buffer.unit_error:
            console.print(f"buffer {buffer.name}: {buffer.unit_error}", style="red", markup=False, soft_wrap=True)


def _print_groups(console: Console, outcome: Outcome) -> None:
    """The books of each group: a line a member, and the sum."""
    columns = ("group", "dealt", "complete", "partial", "missing", "counted", "duplicates", "resent")
    for group in outcome.groups:
        table = Table(title=f"group {group.name}: each image once", title_justify="left")
        for column in columns:
            table.add_column(column, justify="left" if column == "group" else "right")
        for member in group.members:
            notes = [f"joined after {member.joined_s:.1f} s"] if member.joined_s is not None else []
            notes += [f"lost after {member.lost.after_s:.1f} s"] if member.lost else []
            name = f"{member.name} ({', '.join(notes)})" if notes else member.name
            table.add_row(name, *(f"{getattr(member, column):,}" for column in columns[1:]))
        table.add_section()
        sums = (
            group.complete,
            group.partial,
            group.missing,
            group.images - group.missing,
            group.duplicates,
            group.resent,
        )
        table.add_row(f"{group.images:,} images", "", *(f"{value:,}" for value in sums))
        console.print(table)


def _print_sinks(console: Console, outcome: Outcome) -> None:
    """The books of each sink, and what it does with images."""
    table = Table(title="sinks: images", title_justify="left")
    for column in ("buffer", "sink", "keeps", "accepted", "written", "dropped", "errored"):
        table.add_column(column, justify="left" if column in {"buffer", "sink", "keeps"} else "right")
    kinds = {buffer.section.name: [sink.kind for sink in buffer.section.sink] for buffer in outcome.plan.buffers}
    for buffer in outcome.buffers:
        for kind, sink in zip(kinds[buffer.name], buffer.sinks, strict=False):
            counts = (sink.accepted, sink.written, sink.dropped, sink.errored)
            table.add_row(buffer.name, sink.name, keeps_of(kind), *(f"{count:,}" for count in counts))
    if table.row_count:
        console.print(table)
    for buffer in outcome.buffers:
        if buffer.sinks and set(kinds[buffer.name]) == {"null"}:
            text = f"buffer {buffer.name}: nothing was stored; its sink null only counts"
            console.print(text, style="yellow", markup=False, highlight=False, soft_wrap=True)
        for sink in buffer.sinks:
            if sink.dropped:
                text = (
                    f"buffer {buffer.name}: sink {sink.name} was behind and did not get {sink.dropped} of {sink.accepted} images "
                    '(on_full = "drop")'
                )
                console.print(text, style="yellow", markup=False, highlight=False, soft_wrap=True)


def _print_latencies(console: Console, outcome: Outcome) -> None:
    title = "latency of each stage, µs: last packet → ready → decision → written; last packet → published, → sent"
    table = Table(title=title, title_justify="left")
    for column in ("buffer", "until", "count", "p50", "p99", "max"):
        table.add_column(column, justify="left" if column in {"buffer", "until"} else "right")
    for buffer in outcome.buffers:
        for latency in (one for one in buffer.latencies if one.count):
            figures = (f"{value:,.0f}" for value in (latency.p50, latency.p99, latency.max))
            table.add_row(buffer.name, latency.stage, f"{latency.count:,}", *figures)
    if table.row_count:
        console.print(table)
    for buffer in outcome.buffers:
        if (feedback := buffer.feedback) and (feedback.dropped or feedback.full):
            text = (
                f"buffer {buffer.name}: feedback by ZeroMQ was behind: {feedback.dropped} of {feedback.published} images were not sent, "
                f"{feedback.full} times a subscriber had no room"
            )
            console.print(text, style="yellow", markup=False, highlight=False, soft_wrap=True)


def _print_rates(console: Console, outcome: Outcome) -> None:
    rates = outcome.rates
    speed = "" if rates.payload_gb_per_s is None else f"{rates.payload_gb_per_s:.2f} GB/s of pixels, "
    console.print(
        f"{rates.frames_per_s:,.0f} frames/s of the detector, {rates.images_per_s:,.0f} images/s into all buffers, "
        f"{speed}in {rates.elapsed_s:.2f} s",
        highlight=False,
    )
    for name, counts in outcome.cards.items():
        console.print(_card_line(name, counts), highlight=False, soft_wrap=True)
    if caution := _rate_caution(outcome):
        console.print(f"caution: {caution}", style="yellow", highlight=False, soft_wrap=True)


def _card_line(name: str, counts: dict[str, int]) -> str:
    """Where the cycles of a card went."""
    cycles = counts["cycles"]
    waits = ", ".join(f"{counts[f'wait_{what}'] / max(cycles, 1):.0%} {what}" for what in ("credit", "memory", "wire"))
    said = f"{name}: {counts['images']:,} images of DTPs in {cycles:,} cycles of the card; waits: {waits}"
    if counts["clock_khz"] == 0:
        return f"{said}. The card is simulated: seconds say nothing of a real one"
    return f"{said}; {counts['clock_khz'] / 1000:.1f} MHz"


def _rate_caution(outcome: Outcome) -> str:
    """What is to be said of a run that was slower than planned; empty when it was not, or did not come to its regular end."""
    planned, rates, books = outcome.plan.file.detector.rate_hz, outcome.rates, outcome.books
    if planned <= 0 or rates.frames_per_s >= 0.9 * planned or outcome.problem:
        return ""
    came = f"{planned:g} Hz were planned; {rates.frames_per_s:.0f} frames/s came"
    emulators = f"the emulator{'' if len(outcome.plan.emulators) == 1 else 's'}"
    lost = ", ".join(
        f"{count:,} {what}"
        for count, what in (
            (books.missing, "images are missing"),
            (books.partial, "images are partial"),
            (outcome.images_skipped, f"images of DTPs were skipped by {emulators}"),
        )
        if count
    )
    return f"{came}: {lost}" if lost else f"{came}. Nothing was lost: {emulators} waited"


def _print_faults(console: Console, outcome: Outcome) -> None:
    injected = {name: value for name, value in outcome.injected.items() if value}
    if injected:
        console.print(
            f"injected: {', '.join(f'{value:,} {name}' for name, value in injected.items())}", highlight=False
        )
    if outcome.accounts and outcome.unexplained == 0:
        console.print("every image is as the emulator's log says: 0 unexplained", style="green")
