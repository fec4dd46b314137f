// SPDX-License-Identifier: Apache-2.0
// One entry of the table of addresses: whether a packet lies between its begin and its end, and its shift.
module address_entry
  import rashpa_pkg::*;
#(
    parameter logic [6:0] Word = 7'd0  // the first of six: begin, end, shift, low words first
) (
    input  logic                clk_i,
    input  table_write_t        addresses_i,
    // the packet in front
    input  dtp_t                dtp_i,
    input  logic                sum_i,         // begin_i is looked at
    input  logic                compare_i,     // a cycle later: its end, too
    input  logic         [63:0] begin_i,
    input  logic         [31:0] end_low_i,     // behind its last byte
    input  logic         [32:0] end_high_i,
    output logic                hit_o,         // a cycle later
    // the packet behind
    input  dtp_t                behind_dtp_i,
    output logic         [31:0] shift_low_o,
    output logic         [31:0] shift_high_o
);
  logic [31:0] begin_low, begin_high, end_low, end_high;
  logic above_low_q, above_high_q, same_begin_q, begun_q, below_low_q, below_high_q, same_end_q;

  table_word #(
      .Word(Word)
  ) u_begin_low (
      .clk_i,
      .write_i(addresses_i),
      .dtp_i,
      .data_o (begin_low)
  );
  table_word #(
      .Word(Word + 7'd1)
  ) u_begin_high (
      .clk_i,
      .write_i(addresses_i),
      .dtp_i,
      .data_o (begin_high)
  );
  table_word #(
      .Word(Word + 7'd2)
  ) u_end_low (
      .clk_i,
      .write_i(addresses_i),
      .dtp_i,
      .data_o (end_low)
  );
  table_word #(
      .Word(Word + 7'd3)
  ) u_end_high (
      .clk_i,
      .write_i(addresses_i),
      .dtp_i,
      .data_o (end_high)
  );
  table_word #(
      .Word(Word + 7'd4)
  ) u_shift_low (
      .clk_i,
      .write_i(addresses_i),
      .dtp_i  (behind_dtp_i),
      .data_o (shift_low_o)
  );
  table_word #(
      .Word(Word + 7'd5)
  ) u_shift_high (
      .clk_i,
      .write_i(addresses_i),
      .dtp_i  (behind_dtp_i),
      .data_o (shift_high_o)
  );

  always_ff @(posedge clk_i) begin
    if (sum_i) begin
      above_low_q  <= begin_i[31:0] >= begin_low;
      above_high_q <= begin_i[63:32] > begin_high;
      same_begin_q <= begin_i[63:32] == begin_high;
    end
    if (compare_i) begin
      begun_q      <= above_high_q || (same_begin_q && above_low_q);
      below_low_q  <= end_low_i <= end_low;
      below_high_q <= end_high_i < {1'b0, end_high};
      same_end_q   <= end_high_i == {1'b0, end_high};
    end
  end
  assign hit_o = begun_q && (below_high_q || (same_end_q && below_low_q));
endmodule
