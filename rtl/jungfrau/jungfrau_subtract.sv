// SPDX-License-Identifier: Apache-2.0
// fl32(adu − P). Both stand in a frame of fixed point, 2^24 … 2^-26, where the integer adu has a place of its own and only
// P is shifted; what P has below it is one sticky bit. adu = 0: P is not shifted, and the exponent is its own, so that
// nothing of it is lost.
module jungfrau_subtract
  import jungfrau_pkg::*;
(
    input  logic               clk_i,
    input  logic        [13:0] adu_i,
    input  logic        [31:0] pedestal_i,
    output difference_t        difference_o  // SubtractStages cycles later
);
  localparam int unsigned Frame = 51;  // bit 50 is 2^24, bit 0 is 2^-26 and all below

  // 1: what P is
  logic positive_q[4];
  logic [13:0] adu_q[4];
  logic [23:0] mantissa_q;
  logic [7:0] below_q;  // of P's first bit from 2^23
  logic empty_q;  // adu is 0
  logic [8:0] base_q[9];  // exponent of bit 50
  // 2 … 4: P into the frame
  logic [5:0] shift;
  logic [26:0] by_ones_q;
  logic [3:0] by_more_q;
  logic [38:0] by_fours_q;
  logic [1:0] by_most_q;
  logic [49:0] pedestal_q;
  logic [2:0] lost_q;  // bits that are below the frame, if they are
  // 5, 6: the difference, and its size
  logic [25:0] whole;
  logic [51:0] signed_q;
  logic [Frame-1:0] size_q[3];  // ones in place of zeros below it when it is complemented: one less than the size
  logic complement_q[4];
  logic minus_q[5];  // the difference is below zero
  // 7 … 9: normalised
  logic [2:0] any_q;
  logic tail_q;
  logic [1:0] far, near, last;
  logic [1:0] far_q[3], near_q[2];
  logic [1:0] last_q;
  logic zero_q[3];
  logic [24:0] kept_q;
  logic rest_q, tip_q;
  // 10: rounded
  logic up;

  always_ff @(posedge clk_i) begin
    positive_q[0] <= !pedestal_i[31];
    adu_q[0]      <= adu_i;
    empty_q       <= adu_i == '0;
    mantissa_q    <= pedestal_i[30:23] == '0 ? '0 : {1'b1, pedestal_i[22:0]};
    below_q       <= 8'd150 - pedestal_i[30:23];
    base_q[0]     <= adu_i == '0 ? 9'(pedestal_i[30:23]) + 9'd1 : 9'd151;
    for (int unsigned i = 1; i < 4; ++i) begin
      positive_q[i] <= positive_q[i-1];
      adu_q[i]      <= adu_q[i-1];
    end
    for (int unsigned i = 1; i < 9; ++i) base_q[i] <= base_q[i-1];
  end

  assign shift = empty_q ? 6'd0 : below_q[5:0] | {6{below_q[7] | below_q[6]}};
  always_ff @(posedge clk_i) begin
    by_ones_q  <= {mantissa_q, 3'b0} >> shift[1:0];
    by_more_q  <= shift[5:2];
    by_fours_q <= {by_ones_q, 12'b0} >> {by_more_q[1:0], 2'b0};
    by_most_q  <= by_more_q[3:2];
    unique case (by_most_q)
      2'd0: pedestal_q <= {by_fours_q, 11'b0};
      2'd1: pedestal_q <= {16'b0, by_fours_q[38:5]};
      2'd2: pedestal_q <= {32'b0, by_fours_q[38:21]};
      2'd3: pedestal_q <= {48'b0, by_fours_q[38:37]};
    endcase
    lost_q[0] <= by_most_q != 2'd0 && by_fours_q[4:0] != '0;
    lost_q[1] <= by_most_q[1] && by_fours_q[20:5] != '0;
    lost_q[2] <= by_most_q == 2'd3 && by_fours_q[36:21] != '0;
  end

  assign whole = positive_q[3] ? 26'(pedestal_q[49:26]) - 26'(adu_q[3]) : 26'(pedestal_q[49:26]) + 26'(adu_q[3]);
  always_ff @(posedge clk_i) begin
    signed_q        <= {whole, pedestal_q[25:1], pedestal_q[0] || lost_q != '0};
    minus_q[0]      <= positive_q[3];
    size_q[0]       <= signed_q[50:0] ^ {Frame{signed_q[51]}};
    complement_q[0] <= signed_q[51];
    minus_q[1]      <= minus_q[0] && !signed_q[51];
    any_q[0]        <= (signed_q[50:35] ^ {16{signed_q[51]}}) != '0;
    any_q[1]        <= (signed_q[34:19] ^ {16{signed_q[51]}}) != '0;
    any_q[2]        <= (signed_q[18:3] ^ {16{signed_q[51]}}) != '0;
    tail_q          <= signed_q[51] || signed_q[2:0] != '0;
    for (int unsigned i = 1; i < 4; ++i) complement_q[i] <= complement_q[i-1];
    for (int unsigned i = 2; i < 5; ++i) minus_q[i] <= minus_q[i-1];
  end

  // Leading zeros: sixteens, fours, ones.
  assign far  = any_q[0] ? 2'd0 : any_q[1] ? 2'd1 : any_q[2] ? 2'd2 : 2'd3;
  assign near = size_q[1][50:47] != '0 ? 2'd0 : size_q[1][46:43] != '0 ? 2'd1 : size_q[1][42:39] != '0 ? 2'd2 : 2'd3;
  assign last = size_q[2][50] ? 2'd0 : size_q[2][49] ? 2'd1 : size_q[2][48] ? 2'd2 : 2'd3;
  always_ff @(posedge clk_i) begin
    unique case (far)
      2'd0: size_q[1] <= size_q[0];
      2'd1: size_q[1] <= {size_q[0][34:0], {16{complement_q[0]}}};
      2'd2: size_q[1] <= {size_q[0][18:0], {32{complement_q[0]}}};
      2'd3: size_q[1] <= {size_q[0][2:0], {48{complement_q[0]}}};
    endcase
    far_q[0]  <= far;
    zero_q[0] <= any_q == '0 && !tail_q;
    unique case (near)
      2'd0: size_q[2] <= size_q[1];
      2'd1: size_q[2] <= {size_q[1][46:0], {4{complement_q[1]}}};
      2'd2: size_q[2] <= {size_q[1][42:0], {8{complement_q[1]}}};
      2'd3: size_q[2] <= {size_q[1][38:0], {12{complement_q[1]}}};
    endcase
    far_q[1]  <= far_q[0];
    near_q[0] <= near;
    zero_q[1] <= zero_q[0];
    unique case (last)
      2'd0: kept_q <= size_q[2][50:26];
      2'd1: kept_q <= size_q[2][49:25];
      2'd2: kept_q <= size_q[2][48:24];
      2'd3: kept_q <= size_q[2][47:23];
    endcase
    // Whether what is below the bit behind the kept ones differs from what has been shifted in.
    rest_q <= (size_q[2][22:0] ^ {23{complement_q[2]}}) != '0;
    unique case (last)
      2'd0: tip_q <= (size_q[2][25:23] ^ {3{complement_q[2]}}) != '0;
      2'd1: tip_q <= (size_q[2][24:23] ^ {2{complement_q[2]}}) != '0;
      2'd2: tip_q <= size_q[2][23] ^ complement_q[2];
      2'd3: tip_q <= 1'b0;
    endcase
    far_q[2]  <= far_q[1];
    near_q[1] <= near_q[0];
    last_q    <= last;
    zero_q[2] <= zero_q[1];
  end

  // To the nearest, ties to even. A complemented size lacks one in its last place.
  always_comb begin
    if (complement_q[3]) up = kept_q[0] || (!rest_q && !tip_q && kept_q[1]);
    else up = kept_q[0] && (rest_q || tip_q || kept_q[1]);
  end
  always_ff @(posedge clk_i) begin
    {difference_o.carry, difference_o.fraction} <= 24'(kept_q[23:1]) + 24'(up);
    difference_o.exponent <= base_q[8] - 9'({far_q[2], near_q[1], last_q});
    difference_o.negative <= minus_q[4];
    difference_o.zero <= zero_q[2];
  end
  wire unused_ok = &{1'b0, kept_q[24]};
endmodule
