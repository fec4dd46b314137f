# SPDX-License-Identifier: Apache-2.0
"""Converts the native module's counters to the form of telegrams."""

from rashpa import _native
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import Count


def counts_of(group: str, values: dict[str, int]) -> tuple[Count, ...]:
    """Return the counters in the form of telegrams, as members of `group`."""
    return tuple(Count(group=group, name=name, value=value) for name, value in values.items())


def source_dtp_status(dtp: _native.DtpSourceStatus) -> telegram.SourceDtpStatus:
    """Return the status of a DTP at the source."""
    return telegram.SourceDtpStatus(
        id=dtp.id,
        images_sent=dtp.images_sent,
        images_skipped=dtp.images_skipped,
        payload_bytes=dtp.payload_bytes,
        packets=dtp.packets,
        waits=dtp.waits,
        window_timeouts=dtp.window_timeouts,
        late_ns=dtp.late_ns,
        cnps_received=dtp.cnps_received,
        send_errors=dtp.send_errors,
        acks=dtp.acks,
        naks=dtp.naks,
        rnr_naks=dtp.rnr_naks,
        retransmitted_packets=dtp.retransmitted_packets,
        retransmission_timeouts=dtp.retransmission_timeouts,
        connection_errors=dtp.connection_errors,
        images_due=dtp.images_due,
        credits_refused=dtp.credits_refused,
        part_events=dtp.part_events,
    )


def _books_of(books: _native.Books) -> telegram.Books:
    return telegram.Books(
        expected=books.expected,
        complete=books.complete,
        partial=books.partial,
        missing=books.missing,
        accepted=books.accepted,
        vetoed=books.vetoed,
        errored=books.errored,
        written=books.written,
    )


def buffer_status(
    buffer: _native.BufferStatus, slots: int = 0, file: str = "", limits: tuple[telegram.LimitChange, ...] = ()
) -> telegram.BufferStatus:
    """Return the status of a buffer with its DTPs and sinks. `slots`: the number of its slots; `file`: its master; `limits`: the changes of its
    limits."""
    books = _books_of(buffer.books)
    latencies = tuple(
        telegram.Latency(
            stage=stage,
            count=latency.count,
            p50=latency.p50,
            p99=latency.p99,
            max=latency.max,
            sum=latency.sum,
            below=tuple(latency.below),
        )
        for stage, latency in buffer.latency.items()
    )
    dtps = tuple(
        telegram.DestinationDtpStatus(
            id=dtp.id,
            module=dtp.module,
            expected=dtp.expected,
            complete=dtp.complete,
            partial=dtp.partial,
            missing=dtp.missing,
            lines_missing=dtp.lines_missing,
            counts=counts_of("loss", dtp.losses),
        )
        for dtp in buffer.dtps
    )
    counts = counts_of("veto", buffer.vetoes) + counts_of("error", buffer.errors)
    return telegram.BufferStatus(
        name=buffer.name,
        sink_error=buffer.sink_error,
        unit=buffer.unit,
        unit_error=buffer.unit_error,
        bytes_written=buffer.bytes_written,
        bytes_stored=buffer.bytes_stored,
        books=books,
        counts=counts,
        latencies=latencies,
        dtps=dtps,
        to_write=buffer.to_write,
        first_errored=_first_errored(buffer.first_errored),
        sinks=tuple(_sink_status(sink) for sink in buffer.sinks),
        slots=slots,
        end_known=buffer.end_known,
        feedback=_feedback_status(buffer.feedback),
        file=file,
        busy=buffer.busy,
        limits=limits,
    )


def _feedback_status(known: _native.FeedbackStatus | None) -> telegram.FeedbackStatus | None:
    if known is None:
        return None
    return telegram.FeedbackStatus(
        ring=known.ring,
        zmq=known.zmq,
        published=known.published,
        sent=known.sent,
        dropped=known.dropped,
        full=known.full,
        restarts=known.restarts,
    )


def _sink_status(sink: _native.SinkStatus) -> telegram.SinkStatus:
    return telegram.SinkStatus(
        name=sink.name,
        on_full=sink.on_full,
        accepted=sink.accepted,
        written=sink.written,
        dropped=sink.dropped,
        errored=sink.errored,
        waiting=sink.waiting,
        bytes_written=sink.bytes_written,
        bytes_stored=sink.bytes_stored,
        error=sink.error,
        first=_first_errored(sink.first),
        consumers=tuple(
            telegram.ConsumerStatus(endpoint=one.endpoint, connected=one.connected, sent=one.sent, missed=one.missed)
            for one in sink.consumers
        ),
        restarts=sink.restarts,
    )


def _first_errored(said: tuple[int, int, str, str] | None) -> telegram.FirstErrored | None:
    if said is None:
        return None
    index, frame, reason, text = said
    return telegram.FirstErrored(index=index, frame=frame, reason=reason, text=text)
