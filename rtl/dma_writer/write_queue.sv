// SPDX-License-Identifier: Apache-2.0
// What is to be written next: the plan of a packet, and the lock words that wait for answers, which go first. One of them
// begins at a time.
module write_queue
  import rashpa_pkg::*;
#(
    parameter int unsigned PayloadDepth = 512,
    parameter int unsigned BeatDepth = 256,
    parameter int unsigned CountBits = 9
) (
    input logic clk_i,
    input logic rst_ni,
    input logic arm_i,
    // packets and lock words
    input logic valid_i,
    output logic ready_o,
    input packet_t packet_i,
    input logic lock_i,
    input logic withheld_i,
    input logic withhold_i,
    input logic error_i,
    // a record is to be completed
    output logic record_next_o,
    input logic record_ready_i,
    // what is in hand
    input logic run_i,
    input logic ends_i,
    input logic beat_i,
    input logic written_i,
    // bursts
    input logic bursts_full_i,
    input logic second_burst_i,
    input logic [CountBits-1:0] issued_i,
    input logic [CountBits-1:0] answered_i,
    // something begins, in the next cycle
    output logic packet_begins_o,
    output logic withheld_o,  // the packet is written nowhere
    output logic lock_begins_o,
    output packet_t packet_o,
    output dtp_t dtp_o,
    output logic [31:0] immediate_o,  // of the lock word
    output logic [57:0] address_o,
    output logic [57:0] second_at_o,
    output logic [6:0] first_o,
    output logic [6:0] second_o,
    output logic [6:0] beats_in_o,
    output logic [6:0] beats_o,
    output logic single_o,  // only one beat
    output logic [5:0] turn_o,
    output logic prelude_o,
    output logic [5:0] from_o,
    output logic [6:0] upto_o,
    output logic idle_o
);
  logic plan_valid, plan_soon, plan_ready, plan_withheld, prelude, several;
  packet_t plan;
  logic [57:0] address;
  logic [6:0] first, second, beats, upto;
  logic [5:0] from;
  logic lock_push, lock_full, lock_ready, no_locks, refused, none_written, may_lock;
  logic [63:0] lock_at;
  dtp_t lock_dtp;

  // A lock word comes behind all bursts before it.
  assign may_lock  = plan_ready && !second_burst_i && !lock_full;
  assign ready_o   = lock_i ? may_lock : plan_ready;
  assign lock_push = valid_i && lock_i && may_lock && !withheld_i && !refused;

  write_plan u_plan (
      .clk_i,
      .rst_ni,
      .valid_i(valid_i && !lock_i),
      .ready_o(plan_ready),
      .packet_i,
      .withheld_i,
      .valid_o(plan_valid),
      .soon_o(plan_soon),
      .taken_i(packet_begins_o),
      .packet_o(plan),
      .withheld_o(plan_withheld),
      .address_o(address),
      .second_at_o,
      .first_o(first),
      .second_o(second),
      .beats_o(beats),
      .turn_o,
      .prelude_o(prelude),
      .from_o(from),
      .upto_o(upto),
      .several_o(several)
  );
  lock_words #(
      .CountBits(CountBits)
  ) u_locks (
      .clk_i,
      .rst_ni,
      .push_i(lock_push),
      .full_o(lock_full),
      .address_i(packet_i.destination),
      .immediate_i(packet_i.immediate),
      .dtp_i(packet_i.dtp),
      .issued_i,
      .answered_i,
      .withhold_i(refused),
      .ready_o(lock_ready),
      .taken_i(lock_begins_o),
      .address_o(lock_at),
      .immediate_o,
      .dtp_o(lock_dtp),
      .idle_o(no_locks)
  );
  write_gate #(
      .PayloadDepth(PayloadDepth),
      .BeatDepth(BeatDepth)
  ) u_gate (
      .clk_i,
      .rst_ni,
      .arm_i,
      .plan_valid_i(plan_valid),
      .plan_soon_i(plan_soon),
      .beats_in_i(plan.beats),
      .beats_i(beats),
      .several_i(several),
      .withheld_i(plan_withheld),
      .complete_i(plan.complete_record),
      .record_ready_i,
      .lock_ready_i(lock_ready),
      .run_i,
      .ends_i,
      .beat_i,
      .written_i,
      .bursts_full_i,
      .withhold_i,
      .error_i,
      .packet_begins_o,
      .withheld_o,
      .lock_begins_o,
      .refused_o(refused),
      .idle_o(none_written)
  );

  assign record_next_o = plan_valid && plan.complete_record;
  assign packet_o = plan;
  assign dtp_o = lock_begins_o ? lock_dtp : plan.dtp;
  assign address_o = lock_begins_o ? lock_at[63:6] : address;
  assign first_o = lock_begins_o ? 7'd1 : first;
  assign second_o = lock_begins_o ? 7'd0 : second;
  assign beats_in_o = lock_begins_o ? 7'd0 : plan.beats;
  assign beats_o = lock_begins_o ? 7'd1 : beats;
  assign single_o = lock_begins_o || !several;
  assign prelude_o = prelude && !lock_begins_o;
  assign from_o = lock_begins_o ? {lock_at[5:2], 2'b0} : from;
  assign upto_o = lock_begins_o ? {1'b0, lock_at[5:2], 2'b0} + 7'd4 : upto;
  assign idle_o = plan_ready && no_locks && none_written;
  wire unused_ok = &{1'b0, lock_at[1:0]};
endmodule
