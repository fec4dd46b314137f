// SPDX-License-Identifier: Apache-2.0
// A descriptor of a DTP and what is kept of the DTP behind it, from what was kept before: low words in one cycle, high
// words in the next, and behind an image the ring of frames in a third.
module generator_step
  import rashpa_pkg::*;
  import generator_pkg::*;
(
    input  logic        clk_i,
    input  logic        low_i,
    input  logic        high_i,
    input  logic        ring_i,
    input  dtp_t        dtp_i,
    input  plan_t       plan_i,
    input  context_t    context_i,     // in the phase Lines or Record; it stays
    input  logic        one_piece_i,   // a run has one piece
    output logic        record_o,      // the descriptor is an event
    output descriptor_t descriptor_o,
    output context_t    next_o
);
  // With a carry that comes in.
  function automatic logic [31:0] sum(logic [31:0] a, logic [31:0] b, logic carry);
    return 32'(({a, 1'b1} + {b, carry}) >> 1);
  endfunction

  descriptor_t d_q;
  context_t n_q;
  logic record, last_piece;
  logic source_carry_q, destination_carry_q, run_source_carry_q, run_destination_carry_q;
  logic offset_carry_q, slot_carry_q, record_carry_q, index_carry_q, borrow_q, slots_end_q, last_low_q;
  logic [47:0] offset_q;  // of the next image's frame, before the ring's length is taken off
  logic [31:0] ring_low_q, slots_q;
  logic [63:0] images_q;
  logic [16:0] ring_high;

  logic [31:0] source, source_offset, destination, destination_offset;

  assign record = context_i.phase == Record;
  assign source = record ? plan_i.record_source[31:0] : context_i.run_source[31:0];
  assign source_offset = record ? context_i.frame_offset[31:0] : context_i.piece_offset;
  assign destination = record ? context_i.record_destination[31:0] : context_i.run_destination[31:0];
  assign destination_offset = record ? '0 : context_i.piece_offset;
  assign last_piece = context_i.last_piece;
  assign ring_high = 17'(({1'b0, offset_q[47:32], 1'b0} - {1'b0, plan_i.frame_ring[47:32], borrow_q}) >> 1);

  always_ff @(posedge clk_i) begin
    if (low_i) begin
      d_q <= '0;
      d_q.dtp <= dtp_i;
      d_q.index <= context_i.index;
      d_q.slot <= context_i.slot;
      d_q.begins_image <= !record && context_i.fresh_image;
      d_q.event_record <= record;
      d_q.complete_record <= record;
      if (record) begin
        d_q.bytes <= 32'd128;
        d_q.immediate <= {plan_i.dtp[7:0], context_i.index[23:0]};
      end else begin
        d_q.bytes  <= !last_piece ? plan_i.piece_bytes : context_i.last_run ? plan_i.last_bytes : plan_i.rest_bytes;
        d_q.factor <= !last_piece ? plan_i.factor_piece : context_i.last_run ? plan_i.factor_last : plan_i.factor_rest;
      end
      {source_carry_q, d_q.source[31:0]} <= 33'(source) + 33'(source_offset);
      {destination_carry_q, d_q.destination[31:0]} <= 33'(destination) + 33'(destination_offset);
      slots_q <= plan_i.slots;
      images_q <= plan_i.images;
      n_q <= context_i;
      {run_source_carry_q, n_q.run_source[31:0]} <=
          33'(context_i.run_source[31:0]) + (last_piece ? 33'(plan_i.outer_source_step) : 33'd0);
      {run_destination_carry_q, n_q.run_destination[31:0]} <=
          33'(context_i.run_destination[31:0]) + (last_piece ? 33'(plan_i.outer_destination_step) : 33'd0);
      {offset_carry_q, offset_q[31:0]} <= 33'(context_i.frame_offset[31:0]) + 33'(plan_i.frame_step[31:0]);
      {slot_carry_q, n_q.slot_destination[31:0]} <=
          33'(context_i.slot_destination[31:0]) + (record ? 33'(plan_i.slot_bytes[31:0]) : 33'd0);
      {record_carry_q, n_q.record_destination[31:0]} <=
          33'(context_i.record_destination[31:0]) + (record ? 33'd128 : 33'd0);
      {index_carry_q, n_q.index[31:0]} <= 33'(context_i.index[31:0]) + 33'(record);
      n_q.slot <= context_i.slot + 32'(record);
    end
    if (high_i) begin
      d_q.source[47:32] <= 16'(sum(
          record ? 32'(plan_i.record_source[47:32]) : 32'(context_i.run_source[47:32]),
          record ? 32'(context_i.frame_offset[47:32]) : 32'd0,
          source_carry_q
      ));
      d_q.destination[63:32] <= 32'(destination_carry_q)
          + (record ? context_i.record_destination[63:32] : context_i.run_destination[63:32]);
      if (!record) begin
        n_q.fresh_image <= 1'b0;
        n_q.run_source[47:32] <= context_i.run_source[47:32] + 16'(run_source_carry_q);
        n_q.run_destination[63:32] <= context_i.run_destination[63:32] + 32'(run_destination_carry_q);
        n_q.inner_left <= last_piece ? plan_i.inner_count : context_i.inner_left - 32'd1;
        n_q.last_piece <= last_piece ? one_piece_i : context_i.inner_left == 32'd2;
        n_q.piece_offset <= last_piece ? '0 : context_i.piece_offset + plan_i.piece_bytes;
        n_q.outer_left <= context_i.outer_left - 32'(last_piece);
        if (last_piece) n_q.last_run <= context_i.outer_left == 32'd2;
        if (last_piece && context_i.last_run) n_q.phase <= Record;
      end else begin
        n_q.index[63:32] <= context_i.index[63:32] + 32'(index_carry_q);
        n_q.frame <= context_i.frame + plan_i.frames_between;
        n_q.slot_destination[63:32] <= sum(context_i.slot_destination[63:32], plan_i.slot_bytes[63:32], slot_carry_q);
        n_q.record_destination[63:32] <= context_i.record_destination[63:32] + 32'(record_carry_q);
      end
      offset_q[47:32] <= 16'(sum(32'(context_i.frame_offset[47:32]), 32'(plan_i.frame_step[47:32]), offset_carry_q));
      {borrow_q, ring_low_q} <= 33'(offset_q[31:0]) - 33'(plan_i.frame_ring[31:0]);
      slots_end_q <= n_q.slot == slots_q;
      last_low_q <= n_q.index[31:0] == images_q[31:0];
    end
    if (ring_i) begin
      n_q.phase <= Begin;
      n_q.frame_offset <= ring_high[16] ? offset_q : {ring_high[15:0], ring_low_q};
      if (slots_end_q) begin
        n_q.slot <= '0;
        n_q.slot_destination <= plan_i.destination;
        n_q.record_destination <= plan_i.records;
      end
      d_q.last_of_run <= last_low_q && n_q.index[63:32] == images_q[63:32];
    end
  end

  logic unused;
  assign unused = ^plan_i;  // some of it is not for descriptors

  assign record_o = record;
  assign descriptor_o = d_q;
  assign next_o = n_q;
endmodule
