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
  typedef enum logic [3:0] {
    Pick,
    Fetch,  // what is kept of the DTP
    Check,  // images, frame and credit
    Judge,
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
  context_t c_q, fetched, next;  // of the DTP: before and behind the descriptor
  logic fresh, found, shows_q, record;
  logic [1:0] picked_q;  // what is found was not so while a descriptor was shown
  logic [31:0] granted_q, frames_q;
  logic images_low_q, images_high_q, images_same_q, frame_q, credit_q, waits_q, source_carry_q;
  logic ended_q, enters_q, skips_q, one_run_q, one_piece_q;
  logic [31:0] source_low_q, outer_q, inner_q;

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
      .picks_i(state_q == Pick),
      .ended_i(state_q == Enter && ended_q),
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

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      Fetch: begin
        c_q <= fetched;
        shows_q <= 1'b1;
        granted_q <= granted_i;
        frames_q <= frames_i;
      end
      Check: begin
        images_low_q <= c_q.index[31:0] < plan.images[31:0];
        images_high_q <= c_q.index[63:32] < plan.images[63:32];
        images_same_q <= c_q.index[63:32] == plan.images[63:32];
        // a − b − 1: one half of all numbers is ahead, the other behind
        frame_q <= 32'(frames_q + ~c_q.frame) < 32'h8000_0000;
        credit_q <= 32'(granted_q + ~c_q.index[31:0]) < 32'h8000_0000 || plan.dtp[DtpTableDtpPacedLsb];
        {source_carry_q, source_low_q} <= 33'(plan.source[31:0]) + 33'(c_q.frame_offset[31:0]);
      end
      Judge: begin
        ended_q  <= !(images_high_q || (images_same_q && images_low_q));
        enters_q <= frame_q && credit_q;
        waits_q  <= frame_q && !credit_q;
        skips_q  <= frame_q && !credit_q && plan.dtp[DtpTableDtpSkipLsb];
      end
      Enter: begin
        c_q.run_source[31:0] <= source_low_q;
        c_q.run_source[47:32] <= 16'({plan.source[47:32], 1'b1} + {c_q.frame_offset[47:32], source_carry_q} >> 1);
        c_q.phase <= enters_q ? Lines : Record;  // what is behind a record is behind a skipped image, too
        c_q.fresh_image <= 1'b1;
        c_q.outer_left <= plan.outer_count;
        c_q.last_run <= one_run_q;
        c_q.inner_left <= plan.inner_count;
        c_q.last_piece <= one_piece_q;
        c_q.run_destination <= c_q.slot_destination;
        c_q.piece_offset <= '0;
        shows_q <= enters_q;
      end
      default: ;
    endcase
    if (state_q == Out) kept[dtp_q] <= next;
    // right two cycles behind Fetch
    outer_q <= plan.outer_count;
    inner_q <= plan.inner_count;
    one_run_q <= outer_q == 32'd1;
    one_piece_q <= inner_q == 32'd1;
  end

  generator_step u_step (
      .clk_i,
      .low_i      (state_q == Low),
      .high_i     (state_q == High),
      .ring_i     (state_q == Ring),
      .dtp_i      (dtp_q),
      .plan_i     (plan),
      .context_i  (c_q),
      .one_piece_i(one_piece_q),
      .record_o   (record),
      .descriptor_o,
      .next_o     (next)
  );

  assign valid_o = state_q == Out && shows_q;
  assign dtp_o   = dtp_q;
  assign skips_o = state_q == Ring && !shows_q;

  // The next DTP is taken as the one in hand is done with; if there was none, when one is found.
  logic done, take;
  assign done = (state_q == Out && (ready_i || !shows_q)) || (state_q == Enter && !ended_q && !enters_q && !skips_q);
  assign take = found && (done || (state_q == Pick && picked_q[1]));

  always_ff @(posedge clk_i) begin
    if (!rst_ni || abort_i || arm_i) begin
      state_q <= Pick;
      picked_q <= '0;
      waits_credit_o <= '0;
      if (!rst_ni) dtp_q <= '0;
    end else begin
      if (state_q == Enter) waits_credit_o[dtp_q] <= !ended_q && waits_q;
      if (take) dtp_q <= next_dtp;
      picked_q <= state_q == Pick ? {picked_q[0], 1'b1} : 2'b00;
      unique case (state_q)
        Pick: if (take) state_q <= Fetch;
        Fetch: state_q <= fetched.phase == Begin ? Check : Low;
        Check: state_q <= Judge;
        Judge: state_q <= Enter;
        Enter: state_q <= !ended_q && (enters_q || skips_q) ? Low : take ? Fetch : Pick;
        Low: state_q <= High;
        High: state_q <= record ? Ring : Out;
        Ring: state_q <= Out;
        Out: if (done) state_q <= take ? Fetch : Pick;
        default: state_q <= Pick;
      endcase
    end
  end
endmodule
