// SPDX-License-Identifier: Apache-2.0
// Marked pixels of a beat, brought to its beginning: at most 16 a cycle, so that a beat with more of them takes two. Behind
// the last beat of a block comes a cycle that says so.
module unit_compact
  import unit_pkg::*;
(
    input  logic          clk_i,
    input  logic          rst_ni,
    input  logic          room_i,     // for all that is on its way
    input  logic          there_i,
    input  logic          last_i,
    input  logic          many_i,
    input  logic   [ 5:0] row_i,
    input  logic   [31:0] marks_i,
    input  beat_t         photons_i,
    output logic          pop_o,
    // entries of a block, and its end
    output logic          some_o,
    output logic   [ 4:0] count_o,
    output entry_t [15:0] entries_o,
    output logic          end_o
);
  localparam int unsigned Sums = 5;  // cycles until it is known how far each pixel goes
  localparam int unsigned Stages = Sums + 4;

  logic second_q, ending_q, room_q, begins;
  logic [Stages-1:0] some_q, end_q;
  logic [31:0] marks_q[Sums];
  beat_t photons_q[Sums];
  logic [5:0] row_q[Stages-1];
  logic [1:0] before_q[Sums-1][Lanes];  // marked pixels of the same four
  logic [2:0] fours_q[8];
  logic [3:0] twos_q[8];  // of these and the four before, …
  logic [4:0] quads_q[8];
  logic [4:0] all_q[8];
  logic [4:0] count_q[4];
  slot_t [Lanes-1:0] ways_q, by_1, by_3, by_3_q, by_7, by_15, by_15_q, by_31;
  entry_t [15:0] entries_q;

  // A block's end is a beat of its own.
  assign begins = there_i && room_q && !ending_q;
  assign pop_o  = begins && (!many_i || second_q);
  always_ff @(posedge clk_i) begin
    room_q <= room_i;
    if (!rst_ni) begin
      second_q <= 1'b0;
      ending_q <= 1'b0;
      some_q   <= '0;
      end_q    <= '0;
    end else begin
      if (begins) second_q <= many_i && !second_q;
      ending_q <= pop_o && last_i;
      some_q   <= {some_q[Stages-2:0], begins};
      end_q    <= {end_q[Stages-2:0], ending_q};
    end
  end

  always_ff @(posedge clk_i) begin
    marks_q[0]   <= !many_i ? marks_i : second_q ? {marks_i[31:16], 16'b0} : {16'b0, marks_i[15:0]};
    photons_q[0] <= photons_i;
    row_q[0]     <= row_i;
    for (int unsigned i = 1; i < Sums; ++i) begin
      marks_q[i]   <= marks_q[i-1];
      photons_q[i] <= photons_q[i-1];
    end
    for (int unsigned i = 1; i < Stages - 1; ++i) row_q[i] <= row_q[i-1];
    for (int unsigned four = 0; four < 8; ++four) begin
      before_q[0][4*four] <= '0;
      before_q[0][4*four+1] <= 2'(marks_q[0][4*four]);
      before_q[0][4*four+2] <= 2'(marks_q[0][4*four]) + 2'(marks_q[0][4*four+1]);
      before_q[0][4*four+3] <= 2'(marks_q[0][4*four]) + 2'(marks_q[0][4*four+1]) + 2'(marks_q[0][4*four+2]);
      fours_q[four] <= 3'(marks_q[0][4*four]) + 3'(marks_q[0][4*four+1]) + 3'(marks_q[0][4*four+2]) +
                       3'(marks_q[0][4*four+3]);
      twos_q[four] <= 4'(fours_q[four]) + (four >= 1 ? 4'(fours_q[(four+7)%8]) : '0);
      quads_q[four] <= 5'(twos_q[four]) + (four >= 2 ? 5'(twos_q[(four+6)%8]) : '0);
      all_q[four] <= quads_q[four] + (four >= 4 ? quads_q[(four+4)%8] : '0);
    end
    for (int unsigned i = 1; i < Sums - 1; ++i) before_q[i] <= before_q[i-1];
    for (int unsigned i = 0; i < Lanes; ++i) begin
      ways_q[i].value <= photons_q[Sums-1][16*i+:16];
      ways_q[i].way   <= marks_q[Sums-1][i] ? 5'(i) - 5'(before_q[Sums-2][i]) - (i >= 4 ? all_q[(i/4+7)%8] : '0) : '0;
    end
    by_3_q <= by_3;
    by_15_q <= by_15;
    count_q[0] <= all_q[7];
    for (int unsigned i = 1; i < 4; ++i) count_q[i] <= count_q[i-1];
    for (int unsigned i = 0; i < Entries; ++i) begin
      entries_q[i].value <= by_31[i].value;
      entries_q[i].index <= {row_q[Stages-2], 5'(i) + by_31[i].way};
    end
  end

  unit_move #(
      .Bit(0)
  ) u_by_1 (
      .slots_i(ways_q),
      .slots_o(by_1)
  );
  unit_move #(
      .Bit(1)
  ) u_by_2 (
      .slots_i(by_1),
      .slots_o(by_3)
  );
  unit_move #(
      .Bit(2)
  ) u_by_4 (
      .slots_i(by_3_q),
      .slots_o(by_7)
  );
  unit_move #(
      .Bit(3)
  ) u_by_8 (
      .slots_i(by_7),
      .slots_o(by_15)
  );
  unit_move #(
      .Bit(4)
  ) u_by_16 (
      .slots_i(by_15_q),
      .slots_o(by_31)
  );
  assign some_o = some_q[Stages-1];
  assign end_o = end_q[Stages-1];
  assign count_o = count_q[3];
  assign entries_o = entries_q;
  wire unused_ok = &{1'b0, by_31[Lanes-1:Entries]};
endmodule
