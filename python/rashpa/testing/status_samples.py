# SPDX-License-Identifier: Apache-2.0
"""Makes a valid status of nodes in each state, for `telegram_samples`."""

from rashpa.control.telegrams import telegram as t


def status_samples() -> dict[str, t.Telegram]:
    """Return the statuses by file name without .xml."""
    return {
        "status_idle": t.Status(node="emulator", role="emulator", state="idle"),
        "status_configuring": t.Status(
            node="emulator", role="emulator", state="idle", holder="run a of b", prepared=0.25
        ),
        "status_emulator": t.Status(
            node="emulator",
            role="emulator",
            state="running",
            holder="run first_light of alice@beamline",
            source=_source_status(),
        ),
        "status_receiver": t.Status(
            node="receiver",
            role="receiver",
            state="finished",
            message="",
            destination=_destination_status(),
            notifications=(
                t.Notify(
                    node="receiver",
                    what="incomplete",
                    text="buffer full image 3 (frame 3): DTP 2 module 1 lost 4 lines",
                ),
            ),
        ),
    }


def _source_status() -> t.SourceStatus:
    dtp = t.SourceDtpStatus(
        id=2,
        images_sent=1000,
        images_skipped=0,
        payload_bytes=524288000,
        packets=130000,
        waits=12,
        window_timeouts=0,
        late_ns=25000,
        cnps_received=3,
    )
    member = t.MemberStatus(
        name="a",
        state="late",
        dealt=520,
        done=500,
        taken=20,
        resent=0,
        duplicates=3,
        lates=1,
        response_ms=12.5,
        silent_ms=104.25,
        given_ago_ms=250.5,
    )
    group = t.GroupStatus(
        name="farm", fresh=1040, waiting=4, resent=16, duplicates=3, lost=0, skipped=0, settled=False, members=(member,)
    )
    return t.SourceStatus(
        elapsed_s=10.5,
        counts=(
            t.Count(group="trigger", name="accepted", value=4),
            t.Count(group="trigger", name="refused", value=1),
            t.Count(group="trigger", name="frames", value=100),
            t.Count(group="injected", name="drop", value=3),
        ),
        dtps=(dtp,),
        emulator="right",
        rate_hz=100.0,
        groups=(group,),
    )


def _destination_status() -> t.DestinationStatus:
    first = "buffer full image 3 (frame 3): DTP 2 module 1 lost 4 lines"
    return t.DestinationStatus(
        receiver="whole",
        elapsed_s=24.0,
        memory="transparent-huge",
        first_incomplete=first,
        counts=(t.Count(group="link", name="packets", value=312000),),
        buffers=(_buffer(),),
    )


def _buffer() -> t.BufferStatus:
    dtp = t.DestinationDtpStatus(
        id=2,
        module=1,
        expected=2400,
        complete=2398,
        partial=1,
        missing=1,
        lines_missing=4,
        counts=(t.Count(group="loss", name="lines", value=1), t.Count(group="loss", name="event", value=1)),
    )
    return t.BufferStatus(
        name="full",
        sink_error="",
        unit="trigger graph on NVIDIA H200: as asked for",
        unit_error="",
        bytes_written=629145600,
        bytes_stored=104857600,
        books=t.Books(
            expected=2400, complete=2398, partial=1, missing=1, accepted=598, vetoed=1799, errored=2, written=598
        ),
        counts=(t.Count(group="veto", name="too_few", value=1799), t.Count(group="error", name="storage", value=2)),
        latencies=(
            t.Latency(stage="ready", count=240, p50=11.5, p99=80.25, max=412.0, sum=4100.5, below=(*range(24), 240)),
        ),
        dtps=(dtp,),
        to_write=10,
        first_errored=t.FirstErrored(index=70, frame=70, reason="storage", text="No space left on device"),
        limits=(
            t.LimitChange(
                time_ns=1764298000000000000,
                number=1,
                step="bragg_count",
                key="min_pixels",
                old="20",
                new="40",
                first_image=120,
                by="operator at the page",
            ),
        ),
        busy="kernel python has been at work on image 71 (frame 71) for 4 s and does not come to its end",
        sinks=_sinks(),
        slots=400,
        feedback=t.FeedbackStatus(
            ring="/rings/rashpa.hits",
            zmq="tcp://127.0.0.1:39001",
            published=2400,
            sent=2390,
            dropped=10,
            full=2,
            restarts=1,
        ),
        file="/data/first_light_full_master.h5",
    )


def _sinks() -> tuple[t.SinkStatus, ...]:
    return (
        t.SinkStatus(
            name="hdf5",
            on_full="wait",
            accepted=600,
            written=588,
            dropped=0,
            errored=2,
            waiting=10,
            bytes_written=616562688,
            bytes_stored=104857600,
            error="No space left on device",
            first=t.FirstErrored(index=70, frame=70, reason="storage", text="No space left on device"),
        ),
        t.SinkStatus(
            name="memory",
            on_full="drop",
            accepted=600,
            written=580,
            dropped=20,
            errored=0,
            waiting=0,
            bytes_written=608174080,
            bytes_stored=608174080,
            error="",
        ),
        t.SinkStatus(
            name="stream2",
            on_full="wait",
            accepted=600,
            written=598,
            dropped=2,
            errored=0,
            waiting=0,
            bytes_written=627048448,
            bytes_stored=106954752,
            error="",
            consumers=(
                t.ConsumerStatus(endpoint="tcp://127.0.0.1:31001", connected=1, sent=598, missed=2),
                t.ConsumerStatus(endpoint="tcp://127.0.0.1:31002", connected=0, sent=0, missed=600),
            ),
            restarts=3,
        ),
    )
