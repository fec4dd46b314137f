// SPDX-License-Identifier: Apache-2.0
// Counts of each image: masked pixels, saturated ones, bright ones. Two stacks have theirs at a time.
module unit_counter
  import unit_pkg::*;
(
    input  logic                clk_i,
    input  logic                rst_ni,
    input  logic         [15:0] bright_i,       // a number with a sign
    input  logic                beat_i,
    input  logic                last_i,         // of its burst
    input  beat_t               photons_i,
    input  logic         [31:0] masked_i,
    input  logic         [31:0] saturated_i,
    input  logic         [31:0] valid_i,
    input  count_burst_t        burst_i,
    output logic                burst_done_o,
    output logic                stack_done_o,   // one cycle: its counts are whole
    // what they are
    input  logic                read_parity_i,
    input  logic         [ 5:0] read_image_i,
    output counts_t             read_o,
    output logic                some_o          // on the way
);
  localparam int unsigned Kinds = 3;
  localparam int unsigned Stages = 5;  // until a beat is three numbers

  logic [31:0] bits_q[Kinds];
  logic [2:0] fours_q[Kinds][8];
  logic [3:0] eights_q[Kinds][4];
  logic [4:0] sixteens_q[Kinds][2];
  logic [5:0] sum_q[Kinds];
  logic [11:0] burst_q[Kinds], ended_q[Kinds];
  logic [Stages-1:0] beat_q, last_q;
  logic begins_q;
  // the burst that has ended
  logic add_q, first_q, ends_stack_q;
  logic [6:0] place_q;
  counts_t counts_q[2*MostImages];
  counts_t old, sum;

  always_ff @(posedge clk_i) begin
    for (int unsigned pixel = 0; pixel < Lanes; ++pixel) begin
      bits_q[2][pixel] <= valid_i[pixel] && $signed(photons_i[16*pixel+:16]) >= $signed(bright_i);
    end
    bits_q[0] <= masked_i;
    bits_q[1] <= saturated_i;
    for (int unsigned kind = 0; kind < Kinds; ++kind) begin
      for (int unsigned i = 0; i < 8; ++i) begin
        fours_q[kind][i] <= 3'(bits_q[kind][4*i]) + 3'(bits_q[kind][4*i+1]) + 3'(bits_q[kind][4*i+2]) +
                            3'(bits_q[kind][4*i+3]);
      end
      for (int unsigned i = 0; i < 4; ++i) begin
        eights_q[kind][i] <= 4'(fours_q[kind][2*i]) + 4'(fours_q[kind][2*i+1]);
      end
      for (int unsigned i = 0; i < 2; ++i) begin
        sixteens_q[kind][i] <= 5'(eights_q[kind][2*i]) + 5'(eights_q[kind][2*i+1]);
      end
      sum_q[kind] <= 6'(sixteens_q[kind][0]) + 6'(sixteens_q[kind][1]);
      if (beat_q[Stages-1]) begin
        burst_q[kind] <= (begins_q ? 12'd0 : burst_q[kind]) + 12'(sum_q[kind]);
      end
      ended_q[kind] <= (begins_q ? 12'd0 : burst_q[kind]) + 12'(sum_q[kind]);
    end
    last_q <= {last_q[Stages-2:0], last_i};
    place_q <= {burst_i.parity, burst_i.image};
    first_q <= burst_i.first;
    ends_stack_q <= burst_i.ends_stack;
  end

  assign burst_done_o = beat_q[Stages-1] && last_q[Stages-1];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      beat_q   <= '0;
      begins_q <= 1'b1;
      add_q    <= 1'b0;
      some_o   <= 1'b0;
      stack_done_o <= 1'b0;
    end else begin
      beat_q <= {beat_q[Stages-2:0], beat_i};
      some_o <= beat_i || beat_q != '0 || add_q;
      if (beat_q[Stages-1]) begins_q <= last_q[Stages-1];
      add_q <= burst_done_o;
      stack_done_o <= add_q && ends_stack_q;
    end
  end

  assign old = first_q ? '0 : counts_q[place_q];
  always_comb begin
    sum.masked = old.masked + 32'(ended_q[0]);
    sum.saturated = old.saturated + 32'(ended_q[1]);
    sum.bright = old.bright + 32'(ended_q[2]);
  end
  always_ff @(posedge clk_i) begin
    if (add_q) counts_q[place_q] <= sum;
  end
  assign read_o = counts_q[{read_parity_i, read_image_i}];
endmodule
