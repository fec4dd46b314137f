// SPDX-License-Identifier: Apache-2.0
// One lane of the conversion: a word a cycle to photons, the integers of src/rashpa/kernel/jungfrau. Nothing stops it,
// nothing is reset: whoever feeds it knows when what comes out is of use.
module jungfrau
  import jungfrau_pkg::*;
(
    input  logic        clk_i,
    input  logic [15:0] word_i,
    input  logic [31:0] pedestal_i,  // binary32, of the word's gain: |P| < 2^24; from 2^33 on and NaN: not valid
    input  logic [31:0] factor_i,    // binary32, |S| ≤ 2^125; subnormal ones are 0
    output logic [15:0] photons_o,   // LaneStages cycles later
    output logic        masked_o,
    output logic        saturated_o
);
  logic error, overflow, invalid;
  logic masked_q[LaneStages-1];
  logic saturated_q[LaneStages-1];
  logic [31:0] factor_q[SubtractStages];
  difference_t difference;
  product_t product;

  assign error    = word_i[15:14] == 2'b10 || word_i == 16'hFFFF || word_i == 16'h4000;
  assign overflow = word_i == 16'hC000;
  assign invalid  = pedestal_i[30] && pedestal_i[29:28] != 2'b00;

  always_ff @(posedge clk_i) begin
    masked_q[0] <= error || invalid;
    saturated_q[0] <= overflow && !invalid;
    factor_q[0] <= factor_i;
    for (int unsigned i = 1; i < LaneStages - 1; ++i) begin
      masked_q[i] <= masked_q[i-1];
      saturated_q[i] <= saturated_q[i-1];
    end
    for (int unsigned i = 1; i < SubtractStages; ++i) factor_q[i] <= factor_q[i-1];
    masked_o <= masked_q[LaneStages-2];
    saturated_o <= saturated_q[LaneStages-2];
  end

  jungfrau_subtract u_subtract (
      .clk_i,
      .adu_i(word_i[13:0]),
      .pedestal_i,
      .difference_o(difference)
  );
  jungfrau_multiply u_multiply (
      .clk_i,
      .difference_i(difference),
      .factor_i(factor_q[SubtractStages-1]),
      .product_o(product)
  );
  jungfrau_round u_round (
      .clk_i,
      .product_i(product),
      .masked_i(masked_q[LaneStages-2]),
      .saturated_i(saturated_q[LaneStages-2]),
      .photons_o
  );
endmodule
