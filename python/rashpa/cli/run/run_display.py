# SPDX-License-Identifier: Apache-2.0
"""Displays a run of `rashpa run`: one progress bar for each receiver, with rate, hits and time left, and tables at the end."""

import time
from collections.abc import Iterator
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from rashpa.cli.run.host_causes import host_causes
from rashpa.cli.run.pace import SAY_EVERY_S, GroupPace
from rashpa.cli.titled import Titled
from rashpa.control.books.outcome import Outcome, keeps_of, simulates
from rashpa.control.books.outcome import Progress as RunProgress
from rashpa.control.nodes.pace import Pace, clock_of
from rashpa.control.plan.model import Plan
from rashpa.control.telegrams.telegram import Books, BufferStatus, DestinationStatus, SinkStatus, Status, count_of

_BOOKS = ("expected", "complete", "partial", "missing", "accepted", "vetoed", "errored", "written")


class RunDisplay:
    """Draws one progress bar for each receiver of a run, or prints lines where the output is no terminal. `show` is the manager's observer."""

    def __init__(self, console: Console, plan: Plan, quiet: bool) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=16),
            TaskProgressColumn(),
            TextColumn("{task.fields[said]}"),
        )
        self._bar = Progress(*columns, console=console, disable=quiet or not console.is_terminal, transient=True)
        self._names = {receiver.name: receiver.shown_name for receiver in plan.receivers}
        self._open_ended = plan.file.run.open_ended
        self._tasks = {name: self._bar.add_task("", total=self._total_of(plan, name), said="") for name in self._names}
        self._paces = {name: Pace() for name in self._names}
        self._groups = [GroupPace(plan, group) for group in plan.groups]
        self._console = console
        self._tells = not quiet and not console.is_terminal  # a bar that nobody sees moving is told in lines
        self._told: dict[str, float] = {}  # when of each bar a line was told last
        self._began = time.monotonic()
        self._busy: set[str] = set()  # buffers of which it was said that a step does not end

    def _total_of(self, plan: Plan, receiver: str) -> float | None:
        return None if self._open_ended else sum(buffer.images for buffer in plan.buffers_of(receiver))

    def __enter__(self) -> "RunDisplay":
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def show(self, progress: RunProgress) -> None:
        """Draw the progress that the manager reports."""
        if progress.phase.startswith("configuring the emulator"):
            self._show_preparing(progress)
            return
        for name in progress.receivers:
            if name not in self._tasks:  # it has joined
                self._names[name] = name
                self._tasks[name] = self._bar.add_task("", total=None, said="")
                self._paces[name] = Pace()
                if len(self._groups) == 1:  # of several nobody says here which one has taken it in
                    self._groups[0].members.add(name)
        for group in self._groups:
            group.look(progress.receivers)
        simulated = simulates(status.source for status in progress.emulators.values() if status.source)
        for name in self._tasks:
            self._show_receiver(name, progress.phase, progress.receivers.get(name), simulated)

    def _show_preparing(self, progress: RunProgress) -> None:
        """Show the share of the datasets that is in memory; of several emulators, the smallest share."""
        shares = [status.prepared for status in progress.emulators.values()]
        share = min(shares, default=0.0)
        for name, task in self._tasks.items():
            total = self._bar.tasks[task].total
            done = share * total if total else 0
            self._draw(name, progress.phase, done, f"{share:.0%}" if total is None else "")
            break  # one line: later steps have not begun
        self._say("", f"{progress.phase}: {share:.0%}")

    def _show_receiver(self, name: str, phase: str, status: Status | None, simulated: bool) -> None:
        description = f"{phase} {self._names[name]}".rstrip()
        destination = status.destination if status else None
        for buffer in destination.buffers if destination else ():
            self._say_busy(buffer)
        if destination is None:
            self._draw(name, description, 0, "")
            return
        books = sum((buffer.books for buffer in destination.buffers), Books())
        payload = count_of(destination.counts, "link").get("payload_bytes", 0)
        pace = self._paces[name]
        pace.look(destination.elapsed_s, books.decided, payload)
        if phase == "finishing":
            self._show_writing(name, destination, status.state if status else "", pace)
            return
        said = [f"{pace.images_per_s:,.0f} images/s"]
        said += ["(simulated)"] if simulated else [f"{pace.bytes_per_s / 1e9:.2f} GB/s"]
        if books.vetoed:
            said.append(f"{books.accepted / (books.accepted + books.vetoed):.1%} hits")
        if books.partial or books.missing:
            said.append(f"[red]{books.partial} partial, {books.missing} missing[/red]")
        group = next((one for one in self._groups if name in one.members), None)
        left = pace.left_s(books.expected) if group is None else group.left_s
        if not self._open_ended and left is not None:
            said.append(f"{clock_of(left)} left")
        self._draw(name, description, books.decided, ", ".join(said))
        if self._open_ended:
            how_far = f"{books.decided:,} images"
        elif group is not None:  # a member expects the images that it was dealt until now
            how_far = f"{books.decided:,} images of {group.said}"
        else:
            how_far = f"{books.decided:,} of {books.expected:,} images"
            how_far += f" ({books.decided / books.expected:.0%})" if books.expected else ""
        self._say(name, f"{description}: {how_far}, {', '.join(said)}")

    def _show_writing(self, name: str, destination: DestinationStatus, state: str, pace: "Pace") -> None:
        """Show the progress of the sinks at the end of a run, with lines where no bar can be drawn."""
        books = sum((buffer.books for buffer in destination.buffers), Books())
        to_write = sum(buffer.to_write for buffer in destination.buffers)
        named = f" {self._names[name]}".rstrip()
        if to_write:
            said = f"writing{named}: {books.decided} of {books.expected} images, {to_write} wait, {pace.images_per_s:.1f} images/s"
        else:
            said = (
                f"finishing{named}: {books.decided} of {books.expected} images are through, files are being completed"
            )
        self._draw(name, said, books.decided, "")
        if state != "finished":
            self._say(name, said)

    def _draw(self, name: str, description: str, completed: float, said: str) -> None:
        self._bar.update(self._tasks[name], description=description, completed=completed, said=said)

    def _say(self, name: str, line: str) -> None:
        """Print the line, at most once in a few seconds, where no bar is drawn."""
        now = time.monotonic()
        if now - self._told.get(name, self._began) < SAY_EVERY_S:
            return
        self._told[name] = now
        if self._tells:
            plain = line.replace("[red]", "").replace("[/red]", "")
            self._console.print(plain, markup=False, highlight=False, soft_wrap=True)

    def _say_busy(self, buffer: BufferStatus) -> None:
        """Print a line, once, for each step that hangs."""
        if bool(buffer.busy) == (buffer.name in self._busy):
            return
        if not buffer.busy:
            self._busy.discard(buffer.name)
            return
        self._busy.add(buffer.name)
        text = f"buffer {buffer.name}: {buffer.busy}"
        self._console.print(text, style="yellow", markup=False, highlight=False, soft_wrap=True)


