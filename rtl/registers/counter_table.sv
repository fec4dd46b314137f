// SPDX-License-Identifier: Apache-2.0
// Sixteen counters of 64 bits in distributed memory. One may grow in every cycle; the high half follows one cycle
// behind, so that no carry is longer than 32 bits.
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

  logic [31:0] low [16];
  logic [31:0] high[16];
  logic [32:0] sum;
  logic carry_q, clear_q;
  logic [3:0] index_q;

  assign sum    = {1'b0, low[index_i]} + {13'b0, amount_i};
  assign read_o = {high[read_index_i], low[read_index_i]};

  always_ff @(posedge clk_i) begin
    if (clear_i || add_i) low[index_i] <= clear_i ? '0 : sum[31:0];
    if (clear_q || carry_q) high[index_q] <= clear_q ? '0 : high[index_q] + 32'd1;
    index_q <= index_i;
    if (!rst_ni) begin
      carry_q <= 1'b0;
      clear_q <= 1'b0;
    end else begin
      carry_q <= add_i && !clear_i && sum[32];
      clear_q <= clear_i;
    end
  end

endmodule
