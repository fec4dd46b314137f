// SPDX-License-Identifier: Apache-2.0
// A bucket a DTP: it fills by `rate` 2^-16 bytes a cycle up to `burst` bytes and is emptied by the packets' bytes. A
// DTP may go while its bucket is not below zero, so it keeps to its rate whatever the lengths are. Two counts a DTP,
// modulo 2^32, each written by one side: bytes allowed and bytes spent; the bucket is their difference. Buckets are
// looked at in turn, one a cycle: what is added is that of 16 cycles.
module pacer
  import rashpa_pkg::*;
  import card_registers_pkg::*;
(
    input  logic                    clk_i,
    input  logic                    rst_ni,
    input  logic                    arm_i,    // all buckets are full
    input  table_write_t            table_i,
    input  logic                    spend_i,  // a descriptor of …
    input  dtp_t                    dtp_i,    // … this DTP has …
    input  logic         [    31:0] bytes_i,  // … so many bytes
    output logic         [Dtps-1:0] may_go_o
);
  localparam int unsigned Fraction = 12;  // 16 cycles at once: 2^-16 · 16
  localparam logic [31:0] MostBurst = 32'h4000_0000;  // so that no bucket leaves the range of 32 bits

  // What is spent
  logic [31:0] spent[Dtps];
  logic [31:0] bytes_q;
  dtp_t dtp_q;
  logic spend_q;
  always_ff @(posedge clk_i) begin
    spend_q <= rst_ni && spend_i;
    dtp_q   <= dtp_i;
    bytes_q <= bytes_i;
    if (spend_q) spent[dtp_q] <= spent[dtp_q] + bytes_q;
  end

  // The turn's: what is kept …
  logic [31:0] allowed[Dtps];
  logic [Fraction-1:0] rest[Dtps];
  logic [Dtps-1:0] fresh_q;  // full since Arm
  logic [31:0] rate, burst;
  dtp_t turn_q;
  table_word #(
      .Word(DtpTableRateWord)
  ) u_rate (
      .clk_i,
      .write_i(table_i),
      .dtp_i  (turn_q),
      .data_o (rate)
  );
  table_word #(
      .Word(DtpTableBurstWord)
  ) u_burst (
      .clk_i,
      .write_i(table_i),
      .dtp_i  (turn_q),
      .data_o (burst)
  );

  // … what that makes, a step a cycle …
  logic [3:0] looks_q;  // in which steps there is one
  logic [3:0][3:0] turns_q;
  logic [31:0] rate1_q, burst1_q, burst2_q, burst3_q;
  logic [31:0] allowed1_q, allowed2_q, allowed3_q, spent_seen_q, left_q, level_q, full2_q, full3_q;
  logic [31:0] allowed4_q, full4_q;
  logic [32:0] filled_q;
  logic [Fraction-1:0] rest1_q, rest3_q, rest4_q;
  logic [2:0] fresh1_q;
  logic fills_q, below_q, unlimited2_q, unlimited3_q, unlimited4_q;
  always_ff @(posedge clk_i) begin
    rate1_q      <= rate;
    burst1_q     <= burst >= MostBurst ? MostBurst : burst;
    allowed1_q   <= allowed[turn_q];
    rest1_q      <= rest[turn_q];
    spent_seen_q <= spent[turn_q];
    filled_q     <= 33'(rate1_q) + 33'(rest1_q);  // 2^-12 bytes
    left_q       <= allowed1_q - spent_seen_q;
    full2_q      <= spent_seen_q + burst1_q;
    allowed2_q   <= allowed1_q;
    unlimited2_q <= rate1_q == '0;
    burst2_q     <= burst1_q;
    level_q      <= left_q + 32'(filled_q[32:Fraction]);
    allowed3_q   <= allowed2_q + 32'(filled_q[32:Fraction]);
    rest3_q      <= filled_q[Fraction-1:0];
    full3_q      <= full2_q;
    burst3_q     <= burst2_q;
    unlimited3_q <= unlimited2_q;
    fills_q      <= fresh1_q[2] || (!level_q[31] && level_q > burst3_q);
    below_q      <= level_q[31] && !fresh1_q[2];
    allowed4_q   <= allowed3_q;
    rest4_q      <= fresh1_q[2] ? '0 : rest3_q;
    full4_q      <= full3_q;
    unlimited4_q <= unlimited3_q;
    fresh1_q     <= {fresh1_q[1:0], fresh_q[turn_q]};
    turns_q      <= {turns_q[2:0], turn_q};
    // … and is kept again
    if (looks_q[3]) begin
      allowed[turns_q[3]] <= fills_q ? full4_q : allowed4_q;
      rest[turns_q[3]] <= rest4_q;
    end
  end

  // Who may go. What has just gone counts at once: one descriptor a look.
  logic [Dtps-1:0] limited_q;  // has a rate
  logic [Dtps-1:0] stale_q;  // the look on its way does not know what was spent
  always_ff @(posedge clk_i) begin
    if (table_i.valid && table_i.word == DtpTableRateWord) limited_q[table_i.dtp] <= table_i.data != '0;
    for (int d = 0; d < int'(Dtps); d++) begin
      if (spend_q && dtp_q == 4'(d)) stale_q[d] <= 1'b1;
      else if (turn_q == 4'(d)) stale_q[d] <= 1'b0;
      if (looks_q[3] && turns_q[3] == 4'(d))
        may_go_o[d] <= unlimited4_q || !(below_q || stale_q[d] || (spend_q && dtp_q == 4'(d)));
      if (spend_i && dtp_i == 4'(d) && limited_q[d]) may_go_o[d] <= 1'b0;
    end
    if (!rst_ni || arm_i) begin
      turn_q   <= '0;
      looks_q  <= '0;
      fresh_q  <= '1;
      may_go_o <= '1;
    end else begin
      turn_q <= turn_q + 4'd1;
      looks_q <= {looks_q[2:0], 1'b1};
      fresh_q[turn_q] <= 1'b0;
    end
  end

endmodule