def print_outcome(console: Console, outcome: Outcome) -> None:
    """Print the closing tables: books by buffer, latencies, injected faults and whether they explain the books."""
    buffers = [(buffer.name, buffer.books) for buffer in outcome.buffers]
    if len(buffers) > 1:
        buffers.append(("all", outcome.books))
    receivers = outcome.plan.shown_receivers
    table = Titled(f"run {outcome.plan.file.run.name}: the books")
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
    table.print(console)
    _print_groups(console, outcome)
    _print_sinks(console, outcome)
    _print_latencies(console, outcome)
    _print_rates(console, outcome)
    _print_faults(console, outcome)
    for line in host_causes(outcome):
        console.print(f"lost here, perhaps: {line}", style="yellow", markup=False, highlight=False, soft_wrap=True)
    for buffer in outcome.buffers:
        if buffer.unit_error:
            console.print(f"buffer {buffer.name}: {buffer.unit_error}", style="red", markup=False, soft_wrap=True)


def _print_groups(console: Console, outcome: Outcome) -> None:
    """Print the books of each group: a line for each member, and the sum."""
    columns = ("group", "dealt", "complete", "partial", "missing", "counted", "duplicates", "resent")
    for group in outcome.groups:
        table = Titled(f"group {group.name}: each image once")
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
        table.print(console)


