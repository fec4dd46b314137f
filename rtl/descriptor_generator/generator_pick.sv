// SPDX-License-Identifier: Apache-2.0
// Which DTPs have images to play, and which of them is next: round robin among those that may go.
module generator_pick
  import rashpa_pkg::*;
  import card_registers_pkg::*;
(
    input  logic                    clk_i,
    input  logic                    rst_ni,
    input  logic                    arm_i,
    input  logic                    start_i,
    input  logic                    abort_i,
    input  table_write_t            table_i,
    input  logic         [Dtps-1:0] may_go_i,
    input  dtp_t                    dtp_i,     // the last one
    input  logic                    ended_i,   // it has no more images
    input  logic                    kept_i,    // its state has been kept
    output logic                    fresh_o,   // its state has not been kept since Arm
    output logic                    found_o,
    output dtp_t                    next_o,
    output logic         [Dtps-1:0] active_o
);
  logic [Dtps-1:0] enabled_q, active_q, fresh_q;

  assign fresh_o  = fresh_q[dtp_i];
  assign active_o = active_q;

  always_comb begin
    next_o  = dtp_i;
    found_o = 1'b0;
    for (int i = int'(Dtps); i > 0; i--) begin
      if (active_q[dtp_i+4'(i)] && may_go_i[dtp_i+4'(i)]) begin
        next_o  = dtp_i + 4'(i);
        found_o = 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      enabled_q <= '0;
      active_q  <= '0;
      fresh_q   <= '1;
    end else begin
      if (table_i.valid && table_i.word == DtpTableDtpWord)
        enabled_q[table_i.dtp] <= table_i.data[DtpTableDtpEnabledLsb];
      if (kept_i) fresh_q[dtp_i] <= 1'b0;
      if (ended_i) active_q[dtp_i] <= 1'b0;
      if (start_i) active_q <= enabled_q;
      if (arm_i) fresh_q <= '1;
      if (arm_i || abort_i) active_q <= '0;
    end
  end
endmodule
