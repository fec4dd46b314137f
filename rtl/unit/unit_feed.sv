// SPDX-License-Identifier: Apache-2.0
// What has come from memory waits here for its calibration, and until its results have room.
module unit_feed
  import unit_pkg::*;
#(
    parameter int unsigned Room = 512  // beats, of raw words and of results
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic             stop_i,              // calibration comes no more: what waits goes without
    input  logic             clear_i,
    input  logic             push_i,              // a burst is asked for
    input  raw_burst_t       burst_i,
    output logic             full_o,
    input  logic             beat_i,              // of them
    input  beat_t            data_i,
    input  logic             last_i,              // of a burst
    input  logic       [1:0] loaded_low_i,        // blocks of calibration, modulo 4
    input  logic       [1:0] loaded_high_i,
    input  logic             popped_i,            // a beat of results has left
    input  logic             list_room_i,         // lists have room for what is on its way, and more
    // to the lanes
    output logic             beat_o,
    output beat_t            data_o,
    output logic             last_o,
    output raw_burst_t       burst_o,
    output logic             some_o,
    output logic             wait_calibration_o,
    output logic             wait_room_o
);
  localparam int unsigned RoomBits = $clog2(Room + 1);

  logic beats_full, beat_there, burst_there, there, burst_done, frees, calibrated_q, room_there_q;
  logic [1:0] used_q;
  logic [RoomBits-1:0] room_q;

  fifo #(
      .Width(513),
      .Depth(Room)
  ) u_beats (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .push_i (beat_i),
      .data_i ({last_i, data_i}),
      .full_o (beats_full),
      .valid_o(beat_there),
      .data_o ({last_o, data_o}),
      .pop_i  (beat_o)
  );
  fifo #(
      .Width($bits(raw_burst_t)),
      .Depth(16)
  ) u_bursts (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .push_i (push_i),
      .data_i (burst_i),
      .full_o (full_o),
      .valid_o(burst_there),
      .data_o (burst_o),
      .pop_i  (burst_done)
  );

  assign there = beat_there && burst_there;
  assign beat_o = there && calibrated_q && room_there_q;
  assign some_o = burst_there;
  assign wait_calibration_o = there && !calibrated_q;
  assign wait_room_o = there && calibrated_q && !room_there_q;

  assign burst_done = beat_o && last_o;
  assign frees = burst_done && burst_o.frees;
  always_ff @(posedge clk_i) begin
    // Not behind the last beat of a block: used_q is a cycle late.
    calibrated_q <= ((loaded_low_i != used_q && loaded_high_i != used_q) || stop_i) && !frees;
    room_there_q <= room_q[RoomBits-1:1] != '0 && list_room_i;
    if (!rst_ni || clear_i) begin
      used_q <= '0;
      room_q <= RoomBits'(Room);
    end else begin
      if (frees) used_q <= used_q + 2'd1;
      room_q <= room_q - RoomBits'(beat_o) + RoomBits'(popped_i);
    end
  end
  wire unused_ok = &{1'b0, beats_full};
endmodule