def _print_sinks(console: Console, outcome: Outcome) -> None:
    """Print the books of each sink and its rules for images."""
    table = Titled("sinks: images")
    for column in ("buffer", "sink", "keeps", "accepted", "written", "dropped", "errored"):
        table.add_column(column, justify="left" if column in {"buffer", "sink", "keeps"} else "right")
    kinds = {buffer.section.name: [sink.kind for sink in buffer.section.sink] for buffer in outcome.plan.buffers}
    for buffer in outcome.buffers:
        for kind, sink in zip(kinds[buffer.name], buffer.sinks, strict=False):
            counts = (sink.accepted, sink.written, sink.dropped, sink.errored)
            table.add_row(buffer.name, sink.name, keeps_of(kind), *(f"{count:,}" for count in counts))
    if table.row_count:
        table.print(console)
    for buffer in outcome.buffers:
        if buffer.sinks and set(kinds[buffer.name]) == {"null"}:
            text = f"buffer {buffer.name}: nothing was stored; its sink null only counts"
            console.print(text, style="yellow", markup=False, highlight=False, soft_wrap=True)
        for sink in buffer.sinks:
            for line in _consumer_lines(sink):
                console.print(
                    f"buffer {buffer.name}: {line}", style="yellow", markup=False, highlight=False, soft_wrap=True
                )
            if sink.dropped and not sink.consumers:
                text = (
                    f"buffer {buffer.name}: sink {sink.name} was behind and did not get {sink.dropped} of {sink.accepted} images "
                    '(on_full = "drop")'
                )
                console.print(text, style="yellow", markup=False, highlight=False, soft_wrap=True)


def _consumer_lines(sink: SinkStatus) -> Iterator[str]:
    """Yield a line for each consumer that missed images of a sink."""
    if sink.restarts:
        yield f"sink {sink.name}: the process that sends to consumers has died {sink.restarts} times and came back; the log says by what"
    if sink.consumers and sink.dropped:
        yield f"sink {sink.name} had nobody for {sink.dropped} of {sink.accepted} images: no consumer was connected, or had room"
    for consumer in sink.consumers:
        if consumer.missed > sink.dropped:
            yield f"sink {sink.name}: the consumer at {consumer.endpoint} was behind or not there, and missed {consumer.missed} of {sink.accepted} images"


def _print_latencies(console: Console, outcome: Outcome) -> None:
    title = "latency of each stage, µs: last packet → ready → decision → written; last packet → published, → sent"
    table = Titled(title)
    for column in ("buffer", "until", "count", "p50", "p99", "max"):
        table.add_column(column, justify="left" if column in {"buffer", "until"} else "right")
    for buffer in outcome.buffers:
        for latency in (one for one in buffer.latencies if one.count):
            figures = (f"{value:,.0f}" for value in (latency.p50, latency.p99, latency.max))
            table.add_row(buffer.name, latency.stage, f"{latency.count:,}", *figures)
    if table.row_count:
        table.print(console)
    for buffer in outcome.buffers:
        if (feedback := buffer.feedback) and feedback.restarts:
            text = f"buffer {buffer.name}: the process that publishes feedback has died {feedback.restarts} times and came back; the log says by what"
            console.print(text, style="yellow", markup=False, highlight=False, soft_wrap=True)
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
    """Return the cycles of a card by cause, as one line of text."""
    cycles = counts["cycles"]
    waits = ", ".join(f"{counts[f'wait_{what}'] / max(cycles, 1):.0%} {what}" for what in ("credit", "memory", "wire"))
    said = f"{name}: {counts['images']:,} images of DTPs in {cycles:,} cycles of the card; waits: {waits}"
    if counts["clock_khz"] == 0:
        return f"{said}. The card is simulated: seconds say nothing of a real one"
    return f"{said}; {counts['clock_khz'] / 1000:.1f} MHz"


def _rate_caution(outcome: Outcome) -> str:
    """Return a caution for a run that was slower than planned; empty when it was fast enough or ended early."""
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
    if outcome.accounts and outcome.plan.emulators and outcome.unexplained == 0:
        console.print("every image is as the emulator's log says: 0 unexplained", style="green")
