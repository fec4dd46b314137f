# SPDX-License-Identifier: Apache-2.0
"""The native module's counters, in the form of telegrams."""

from rashpa import _native
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import Count


def counts_of(group: str, values: dict[str, int]) -> tuple[Count, ...]:
    """Return a group of counters."""
    return tuple(Count(group, name, value) for name, value in values.items())


def source_dtp_status(dtp: _native.DtpSourceStatus) -> telegram.SourceDtpStatus:
    """Return the status of a DTP, source side."""
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


def buffer_status(buffer: _native.BufferStatus, slots: int = 0, file: str = "") -> telegram.BufferStatus:
    """Return the status of a buffer with its DTPs and sinks. `slots`: the number of its slots; `file`: its master."""
    books = _books_of(buffer.books)
    latencies = tuple(
        telegram.Latency(stage, latency.count, latency.p50, latency.p99, latency.max, latency.sum, tuple(latency.below))
        for stage, latency in buffer.latency.items()
    )
    dtps = tuple(
        telegram.DestinationDtpStatus(
            dtp.id,
            dtp.module,
            dtp.expected,
            dtp.complete,
            dtp.partial,
            dtp.missing,
            dtp.lines_missing,
            counts_of("loss", dtp.losses),
        )
        for dtp in buffer.dtps
    )
    counts = counts_of("veto", buffer.vetoes) + counts_of("error", buffer.errors)
    return telegram.BufferStatus(
        buffer.name,
        buffer.sink_error,
        buffer.unit,
        buffer.unit_error,
        buffer.bytes_written,
        buffer.bytes_stored,
        books,
        counts,
        latencies,
        dtps,
        buffer.to_write,
        telegram.FirstErrored(*buffer.first_errored) if buffer.first_errored else None,
        tuple(_sink_status(sink) for sink in buffer.sinks),
        slots,
        buffer.end_known,
        _feedback_status(buffer.feedback),
        file,
        buffer.busy,
    )


def _feedback_status(known: _native.FeedbackStatus | None) -> telegram.FeedbackStatus | None:
    if known is None:
        return None
    return telegram.FeedbackStatus(
        known.ring, known.zmq, known.published, known.sent, known.dropped, known.full, known.restarts
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
        first=telegram.FirstErrored(*sink.first) if sink.first else None,
        consumers=tuple(
            telegram.ConsumerStatus(one.endpoint, one.connected, one.sent, one.missed) for one in sink.consumers
        ),
        restarts=sink.restarts,
    )
