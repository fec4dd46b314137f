// SPDX-License-Identifier: Apache-2.0
// Puts the payload into a beat of a frame: lanes from `turn_i` on come from the beat that has just been turned, those
// below from the one before it; what is not payload is 0 in `payload_o` and the header's in `frame_o`. The places are
// told a cycle before the data.
module lanes
  import rashpa_pkg::*;
(
    input  logic        clk_i,
    input  logic  [5:0] turn_i,
    input  logic  [6:0] begin_i,    // first lane of payload, 0 … 64
    input  logic  [6:0] end_i,      // behind the last
    input  beat_t       turned_i,   // a cycle later
    input  beat_t       before_i,
    input  beat_t       header_i,
    output beat_t       payload_o,  // two cycles later
    output beat_t       frame_o
);
  logic [BeatBytes-1:0] fresh_q, inside_q;

  always_ff @(posedge clk_i) begin
    for (int lane = 0; lane < int'(BeatBytes); lane++) begin
      fresh_q[lane]  <= 6'(lane) >= turn_i;
      inside_q[lane] <= 7'(lane) >= begin_i && 7'(lane) < end_i;
    end
  end

  beat_t payload;
  always_comb begin
    for (int lane = 0; lane < int'(BeatBytes); lane++) begin
      payload[8*lane+:8] = inside_q[lane] ? (fresh_q[lane] ? turned_i[8*lane+:8] : before_i[8*lane+:8]) : 8'h0;
    end
  end
  always_ff @(posedge clk_i) begin
    payload_o <= payload;
    frame_o   <= payload | header_i;
  end
endmodule
