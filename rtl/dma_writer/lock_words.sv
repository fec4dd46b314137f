// SPDX-License-Identifier: Apache-2.0
// Lock words that wait until the host has answered every write before them. What is behind them goes on meanwhile.
module lock_words
  import rashpa_pkg::*;
#(
    parameter int unsigned CountBits = 9,
    parameter int unsigned Depth     = 16
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    // a lock word comes, behind all bursts that have been pushed
    input  logic                 push_i,
    output logic                 full_o,       // perhaps no room for two more
    input  logic [         63:0] address_i,
    input  logic [         31:0] immediate_i,
    input  dtp_t                 dtp_i,
    input  logic [CountBits-1:0] issued_i,
    // answers
    input  logic [CountBits-1:0] answered_i,
    input  logic                 withhold_i,   // none may leave any more: they are dropped
    // the first one that may be written
    output logic                 ready_o,
    input  logic                 taken_i,
    output logic [         63:0] address_o,
    output logic [         31:0] immediate_o,
    output dtp_t                 dtp_o,
    output logic                 idle_o
);
  localparam int unsigned DepthBits = $clog2(Depth);
  logic valid, full, ready_q, pop;
  logic [CountBits-1:0] behind, ahead;
  logic [DepthBits:0] held_q;

  fifo #(
      .Width(64 + 32 + 4 + CountBits),
      .Depth(Depth)
  ) u_words (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .push_i,
      .data_i ({address_i, immediate_i, dtp_i, issued_i}),
      .full_o (full),
      .valid_o(valid),
      .data_o ({address_o, immediate_o, dtp_o, behind}),
      .pop_i  (pop)
  );
  assign ahead = answered_i - behind;
  assign ready_o = ready_q && !withhold_i;
  assign pop = valid && (withhold_i || taken_i);
  assign idle_o = held_q == '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ready_q <= 1'b0;
      full_o  <= 1'b0;
      held_q  <= '0;
    end else begin
      ready_q <= valid && !pop && !ahead[CountBits-1];
      full_o  <= held_q >= (DepthBits + 1)'(Depth - 2);
      held_q  <= held_q + (DepthBits + 1)'(push_i) - (DepthBits + 1)'(pop);
    end
  end
  wire unused_ok = &{1'b0, full};
endmodule
