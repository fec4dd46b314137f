// SPDX-License-Identifier: Apache-2.0
// Sixteen counters of 64 bits in distributed memory. One may grow in every cycle; its middle and its high part follow one
// and two cycles behind, so that no carry is longer than 22 bits.
module counter_table (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        clear_i,       // writes 0 at index_i instead
    input  logic        add_i,
    input  logic [ 3:0] index_i,
    input  logic [19:0] amount_i,
    input  logic [ 3:0] read_index_i,
    output logic [63:0] read_o
);

  logic [19:0] low[16];
  logic [21:0] middle[16];
  logic [21:0] high[16];
  logic [20:0] low_sum;
  logic [22:0] middle_sum;
  logic carry1_q, clear1_q, carry2_q, clear2_q;
  logic [3:0] index1_q, index2_q;

  assign low_sum    = {1'b0, low[index_i]} + {1'b0, amount_i};
  assign middle_sum = {1'b0, middle[index1_q]} + 23'd1;
  assign read_o     = {high[read_index_i], middle[read_index_i], low[read_index_i]};

  always_ff @(posedge clk_i) begin
    if (clear_i || add_i) low[index_i] <= clear_i ? '0 : low_sum[19:0];
    if (clear1_q || carry1_q) middle[index1_q] <= clear1_q ? '0 : middle_sum[21:0];
    if (clear2_q || carry2_q) high[index2_q] <= clear2_q ? '0 : high[index2_q] + 22'd1;
    index1_q <= index_i;
    index2_q <= index1_q;
    if (!rst_ni) begin
      carry1_q <= 1'b0;
      clear1_q <= 1'b0;
      carry2_q <= 1'b0;
      clear2_q <= 1'b0;
    end else begin
      carry1_q <= add_i && !clear_i && low_sum[20];
      clear1_q <= clear_i;
      carry2_q <= carry1_q && !clear1_q && middle_sum[22];
      clear2_q <= clear1_q;
    end
  end

endmodule
