// SPDX-License-Identifier: Apache-2.0
// Makes the descriptors of all DTPs from the table, just in time: a run or piece of one DTP, then one of the next that
// may go. Adders only, none longer than 32 bits. A descriptor takes four cycles, an image's first and last some more.
module descriptor_generator
  import rashpa_pkg::*;
  import card_registers_pkg::*;
  import generator_pkg::*;
(
    input  logic                    clk_i,
    input  logic                    rst_ni,
    input  logic                    arm_i,           // all DTPs begin with image 0 again
    input  logic                    start_i,
    input  logic                    abort_i,         // no more descriptors
    input  table_write_t            table_i,
    // of the DTP that is looked at
    output dtp_t                    dtp_o,
    input  logic         [    31:0] granted_i,       // images, modulo 2^32
    input  logic         [    31:0] frames_i,        // frames in memory, modulo 2^32
    input  logic         [Dtps-1:0] may_go_i,        // pacer
    output logic                    valid_o,
    input  logic                    ready_i,
    output descriptor_t             descriptor_o,
    // for registers
    output logic         [Dtps-1:0] active_o,        // has images to play
    output logic         [Dtps-1:0] waits_credit_o,
    output logic                    skips_o          // one cycle: the image of dtp_o is left out
);
  typedef enum logic [2:0] {
    Pick,
    Fetch,  // what is kept of the DTP
    Check,  // images, frame and credit
    Enter,  // into an image, or not
    Low,    // low words of the descriptor, and of what comes behind it
    High,
    Ring,   // behind an image: whether the ring of frames begins anew
    Out     // the descriptor is shown; the next DTP is found
  } state_e;

  state_e state_q;
  dtp_t dtp_q, next_dtp;
  plan_t plan;
  context_t kept[Dtps];
  context_t c_q, fetched;  // of the DTP
  descriptor_t d_q;
  logic fresh, found, shows_q;
  logic images_low_q, images_high_q, images_same_q, frame_q, credit_q;
  logic ended, enters, skips, last_piece, last_run;
  logic source_carry_q, destination_carry_q, run_source_carry_q, run_destination_carry_q;
  logic offset_carry_q, slot_carry_q, record_carry_q, index_carry_q, borrow_q, slots_end_q;
  logic [47:0] offset_q;  // of the next image's frame, before the ring's length is taken off
  logic [31:0] ring_low_q;
  logic [16:0] ring_high;

  generator_plan u_plan (
      .clk_i,
      .table_i,
      .dtp_i (dtp_q),
      .plan_o(plan)
  );
  generator_pick u_pick (
      .clk_i,
      .rst_ni,
      .arm_i,
      .start_i,
      .abort_i,
      .table_i,
      .may_go_i,
      .dtp_i  (dtp_q),
      .ended_i(state_q == Enter && ended),
      .kept_i (state_q == Out),
      .fresh_o(fresh),
      .found_o(found),
      .next_o (next_dtp),
      .active_o
  );

  always_comb begin
    fetched = kept[dtp_q];
    if (fresh) begin
      fetched = '0;
      fetched.phase = Begin;
      fetched.frame = plan.first_frame;
      fetched.frame_offset = plan.frame_offset[47:0];
      fetched.slot_destination = plan.destination;
      fetched.record_destination = plan.records;
    end
  end

  assign ended = !(images_high_q || (images_same_q && images_low_q));
  assign enters = !ended && frame_q && credit_q;
  assign skips = !ended && frame_q && !credit_q && plan.dtp[DtpTableDtpSkipLsb];
  assign last_piece = c_q.inner_left == 32'd1;
  assign last_run = c_q.outer_left == 32'd1;
  assign ring_high = 17'(offset_q[47:32]) - 17'(plan.frame_ring[47:32]) - 17'(borrow_q);

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      Fetch: begin
        c_q <= fetched;
        shows_q <= 1'b1;
      end
      Check: begin
        images_low_q <= c_q.index[31:0] < plan.images[31:0];
        images_high_q <= c_q.index[63:32] < plan.images[63:32];
        images_same_q <= c_q.index[63:32] == plan.images[63:32];
        // one half of all numbers is ahead, the other behind
        frame_q <= 32'(frames_i - c_q.frame - 32'd1) < 32'h8000_0000;
        credit_q <= 32'(granted_i - c_q.index[31:0] - 32'd1) < 32'h8000_0000 || plan.dtp[DtpTableDtpPacedLsb];
        {run_source_carry_q, c_q.run_source[31:0]} <= 33'(plan.source[31:0]) + 33'(c_q.frame_offset[31:0]);
      end
      Enter: begin
        c_q.run_source[47:32] <= plan.source[47:32] + c_q.frame_offset[47:32] + 16'(run_source_carry_q);
        c_q.phase <= enters ? Lines : Record;  // what is behind a record is behind a skipped image, too
        c_q.fresh_image <= 1'b1;
        c_q.outer_left <= plan.outer_count;
        c_q.inner_left <= plan.inner_count;
        c_q.run_destination <= c_q.slot_destination;
        c_q.piece_offset <= '0;
        shows_q <= enters;
      end
      Low: begin
        d_q <= '0;
        d_q.dtp <= dtp_q;
        d_q.index <= c_q.index;
        d_q.slot <= c_q.slot;
        if (c_q.phase == Lines) begin
          {source_carry_q, d_q.source[31:0]} <= 33'(c_q.run_source[31:0]) + 33'(c_q.piece_offset);
          {destination_carry_q, d_q.destination[31:0]} <= 33'(c_q.run_destination[31:0]) + 33'(c_q.piece_offset);
          d_q.begins_image <= c_q.fresh_image;
          d_q.bytes <= !last_piece ? plan.piece_bytes : last_run ? plan.last_bytes : plan.rest_bytes;
          d_q.factor <= !last_piece ? plan.factor_piece : last_run ? plan.factor_last : plan.factor_rest;
          {run_source_carry_q, c_q.run_source[31:0]} <=
              33'(c_q.run_source[31:0]) + (last_piece ? 33'(plan.outer_source_step) : 33'd0);
          {run_destination_carry_q, c_q.run_destination[31:0]} <=
              33'(c_q.run_destination[31:0]) + (last_piece ? 33'(plan.outer_destination_step) : 33'd0);
        end else begin
          {source_carry_q, d_q.source[31:0]} <= 33'(plan.record_source[31:0]) + 33'(c_q.frame_offset[31:0]);
          {destination_carry_q, d_q.destination[31:0]} <= 33'(c_q.record_destination[31:0]);
          d_q.event_record <= 1'b1;
          d_q.complete_record <= 1'b1;
          d_q.bytes <= 32'd128;
          d_q.immediate <= {plan.dtp[7:0], c_q.index[23:0]};
        end
        {offset_carry_q, offset_q[31:0]} <= 33'(c_q.frame_offset[31:0]) + 33'(plan.frame_step[31:0]);
        {slot_carry_q, c_q.slot_destination[31:0]} <=
            33'(c_q.slot_destination[31:0]) + (c_q.phase == Record ? 33'(plan.slot_bytes[31:0]) : 33'd0);
        {record_carry_q, c_q.record_destination[31:0]} <=
            33'(c_q.record_destination[31:0]) + (c_q.phase == Record ? 33'd128 : 33'd0);
        {index_carry_q, c_q.index[31:0]} <= 33'(c_q.index[31:0]) + (c_q.phase == Record ? 33'd1 : 33'd0);
        slots_end_q <= c_q.slot + 32'd1 == plan.slots;
      end
      High: begin
        d_q.source[47:32] <= 16'(source_carry_q)
            + (d_q.event_record ? plan.record_source[47:32] + c_q.frame_offset[47:32] : c_q.run_source[47:32]);
        d_q.destination[63:32] <= 32'(destination_carry_q)
            + (d_q.event_record ? c_q.record_destination[63:32] : c_q.run_destination[63:32]);
        if (!d_q.event_record) begin
          c_q.fresh_image <= 1'b0;
          c_q.run_source[47:32] <= c_q.run_source[47:32] + 16'(run_source_carry_q);
          c_q.run_destination[63:32] <= c_q.run_destination[63:32] + 32'(run_destination_carry_q);
          c_q.inner_left <= last_piece ? plan.inner_count : c_q.inner_left - 32'd1;
          c_q.piece_offset <= last_piece ? '0 : c_q.piece_offset + plan.piece_bytes;
          if (last_piece) c_q.outer_left <= c_q.outer_left - 32'd1;
          if (last_piece && last_run) c_q.phase <= Record;
        end else begin
          c_q.index[63:32] <= c_q.index[63:32] + 32'(index_carry_q);
          c_q.frame <= c_q.frame + plan.frames_between;
          c_q.slot <= slots_end_q ? '0 : c_q.slot + 32'd1;
          c_q.slot_destination[63:32] <= c_q.slot_destination[63:32] + plan.slot_bytes[63:32] + 32'(slot_carry_q);
          c_q.record_destination[63:32] <= c_q.record_destination[63:32] + 32'(record_carry_q);
          offset_q[47:32] <= c_q.frame_offset[47:32] + plan.frame_step[47:32] + 16'(offset_carry_q);
          {borrow_q, ring_low_q} <= 33'(offset_q[31:0]) - 33'(plan.frame_ring[31:0]);
        end
      end
      Ring: begin
        c_q.phase <= Begin;
        c_q.frame_offset <= ring_high[16] ? offset_q : {ring_high[15:0], ring_low_q};
        if (slots_end_q) begin
          c_q.slot_destination   <= plan.destination;
          c_q.record_destination <= plan.records;
        end
        d_q.last_of_run <= c_q.index == plan.images;
      end
      default: ;
    endcase
    if (state_q == Out) kept[dtp_q] <= c_q;
  end

  assign valid_o = state_q == Out && shows_q;
  assign descriptor_o = d_q;
  assign dtp_o = dtp_q;
  assign skips_o = state_q == Ring && !shows_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || abort_i || arm_i) begin
      state_q <= Pick;
      waits_credit_o <= '0;
      if (!rst_ni) dtp_q <= '0;
    end else begin
      if (state_q == Enter) waits_credit_o[dtp_q] <= !ended && frame_q && !credit_q;
      if ((state_q == Pick && found) || (state_q == Out && found && (ready_i || !shows_q))) dtp_q <= next_dtp;
      unique case (state_q)
        Pick:  if (found) state_q <= Fetch;
        Fetch: state_q <= fetched.phase == Begin ? Check : Low;
        Check: state_q <= Enter;
        Enter: state_q <= enters || skips ? Low : Pick;
        Low:   state_q <= High;
        High:  state_q <= d_q.event_record ? Ring : Out;
        Ring:  state_q <= Out;
        Out:   if (ready_i || !shows_q) state_q <= found ? Fetch : Pick;
      endcase
    end
  end
endmodule
