// SPDX-License-Identifier: Apache-2.0
// Counts the beats of the frame in hand: when the payload FIFO is popped, where in a beat the payload lies. A frame whose
// first beat needs two from memory pops one before it.
module frame_beats
  import rashpa_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,
    input logic begins_i,  // in the next cycle; only when none is in hand, or with its last beat
    input logic event_i,  // it is an event
    input prepared_t prepared_i,
    input logic [23:0] psn_i,
    input logic withhold_i,  // it is to go nowhere
    output logic run_o,  // a frame is in hand
    output logic ends_o,  // this is its last beat
    output frame_stage_t stage_o,  // of the beat that is popped in this cycle
    output logic [8*MostHeader-1:0] header_o  // of the frame in hand
);
  logic prelude_q, record_q, event_q, ipv6_q, begins_image_q;
  logic [6:0] beat_q, beats_q;  // of the frame
  logic [6:0] next_q, after_q;  // beat_q + 1, + 2
  logic last_q;  // of the frame
  // Of the beat: where its payload begins, and in the beat behind it; the payload ends behind it, in it, or with it
  logic [6:0] from_q, next_from_q;
  logic full_q, part_q, exact_q;
  logic [6:0] left_q;  // beats still to be taken from the payload FIFO
  logic       wait_q;  // the header alone fills the first beat
  logic [5:0] turn_q, covered_end_q;
  logic [12:0] payload_end_q;
  dtp_t dtp_q;
  logic [31:0] factor_q;
  logic [23:0] frame_psn_q;
  logic pop, second_q, withheld_q;

  assign ends_o = run_o && !prelude_q && last_q;
  assign pop = run_o && !wait_q && left_q != 7'd0;

  always_ff @(posedge clk_i) begin
    if (begins_i) begin
      record_q <= prepared_i.complete_record;
      second_q <= 1'b0;
      event_q <= event_i;
      ipv6_q <= prepared_i.ipv6;
      begins_image_q <= prepared_i.begins_image;
      beats_q <= prepared_i.beats_out;
      left_q <= prepared_i.beats_in;
      turn_q <= prepared_i.turn[5:0];
      wait_q <= prepared_i.turn[7];
      covered_end_q <= prepared_i.covered_end;
      payload_end_q <= prepared_i.payload_end;
      dtp_q <= prepared_i.dtp;
      factor_q <= prepared_i.factor;
      frame_psn_q <= psn_i;
      withheld_q <= withhold_i;
      beat_q <= '0;
      next_q <= 7'd1;
      after_q <= 7'd2;
      last_q <= prepared_i.beats_out == 7'd1;
      from_q <= prepared_i.header_end > 7'd64 ? 7'd64 : prepared_i.header_end;
      next_from_q <= prepared_i.header_end > 7'd64 ? prepared_i.header_end - 7'd64 : 7'd0;
      full_q <= prepared_i.payload_end[12:6] != '0;
      part_q <= prepared_i.payload_end[12:6] == '0;
      exact_q <= prepared_i.payload_end == 13'd64;
    end else begin
      if (run_o && !prelude_q) begin
        beat_q <= next_q;
        next_q <= after_q;
        after_q <= after_q + 7'd1;
        last_q <= beats_q == after_q;
        from_q <= next_from_q;
        next_from_q <= '0;
        full_q <= payload_end_q[12:6] > next_q;
        part_q <= payload_end_q[12:6] == next_q;
        exact_q <= payload_end_q == {after_q, 6'd0};
      end
      if (pop) left_q <= left_q - 7'd1;
      if (pop) second_q <= 1'b1;
      wait_q <= 1'b0;
    end
  end
  // It is looked at two cycles later than the frame begins.
  always_ff @(posedge clk_i) begin
    if (begins_i) header_o <= prepared_i.header;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      run_o <= 1'b0;
      prelude_q <= 1'b0;
    end else if (begins_i) begin
      run_o <= 1'b1;
      prelude_q <= prepared_i.turn[7:6] == 2'd0;  // the first beat needs two from memory
    end else begin
      if (ends_o) run_o <= 1'b0;
      prelude_q <= 1'b0;
    end
  end

  always_comb begin
    stage_o = '0;
    stage_o.frame.valid = run_o && !prelude_q;
    stage_o.frame.first = beat_q == 7'd0;
    stage_o.frame.last = ends_o;
    stage_o.frame.ipv6 = ipv6_q;
    stage_o.frame.covered_end = covered_end_q;
    stage_o.pop = pop;
    stage_o.turn = turn_q;
    stage_o.from = from_q;
    stage_o.upto = full_q ? 7'd64 : part_q ? {1'b0, payload_end_q[5:0]} : 7'd0;
    stage_o.summed = run_o && !prelude_q && !event_q;
    stage_o.payload_last = !full_q || exact_q;
    stage_o.begins_image = begins_image_q;
    stage_o.dtp = dtp_q;
    stage_o.factor = factor_q;
    stage_o.psn = frame_psn_q;
    stage_o.withheld = withheld_q;
    stage_o.number = beat_q > 7'd1 ? 2'd2 : {1'b0, beat_q[0]};
    stage_o.record = record_q;
    stage_o.second = second_q;
  end

endmodule
