// SPDX-License-Identifier: Apache-2.0
// Whatever the table, the credits, the frames and the pacer say: a descriptor that is shown stays until it is taken, it
// is of a DTP that has images to play, and Abort or Arm end everything in a cycle, until the next start.
module descriptor_generator_formal
  import rashpa_pkg::*;
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
  localparam logic [3:0] Pick = 4'd0;
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

  logic running_q = 1'b0;
  logic held_q, over_q;
  descriptor_t shown_q;
  always_ff @(posedge clk_i) begin
    running_q <= 1'b1;
    held_q <= rst_ni && valid && !ready_i && !abort_i && !arm_i;
    over_q <= rst_ni && (abort_i || arm_i);
    shown_q <= descriptor;
  end
  always_comb begin
    if (!running_q) assume (!rst_ni);
    // A run is started when none is going on.
    if (active != '0 || arm_i || abort_i) assume (!start_i);
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni && running_q) begin
      if (held_q) assert (valid && descriptor == shown_q);
      if (valid || skips) assert (active[dtp]);
      if (over_q) assert (!valid && !skips && active == '0 && waits == '0);
      if (active == '0) assert (!valid && !skips);
      // what induction has to know
      if (dut.state_q != Pick) assert (active[dtp]);
      assert (dut.state_q <= 4'd8);
      if (dut.picked_q[1]) assert (dut.picked_q[0]);
      if (dut.picked_q != '0) assert (dut.state_q <= 4'd1);
      cover (valid && ready_i && descriptor.event_record);
      cover (skips);
    end
  end
endmodule
