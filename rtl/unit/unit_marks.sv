// SPDX-License-Identifier: Apache-2.0
// Marks the pixels that lists are to have. Beats with such pixels, and the last one of each block, wait here for their turn.
module unit_marks
  import unit_pkg::*;
  import jungfrau_pkg::*;
#(
    parameter int unsigned Room = 512  // beats
) (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic         on_i,         // there are lists
    input  logic  [15:0] threshold_i,  // a number with a sign
    input  logic         beat_i,
    input  logic         last_i,       // of its block
    input  beat_t        photons_i,
    input  logic  [31:0] valid_i,
    output logic         room_o,       // for all that is on its way
    // what waits
    output logic         there_o,
    output logic         last_o,
    output logic         many_o,       // more pixels than a beat of a list has entries
    output logic  [ 5:0] row_o,        // which beat of the block
    output logic  [31:0] marks_o,
    output beat_t        photons_o,
    input  logic         pop_i
);
  localparam int unsigned Stages = 4;  // until the marks of a beat are counted
  localparam int unsigned Levels = $clog2(Room + 1);
  // What may come behind `room_o`: it takes its way through the lanes.
  localparam int unsigned OnTheWay = LaneStages + Stages + 16;

  logic [31:0] marks_q[Stages];
  beat_t photons_q[Stages];
  logic [Stages-1:0] beat_q, last_q;
  logic [2:0] fours_q[8];
  logic [3:0] eights_q[4];
  logic [4:0] sixteens_q[2];
  logic some, many_q, push_q, push_last_q, full;
  logic [31:0] push_marks_q;
  beat_t push_photons_q;
  logic [5:0] row_q, push_row_q;
  logic [Levels-1:0] level_q;

  always_ff @(posedge clk_i) begin
    for (int unsigned pixel = 0; pixel < Lanes; ++pixel) begin
      marks_q[0][pixel] <= on_i && valid_i[pixel] && $signed(photons_i[16*pixel+:16]) >= $signed(threshold_i);
    end
    photons_q[0] <= photons_i;
    for (int unsigned i = 1; i < Stages; ++i) begin
      marks_q[i]   <= marks_q[i-1];
      photons_q[i] <= photons_q[i-1];
    end
    for (int unsigned i = 0; i < 8; ++i) begin
      fours_q[i] <= 3'(marks_q[0][4*i]) + 3'(marks_q[0][4*i+1]) + 3'(marks_q[0][4*i+2]) + 3'(marks_q[0][4*i+3]);
    end
    for (int unsigned i = 0; i < 4; ++i) eights_q[i] <= 4'(fours_q[2*i]) + 4'(fours_q[2*i+1]);
    for (int unsigned i = 0; i < 2; ++i) sixteens_q[i] <= 5'(eights_q[2*i]) + 5'(eights_q[2*i+1]);
    last_q         <= {last_q[Stages-2:0], last_i};
    many_q         <= 6'(sixteens_q[0]) + 6'(sixteens_q[1]) > 6'(Entries);
    push_marks_q   <= marks_q[Stages-1];
    push_photons_q <= photons_q[Stages-1];
    push_last_q    <= last_q[Stages-1];
    push_row_q     <= row_q;
  end

  assign some = sixteens_q[0] != '0 || sixteens_q[1] != '0;
  always_ff @(posedge clk_i) begin
    room_o <= level_q < Levels'(Room - OnTheWay);
    if (!rst_ni) begin
      beat_q  <= '0;
      row_q   <= '0;
      push_q  <= 1'b0;
      level_q <= '0;
    end else begin
      beat_q <= {beat_q[Stages-2:0], beat_i};
      if (beat_q[Stages-1]) row_q <= last_q[Stages-1] ? '0 : row_q + 6'd1;
      push_q  <= beat_q[Stages-1] && (some || last_q[Stages-1]);
      level_q <= level_q + Levels'(push_q) - Levels'(pop_i);
    end
  end

  fifo #(
      .Width(2 + 6 + 32 + 512),
      .Depth(Room)
  ) u_beats (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .push_i (push_q),
      .data_i ({push_last_q, many_q, push_row_q, push_marks_q, push_photons_q}),
      .full_o (full),
      .valid_o(there_o),
      .data_o ({last_o, many_o, row_o, marks_o, photons_o}),
      .pop_i
  );
  wire unused_ok = &{1'b0, full};
endmodule
