// SPDX-License-Identifier: Apache-2.0
// A product to photons: to the nearest integer, ties to even, held between the two special values.
module jungfrau_round
  import jungfrau_pkg::*;
(
    input  logic            clk_i,
    input  product_t        product_i,
    input  logic            masked_i,     // of the photons that come out with the next edge
    input  logic            saturated_i,
    output logic     [15:0] photons_o     // RoundStages cycles later
);
  // 1: how far to shift
  logic [10:0] shift_q;
  logic [23:0] mantissa_q;
  logic zero_q;
  logic [4:0] negative_q;
  // 2: by 0 … 3; the 15 bits of the integer and the one behind them
  logic [15:0] by_ones_q;
  logic dropped_q;
  logic [1:0] by_more_q;
  logic [2:0] large_q;
  logic none_q;
  // 3: by 0, 4, 8, 12
  logic [15:0] by_fours_q;
  logic rest_q;
  // 4, 5: rounded, and with its sign
  logic up;
  logic [15:0] value_q[2];
  logic beyond_q;

  always_ff @(posedge clk_i) begin
    shift_q <= product_i.shift - 11'(product_i.carry);
    mantissa_q <= {1'b1, product_i.fraction};
    zero_q <= product_i.zero;
    negative_q <= {negative_q[3:0], product_i.negative};

    by_ones_q <= 16'(mantissa_q[23:8] >> shift_q[1:0]);
    dropped_q  <= mantissa_q[7:0] != '0 || (shift_q[1:0] != 2'd0 && mantissa_q[8]) ||
                  (shift_q[1] && mantissa_q[9]) || (shift_q[1:0] == 2'd3 && mantissa_q[10]);
    by_more_q <= shift_q[3:2];
    large_q[0] <= shift_q[10] && !zero_q;
    none_q <= zero_q || shift_q[9:4] != '0;

    by_fours_q <= none_q ? 16'd0 : by_ones_q >> {by_more_q, 2'b0};
    unique case (by_more_q)
      2'd0: rest_q <= dropped_q;
      2'd1: rest_q <= dropped_q || by_ones_q[3:0] != '0;
      2'd2: rest_q <= dropped_q || by_ones_q[7:0] != '0;
      2'd3: rest_q <= dropped_q || by_ones_q[11:0] != '0;
    endcase
    large_q[1] <= large_q[0];
  end

  assign up = by_fours_q[0] && (rest_q || by_fours_q[1]);
  always_ff @(posedge clk_i) begin
    // −(n + up) = ~n + 1 − up
    value_q[0] <= (16'(by_fours_q[15:1]) ^ {16{negative_q[2]}}) + 16'({up ^ negative_q[2]});
    large_q[2] <= large_q[1];

    value_q[1] <= value_q[0];
    if (negative_q[3]) beyond_q <= large_q[2] || value_q[0] == 16'h8000;
    else beyond_q <= large_q[2] || value_q[0][15] || value_q[0][14:0] == '1;

    if (masked_i) photons_o <= MaskedPhotons;
    else if (saturated_i) photons_o <= SaturatedPhotons;
    else if (beyond_q) photons_o <= negative_q[4] ? SmallestPhotons : LargestPhotons;
    else photons_o <= value_q[1];
  end
endmodule
