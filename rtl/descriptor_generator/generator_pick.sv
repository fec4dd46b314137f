// SPDX-License-Identifier: Apache-2.0
// Which DTPs have images to play, and which of them is next: round robin among those that may go, found from what was so two
// cycles ago.
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
    input  logic                    picks_i,   // it shows nothing
    input  logic                    ended_i,   // it has no more images
    input  logic                    kept_i,    // its state has been kept
    output logic                    fresh_o,   // its state has not been kept since Arm
    output logic                    found_o,
    output dtp_t                    next_o,
    output logic         [Dtps-1:0] active_o
);
  logic [Dtps-1:0] enabled_q, active_q, fresh_q;
  logic [Dtps-1:0] limited_q;  // has a rate

  assign fresh_o  = fresh_q[dtp_i];
  assign active_o = active_q;

  function automatic dtp_t lowest(logic [Dtps-1:0] which);
    lowest = '0;
    for (int i = int'(Dtps) - 1; i >= 0; i--) if (which[i]) lowest = 4'(i);
  endfunction

  // Those that can be next, and of them those behind the last one; then the first of each.
  logic [Dtps-1:0] ready_q, behind_q;
  dtp_t ready_first_q, behind_first_q;
  logic found_q, behind_found_q, picks_q;
  always_ff @(posedge clk_i) begin
    picks_q <= picks_i;
    for (int i = 0; i < int'(Dtps); i++) begin
      // The pacer has not yet counted what the last one shows now, nor, a cycle later, what it has shown.
      ready_q[i]  <= active_q[i] && may_go_i[i] && (dtp_i != 4'(i) || (picks_i && picks_q) || !limited_q[i]);
      behind_q[i] <= active_q[i] && may_go_i[i] && dtp_i < 4'(i);
    end
    ready_first_q  <= lowest(ready_q);
    behind_first_q <= lowest(behind_q);
    found_q        <= ready_q != '0;
    behind_found_q <= behind_q != '0;
  end
  assign found_o = found_q;
  assign next_o  = behind_found_q ? behind_first_q : ready_first_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      enabled_q <= '0;
      active_q  <= '0;
      limited_q <= '0;
      fresh_q   <= '1;
    end else begin
      if (table_i.valid && table_i.word == DtpTableDtpWord)
        enabled_q[table_i.dtp] <= table_i.data[DtpTableDtpEnabledLsb];
      if (table_i.valid && table_i.word == DtpTableRateWord) limited_q[table_i.dtp] <= table_i.data != '0;
      if (kept_i) fresh_q[dtp_i] <= 1'b0;
      if (ended_i) active_q[dtp_i] <= 1'b0;
      if (start_i) active_q <= enabled_q;
      if (arm_i) fresh_q <= '1;
      if (arm_i || abort_i) active_q <= '0;
    end
  end
endmodule
