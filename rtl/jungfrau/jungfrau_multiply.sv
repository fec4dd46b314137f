// SPDX-License-Identifier: Apache-2.0
// fl32(difference · S): 24 × 24 bits in two multipliers, rounded to the nearest, ties to even.
module jungfrau_multiply
  import jungfrau_pkg::*;
(
    input  logic               clk_i,
    input  difference_t        difference_i,
    input  logic        [31:0] factor_i,
    output product_t           product_o      // MultiplyStages cycles later
);
  // 1: the parts of the product, and the sum of the exponents
  logic [40:0] low_q;
  logic [30:0] high_q;
  logic [10:0] exponent_q;
  logic [2:0] negative_q, zero_q;
  // 2: the product; below bit 17 only whether there is anything
  logic [30:0] product_q;
  logic sticky_q;
  logic [10:0] shift_q;
  // 3: normalised
  logic [23:0] kept_q;
  logic half_q, rest_q;
  logic [10:0] normal_shift_q;

  always_ff @(posedge clk_i) begin
    low_q <= 41'({1'b1, difference_i.fraction}) * 41'(factor_i[16:0]);
    high_q <= 31'({1'b1, difference_i.fraction}) * 31'({1'b1, factor_i[22:17]});
    exponent_q <= 11'(difference_i.exponent) + 11'(factor_i[30:23]) + 11'(difference_i.carry);
    negative_q[0] <= difference_i.negative ^ factor_i[31];
    zero_q[0] <= difference_i.zero || factor_i[30:23] == '0;

    product_q <= high_q + 31'(low_q[40:17]);
    sticky_q <= low_q[16:0] != '0;
    shift_q <= 11'd268 - exponent_q;

    kept_q <= product_q[30] ? product_q[30:7] : product_q[29:6];
    half_q <= product_q[30] ? product_q[6] : product_q[5];
    rest_q <= (product_q[30] && product_q[5]) || product_q[4:0] != '0 || sticky_q;
    normal_shift_q <= shift_q - 11'(product_q[30]);

    {product_o.carry, product_o.fraction} <= 24'(kept_q[22:0]) + 24'(half_q && (rest_q || kept_q[0]));
    product_o.shift <= normal_shift_q;
    product_o.negative <= negative_q[2];
    product_o.zero <= zero_q[2];
    negative_q[2:1] <= negative_q[1:0];
    zero_q[2:1] <= zero_q[1:0];
  end
  wire unused_ok = &{1'b0, kept_q[23]};
endmodule
