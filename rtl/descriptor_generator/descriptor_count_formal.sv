// SPDX-License-Identifier: Apache-2.0
// Of any DTP, whatever credits, frames, the pacer and the other DTPs say: no more images than its table has; of each that is
// not left out the pieces of a run one behind the other, run for run, then its event. So there are never more descriptors of
// lines than images times runs times pieces.
module descriptor_count_formal
  import rashpa_pkg::*;
  import generator_pkg::*;
(
    input logic                    clk_i,
    input logic                    rst_ni,
    input logic                    arm_i,
    input logic                    start_i,
    input logic                    abort_i,
    input table_write_t            table_i,
    input logic         [    31:0] granted_i,
    input logic         [    31:0] frames_i,
    input logic         [Dtps-1:0] may_go_i,
    input logic                    ready_i
);
  typedef enum logic [3:0] {
    Pick,
    Fetch,
    Check,
    Judge,
    Enter,
    Low,
    High,
    Ring,
    Out
  } state_e;

  dtp_t dtp;
  logic valid, skips;
  descriptor_t descriptor;
  logic [Dtps-1:0] active, waits;
  descriptor_generator dut (
      .clk_i,
      .rst_ni,
      .arm_i,
      .start_i,
      .abort_i,
      .table_i,
      .dtp_o(dtp),
      .granted_i,
      .frames_i,
      .may_go_i,
      .valid_o(valid),
      .ready_i,
      .descriptor_o(descriptor),
      .active_o(active),
      .waits_credit_o(waits),
      .skips_o(skips)
  );

  logic  running_q = 1'b0;
  logic  armed_q;
  plan_t plan;
  dtp_t  counted;
  assign plan = dut.u_plan.plan_q;
  assign counted = dut.u_plan.counted_q;
  always_ff @(posedge clk_i) begin
    running_q <= 1'b1;
    if (!rst_ni) armed_q <= 1'b0;
    else armed_q <= arm_i || (armed_q && !start_i && !abort_i);
  end
  always_comb begin
    if (!running_q) assume (!rst_ni);
    // A run begins behind Arm, and software's table has no zeros here: registers see to both.
    if (!armed_q || arm_i || abort_i) assume (!start_i);
    assume (plan.outer_count != '0 && plan.inner_count != '0);
  end

  // What has been taken of the DTP since Arm
  typedef struct packed {
    logic [63:0] images;  // events, and images that were left out
    logic [31:0] runs;    // of the next image
    logic [31:0] pieces;  // of the next run
  } taken_t;
  taken_t taken_q, behind;  // behind: what it is when the next one is taken
  logic last_piece;
  assign last_piece = taken_q.pieces + 32'd1 == plan.inner_count;
  always_comb begin
    behind = taken_q;
    if (taken_q.runs == plan.outer_count) begin
      behind.images = taken_q.images + 64'd1;
      behind.runs   = '0;
    end else begin
      behind.pieces = last_piece ? '0 : taken_q.pieces + 32'd1;
      behind.runs   = taken_q.runs + 32'(last_piece);
    end
  end
  logic taken, skipped;
  assign taken   = valid && ready_i && !abort_i && !arm_i && dtp == counted;
  assign skipped = skips && !abort_i && !arm_i && dtp == counted;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || arm_i) taken_q <= '0;
    else if (taken) taken_q <= behind;
    else if (skipped) taken_q.images <= taken_q.images + 64'd1;
  end

  // What the generator keeps of it, when so much has been taken
  function automatic logic fits(context_t kept, taken_t taken, plan_t plan);
    if (kept.index != taken.images) return 1'b0;
    unique case (kept.phase)
      Begin: return taken.runs == '0 && taken.pieces == '0;
      Lines:
      return kept.inner_left == plan.inner_count - taken.pieces && taken.pieces < plan.inner_count
          && kept.outer_left == plan.outer_count - taken.runs && taken.runs < plan.outer_count
          && kept.last_piece == (kept.inner_left == 32'd1) && kept.last_run == (kept.outer_left == 32'd1)
          && kept.fresh_image == (taken.runs == '0 && taken.pieces == '0) && taken.images < plan.images;
      Record: return taken.runs == plan.outer_count && taken.pieces == '0 && taken.images < plan.images;
      default: return 1'b0;
    endcase
  endfunction

  context_t kept;
  logic in_hand, skipping;  // it is in hand; its image is left out
  assign kept = dut.kept[counted];
  assign in_hand = dut.state_q > Fetch && dtp == counted;
  assign skipping = in_hand && dut.state_q >= Low && !dut.shows_q;
  logic held;  // what is kept of it is of no use: it is being replaced
  assign held = in_hand && dut.state_q == Out;
  always_ff @(posedge clk_i) begin
    if (rst_ni && running_q && active[counted]) begin
      if (valid && dtp == counted) begin
        assert (taken_q.images < plan.images);
        assert (descriptor.event_record == (taken_q.runs == plan.outer_count));
        assert (descriptor.event_record || (taken_q.runs < plan.outer_count && taken_q.pieces < plan.inner_count));
        assert (descriptor.begins_image == (taken_q.runs == '0 && taken_q.pieces == '0));
        assert (descriptor.dtp == counted);
      end
      if (skips && dtp == counted) assert (taken_q.images < plan.images && taken_q.runs == '0 && taken_q.pieces == '0);
      // what induction has to know
      if (!held) begin
        if (dut.u_pick.fresh_q[counted])
          assert (taken_q == '0);
          else assert (fits(kept, taken_q, plan));
      end
      if (in_hand) begin
        assert (dut.outer_q == plan.outer_count && dut.inner_q == plan.inner_count);
        if (dut.state_q != Check && dut.state_q != Low) assert (dut.one_run_q == (plan.outer_count == 32'd1));
        if (dut.state_q != Check && dut.state_q != Low) assert (dut.one_piece_q == (plan.inner_count == 32'd1));
        if (dut.state_q <= Enter) assert (dut.c_q.phase == Begin && fits(dut.c_q, taken_q, plan) && dut.shows_q);
        if (dut.state_q == Judge) begin
          assert (dut.images_low_q == (taken_q.images[31:0] < plan.images[31:0]));
          assert (dut.images_high_q == (taken_q.images[63:32] < plan.images[63:32]));
          assert (dut.images_same_q == (taken_q.images[63:32] == plan.images[63:32]));
        end
        if (dut.state_q == Enter) begin
          assert (dut.ended_q == (taken_q.images >= plan.images));
          assert (!(dut.enters_q && dut.skips_q));
        end
        if (dut.state_q >= Low) begin
          assert (dut.c_q.phase != Begin);
          if (!skipping)
            assert (fits(dut.c_q, taken_q, plan));
            else begin
              assert (dut.c_q.phase == Record && taken_q.runs == '0 && taken_q.pieces == '0);
              if (dut.state_q != Out) assert (dut.c_q.index == taken_q.images && taken_q.images < plan.images);
            end
        end
        if (dut.state_q == Ring) assert (dut.c_q.phase == Record);
        if (dut.state_q == Out) assert (fits(dut.next, skipping ? taken_q : behind, plan));
        if (dut.state_q == Out) assert (descriptor.event_record == (dut.c_q.phase == Record) && descriptor.dtp == dtp);
        if (dut.state_q == Out && !skipping)
          assert (descriptor.begins_image == (dut.c_q.phase == Lines && dut.c_q.fresh_image));
      end
      cover (taken && descriptor.event_record);
      cover (skipped);
    end
    if (rst_ni && running_q) begin
      if (dut.state_q != Pick) assert (active[dtp]);
      assert (dut.state_q <= Out);
      if (armed_q) assert (active == '0 && taken_q == '0 && dut.u_pick.fresh_q[counted]);
    end
  end
endmodule
