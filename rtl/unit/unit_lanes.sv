// SPDX-License-Identifier: Apache-2.0
// Thirty-two lanes with their calibration: raw beats as memory gives them, photons LaneStages + 3 cycles later. The gain that a
// word selects is part of the address of its entry, so that one memory of 512 entries is two banks of three gains of 64 beats.
module unit_lanes
  import unit_pkg::*;
  import jungfrau_pkg::*;
(
    input  logic              clk_i,
    input  logic              rst_ni,
    // calibration: eight lanes at a time, of both halves
    input  logic       [ 1:0] write_i,
    input  logic       [ 1:0] write_half_i,
    input  logic       [ 8:0] write_place_i[2],
    input  beat_t             write_data_i [2],
    // bursts that are under way, and what comes
    input  raw_burst_t        burst_i,
    input  logic       [31:0] last_lanes_i,
    input  logic              beat_i,
    input  beat_t             data_i,
    input  logic              last_i,            // of its burst
    output logic              free_o,            // of the calibration
    output logic              free_bank_o,
    // photons
    output logic              beat_o,
    output beat_t             data_o,
    output logic              last_o,
    output logic       [31:0] masked_o,          // of pixels that count
    output logic       [31:0] saturated_o,
    output logic       [31:0] valid_o,           // there is a pixel, and it is not masked
    output logic              some_o             // on the way
);
  localparam int unsigned Stages = LaneStages + 3;

  logic [5:0] count_q, row_q;
  logic  bank_q;
  beat_t raw_q  [3];
  logic [Stages-1:0] beat_q, last_q, short_q;
  logic [31:0] masked, saturated, lanes;


  always_ff @(posedge clk_i) begin
    raw_q[0] <= data_i;
    raw_q[1] <= raw_q[0];
    raw_q[2] <= raw_q[1];
    row_q    <= count_q;
    bank_q   <= burst_i.bank;
    last_q   <= {last_q[Stages-2:0], last_i};
    short_q  <= {short_q[Stages-2:0], last_i && burst_i.ends_image};
    free_bank_o <= burst_i.bank;
    if (!rst_ni) begin
      count_q <= '0;
      beat_q  <= '0;
      free_o  <= 1'b0;
      some_o  <= 1'b0;
    end else begin
      if (beat_i) count_q <= last_i ? '0 : count_q + 6'd1;
      beat_q <= {beat_q[Stages-2:0], beat_i};
      free_o <= beat_i && last_i && burst_i.frees;
      some_o <= beat_i || beat_q != '0;
    end
  end

  for (genvar lane = 0; lane < Lanes; ++lane) begin : g_lane
    localparam int unsigned Half = lane / 16;
    logic [63:0] table_q[512];
    logic [63:0] entry_q, read_q;
    logic [8:0] place;

    // The row that is 11 is no gain: its words are masked, or of gain 2.
    assign place = {bank_q, raw_q[0][16*lane+15] ? 2'd2 : {1'b0, raw_q[0][16*lane+14]}, row_q};
    always_ff @(posedge clk_i) begin
      if (write_i[Half] && write_half_i[Half] == 1'(lane / 8)) begin
        table_q[write_place_i[Half]] <= write_data_i[Half][64*(lane%8)+:64];
      end
      read_q  <= table_q[place];
      entry_q <= read_q;
    end

    jungfrau u_lane (
        .clk_i,
        .word_i(raw_q[2][16*lane+:16]),
        .pedestal_i(entry_q[31:0]),
        .factor_i(entry_q[63:32]),
        .photons_o(data_o[16*lane+:16]),
        .masked_o(masked[lane]),
        .saturated_o(saturated[lane])
    );
  end

  assign lanes = short_q[Stages-1] ? last_lanes_i : '1;
  assign beat_o = beat_q[Stages-1];
  assign last_o = last_q[Stages-1];
  assign masked_o = masked & lanes;
  assign saturated_o = saturated & lanes;
  assign valid_o = ~masked & lanes;
endmodule
