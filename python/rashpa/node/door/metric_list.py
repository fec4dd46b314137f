# SPDX-License-Identifier: Apache-2.0
"""Lists every metric of a node with its name and meaning. `metrics` can expose no other, and docs/reference/metrics.md is made from this list."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge", "histogram", "info"]


@dataclass(frozen=True)
class Described:
    """Describes an exposed metric. A histogram has three series, with `_bucket`, `_sum` and `_count` appended to its name."""

    name: str
    kind: Kind
    labels: tuple[str, ...]
    text: str


_DTP_SENT = ("dtp", "emulator")
_DTP_RECEIVED = ("dtp", "module", "buffer", "receiver")
_BUFFER = ("buffer", "receiver")
_SINK = ("sink", "buffer", "receiver")

GROUPS: dict[str, tuple[Described, ...]] = {
    "Of every node": (
        Described("rashpa_build_info", "info", ("version", "commit"), "Version and commit of the node; the value is 1."),
        Described("rashpa_state", "gauge", ("role", "state"), "1 for the state that the node is in."),
        Described("rashpa_run_number", "gauge", (), "Number of the run that the node is configured for; absent without one."),
        Described("rashpa_elapsed_seconds", "gauge", (), "Since the run was started; it stands still at the end."),
        Described("rashpa_orders_total", "counter", ("order", "answer"), "Telegrams that were taken, by name and by that of the answer; of a Fault its code."),
        Described("rashpa_order_seconds", "histogram", ("order",), "From a whole telegram to its answer."),
        Described("rashpa_requests_refused_total", "counter", ("status",), "HTTP requests that were refused before anything was done, by HTTP status."),
        Described("rashpa_log_entries_total", "counter", ("level",), "Entries of the node's log, repeated ones too."),
        Described("process_cpu_seconds_total", "counter", (), "Processor time of the node's process."),
        Described("process_resident_memory_bytes", "gauge", (), "Memory of the process that is in RAM."),
        Described("process_open_fds", "gauge", (), "Open files, sockets included."),
        Described("process_max_fds", "gauge", (), "How many files it may open."),
        Described("process_start_time_seconds", "gauge", (), "When the process began, since 1970."),
        Described("rashpa_machine_temperature_celsius", "gauge", (), "The highest of the machine's sensors; absent where they tell none."),
        Described("rashpa_thread_cpu_seconds_total", "counter", ("thread",), "Processor time by name of thread; those of one name together, as long as they live."),
    ),
    "Of an emulator": (
        Described("rashpa_rate_asked_hertz", "gauge", ("emulator",), "Frames a second that the run asks for; 0: as fast as it goes."),
        Described("rashpa_images_sent_total", "counter", ("dtp", "state", "emulator"), "Images of a DTP; state: sent, or skipped for want of a free slot."),
        Described("rashpa_frames_begun_total", "counter", ("emulator",), "Frames up to the latest that a DTP has begun."),
        Described("rashpa_triggers_total", "counter", ("state", "emulator"), "Triggers; state: accepted, or refused, as when it was busy."),
        Described("rashpa_frames_triggered_total", "counter", ("emulator",), "Frames that triggers have let through."),
        Described("rashpa_images_due_total", "counter", _DTP_SENT, "Images of a DTP that had their turn: sent, skipped or withheld."),
        Described("rashpa_bytes_sent_total", "counter", _DTP_SENT, "Payload."),
        Described("rashpa_packets_sent_total", "counter", _DTP_SENT, "Packets."),
        Described("rashpa_part_events_sent_total", "counter", _DTP_SENT, "Events of parts that are not the last of their image (buffer.events)."),
        Described("rashpa_send_waits_total", "counter", _DTP_SENT, "Times that the window of bytes, or the queue of the link, was full."),
        Described("rashpa_window_timeouts_total", "counter", _DTP_SENT, "Times that the window was opened again without news of the receiver."),
        Described("rashpa_late_seconds", "gauge", _DTP_SENT, "The worst lag behind the rate that is asked for."),
        Described("rashpa_congestion_notifications_total", "counter", _DTP_SENT, "Received from the destination."),
        Described("rashpa_credits_refused_total", "counter", _DTP_SENT, "Refused credits of a DTP: packets from another address, damaged, or of another length, and impossible words."),
        Described("rashpa_send_errors_total", "counter", _DTP_SENT, "Packets or writes that were not sent."),
        Described("rashpa_acknowledgements_total", "counter", _DTP_SENT, "Received; rc alone."),
        Described("rashpa_naks_total", "counter", ("dtp", "kind", "emulator"), "Negative acknowledgements; kind: sequence, or rnr (receiver not ready). rc alone."),
        Described("rashpa_packets_retransmitted_total", "counter", _DTP_SENT, "Sent again; rc alone."),
        Described("rashpa_retransmission_timeouts_total", "counter", _DTP_SENT, "Times that no acknowledgement came; rc alone."),
        Described("rashpa_connection_errors_total", "counter", _DTP_SENT, "Connections that ended in error; rc alone."),
        Described("rashpa_group_images_total", "counter", ("state", "group", "emulator"), "Images that are dealt in a group; state: due, resent, duplicate, lost (they had left the window), or skipped for want of a free slot."),
        Described("rashpa_group_images_waiting", "gauge", ("group", "emulator"), "Images that are to be dealt again."),
        Described("rashpa_group_settled", "gauge", ("group", "emulator"), "1 when all is dealt, and no member that is fed owes a whole stack."),
        Described("rashpa_member_images_total", "counter", ("state", "member", "group", "emulator"), "Images of a member of a group; state: dealt, done (by its credits), taken from it, resent to it, duplicate."),
        Described("rashpa_member_state", "gauge", ("state", "member", "group", "emulator"), "1 for the state of a member: fed, late, held, ejected, broken."),
        Described("rashpa_member_lates_total", "counter", ("member", "group", "emulator"), "Times that a member was late."),
        Described("rashpa_member_response_seconds", "gauge", ("member", "group", "emulator"), "From a stack's last image sent to its credits, weighted towards the latest."),
        Described("rashpa_member_silent_seconds", "gauge", ("member", "group", "emulator"), "How long a member had been silent when it was last found late."),
        Described("rashpa_injected_total", "counter", ("fault", "emulator"), "Faults that were injected on purpose."),
    ),
    "Of a receiver": (
        Described("rashpa_bytes_received_total", "counter", ("receiver",), "Payload accepted into buffers."),
        Described("rashpa_packets_total", "counter", ("counter", "receiver"), "Counters of the link; [links](../explanations/links.md) explains the counters."),
        Described("rashpa_frames_total", "counter", ("state", "module", "buffer", "dtp", "receiver"), "Books: images of a buffer by state (module and DTP empty), and their arrivals by module and DTP. `expected` is known from the start."),
        Described("rashpa_images_lost_total", "counter", ("cause", *_DTP_RECEIVED), "Images of a DTP that are not complete, by cause."),
        Described("rashpa_lines_missing_total", "counter", _DTP_RECEIVED, "Lines that did not arrive, of images of which others did."),
        Described("rashpa_images_vetoed_total", "counter", ("reason", *_BUFFER), "Images that the pipeline does not keep."),
        Described("rashpa_images_errored_total", "counter", ("reason", *_BUFFER), "Images that should have been kept and are not."),
        Described("rashpa_images_to_write", "gauge", _BUFFER, "Slots that are held by images which the sinks, or the unit, are not through with."),
        Described("rashpa_slots", "gauge", _BUFFER, "Slots of the buffer."),
        Described("rashpa_bytes_written_total", "counter", _BUFFER, "Bytes of written images before compression, over all sinks."),
        Described("rashpa_bytes_stored_total", "counter", _BUFFER, "Bytes that went to storage, over all sinks."),
        Described("rashpa_stack_ready_seconds", "histogram", _BUFFER, "From the last packet of a stack until it is whole, or given up, and goes to the unit."),
        Described("rashpa_stack_decision_seconds", "histogram", _BUFFER, "From there until its images are decided."),
        Described("rashpa_stack_written_seconds", "histogram", _BUFFER, "From the decision until the last sink is through and the slots are free again."),
        Described("rashpa_image_published_seconds", "histogram", _BUFFER, "From the last packet of an image until what was decided of it is in the ring of the buffer's feedback."),
        Described("rashpa_image_sent_seconds", "histogram", _BUFFER, "From the last packet of an image until ZeroMQ has what was decided of it."),
        Described("rashpa_feedback_images_total", "counter", ("state", *_BUFFER), "Images that a buffer publishes. state: published (in the ring), sent (of them, given to ZeroMQ), dropped (never given, as that process was behind)."),
        Described("rashpa_feedback_full_total", "counter", _BUFFER, "Times that a subscriber of ZeroMQ had no room and began to lose images; it counts how many."),
        Described("rashpa_feedback_restarts_total", "counter", _BUFFER, "Times that the process that publishes by ZeroMQ has died, and another one came."),
        Described("rashpa_sink_images_total", "counter", ("state", *_SINK), "Books of a sink: accepted = written + dropped + errored + waiting."),
        Described("rashpa_sink_images_waiting", "gauge", _SINK, "Images that a sink has not settled yet."),
        Described("rashpa_sink_bytes_written_total", "counter", _SINK, "Bytes of written images before compression."),
        Described("rashpa_sink_bytes_stored_total", "counter", _SINK, "Bytes that went to storage."),
        Described("rashpa_stream_images_total", "counter", ("state", "endpoint", *_SINK), "Images of a consumer of a sink stream2; state: sent (its queue has taken them), missed (it had no room, or nobody was there)."),
        Described("rashpa_stream_clients", "gauge", ("endpoint", *_SINK), "Programs that are connected to a sink stream2."),
        Described("rashpa_stream_restarts_total", "counter", _SINK, "Times that the process that sends images to consumers has died, and another one came; 0 of a sink that keeps images."),
    ),
}  # fmt: skip
"""The metrics by part of a node, in the order of the page."""

METRICS = {one.name: one for group in GROUPS.values() for one in group}
