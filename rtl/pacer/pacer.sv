// SPDX-License-Identifier: Apache-2.0
// A bucket a DTP: it fills by `rate` 2^-16 bytes a cycle up to `burst` bytes and is emptied by the packets' bytes. A
// DTP may go while its bucket is not below zero, so it keeps to its rate whatever the lengths are. Buckets are looked at
// in turn, one a cycle: what is added is that of 16 cycles.
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
  localparam int unsigned Bits = 32;  // bytes, signed

  logic [31:0] rate, burst;
  dtp_t                turn_q;
  logic [    Bits-1:0] level                      [Dtps];
  logic [Fraction-1:0] rest                       [Dtps];
  logic [    Dtps-1:0] fresh_q;  // full since Arm
  logic [        31:0] owed_q                     [Dtps];  // spent since its last turn
  logic [        31:0] spent;
  logic [Bits-1:0] now, left, filled;
  logic [31:0] sum;  // of rate and rest, 2^-12 bytes
  logic        unlimited;

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

  assign unlimited = rate == '0;
  assign now = fresh_q[turn_q] ? burst : level[turn_q];
  assign sum = rate + 32'(rest[turn_q]);
  assign left = now - owed_q[turn_q];
  assign filled = left + (sum >> Fraction);
  assign spent = spend_i ? bytes_i : '0;

  always_ff @(posedge clk_i) begin
    level[turn_q] <= !filled[Bits-1] && filled > burst ? burst : filled;
    rest[turn_q]  <= fresh_q[turn_q] ? '0 : sum[Fraction-1:0];
    for (int d = 0; d < int'(Dtps); d++) begin
      if (4'(d) == turn_q) owed_q[d] <= 4'(d) == dtp_i ? spent : '0;
      else if (4'(d) == dtp_i) owed_q[d] <= owed_q[d] + spent;
      if (!rst_ni || arm_i) owed_q[d] <= '0;
    end
  end

  // Those that have a rate
  logic [Dtps-1:0] limited_q;
  always_ff @(posedge clk_i) begin
    if (table_i.valid && table_i.word == DtpTableRateWord) limited_q[table_i.dtp] <= table_i.data != '0;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || arm_i) begin
      turn_q   <= '0;
      fresh_q  <= '1;
      may_go_o <= '1;
    end else begin
      turn_q <= turn_q + 4'd1;
      fresh_q[turn_q] <= 1'b0;
      may_go_o[turn_q] <= unlimited || !filled[Bits-1];
      // what has just gone counts at once: one descriptor a look
      if (spend_i && bytes_i != '0 && limited_q[dtp_i]) may_go_o[dtp_i] <= 1'b0;
    end
  end

endmodule
