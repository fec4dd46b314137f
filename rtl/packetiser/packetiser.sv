// SPDX-License-Identifier: Apache-2.0
// Makes frames of packets and their payload, a beat each cycle from the first to the last of a frame. It begins one when
// all of its payload is there and the transmit FIFO has room for all of it; nothing behind it can hold it up.
module packetiser
  import rashpa_pkg::*;
#(
    parameter int unsigned PayloadDepth  = 512,
    parameter int unsigned TransmitDepth = 512
) (
    input logic clk_i,
    input logic rst_ni,
    input logic arm_i,
    input table_write_t table_i,
    // packets
    input logic packet_valid_i,  // until it is popped
    output logic packet_pop_o,  // a cycle behind its being taken
    input packet_t packet_i,
    // payload FIFO
    input logic beat_i,  // a beat has come into it
    input beat_t payload_i,
    output logic payload_pop_o,
    // of an event whose record is to be completed: what is to be XORed to the template
    output logic record_wanted_o,  // until the event has begun; all payload before it has been summed up
    output packet_t record_packet_o,
    input logic record_ready_i,
    input beat_t record_first_i,
    input logic [31:0] record_crc_i,
    input logic crc_busy_i,
    // CRC32C of payload
    output logic sum_valid_o,
    output logic sum_last_o,
    output beat_t sum_data_o,
    output logic [5:0] sum_zeros_o,
    output dtp_t sum_dtp_o,
    output logic sum_begins_o,
    output logic [31:0] sum_factor_o,
    // frames without ICRC
    output frame_beat_t frame_o,
    output beat_t frame_data_o,
    output dtp_t frame_dtp_o,
    output logic [23:0] frame_psn_o,
    input logic withhold_i,  // frames that begin now are to go nowhere …
    output logic frame_withheld_o,  // … this is one
    input logic [1:0] sent_i,  // beats that the transmit FIFO has room for again
    // for registers: one cycle each
    output logic begins_o,
    output dtp_t begins_dtp_o,
    output logic begins_event_o,
    output logic begins_ends_o,  // it is the last of its descriptor
    output logic [12:0] begins_bytes_o,
    output logic waits_memory_o,
    output logic waits_wire_o,
    output logic idle_o
);
  localparam int unsigned MostBeats = (MostHeader + MostPayload + 4 + 63) / 64;
  localparam int unsigned InBits = $clog2(PayloadDepth + 1);
  localparam int unsigned RoomBits = $clog2(TransmitDepth + 1);

  // The frame that can begin
  logic next_valid, next_soon, begins, none_next;
  logic run, ends;  // a frame is in hand; this is its last beat
  prepared_t next;
  packet_t next_packet;
  logic [23:0] next_psn;

  header u_header (
      .clk_i,
      .rst_ni,
      .arm_i,
      .table_i,
      .valid_i(packet_valid_i),
      .pop_o(packet_pop_o),
      .packet_i,
      .valid_o(next_valid),
      .ready_i(begins),
      .soon_o(next_soon),
      .prepared_o(next),
      .packet_o(next_packet),
      .psn_o(next_psn),
      .idle_o(none_next)
  );

  // What is there, what is free
  logic [  InBits-1:0] there_q;
  logic [RoomBits-1:0] room_q;
  logic enough_q, room_enough_q;
  logic may_begin;
  logic [1:0] header_held_q;  // cycles in which the header of the frame before is still needed
  assign may_begin = next_valid && enough_q && (!next.complete_record || record_ready_i);
  assign begins = may_begin && room_enough_q && (!run || ends) && header_held_q == '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      there_q <= '0;
      room_q <= RoomBits'(TransmitDepth);
      enough_q <= 1'b0;
      room_enough_q <= 1'b0;
      header_held_q <= '0;
    end else begin
      if (begins && next.turn[7:6] == 2'd0) header_held_q <= 2'd3;
      else if (header_held_q != '0) header_held_q <= header_held_q - 2'd1;
      there_q <= there_q + InBits'(beat_i) - (begins ? InBits'(next.beats_in) : '0);
      room_q <= room_q + RoomBits'(sent_i) - (begins ? RoomBits'(next.beats_out) : '0);
      enough_q <= (next_soon || next_valid) && !begins && there_q >= InBits'(next.beats_in);
      // seen a cycle late: room for the frame that begins now, too
      room_enough_q <= room_q >= RoomBits'(2 * MostBeats);
    end
  end

  // The frame in hand
  frame_stage_t stage;
  logic [8*MostHeader-1:0] header_kept;
  frame_beats u_beats (
      .clk_i,
      .rst_ni,
      .begins_i(begins),
      .event_i(next_packet.kind == WriteEvent),
      .prepared_i(next),
      .psn_i(next_psn),
      .withhold_i,
      .run_o(run),
      .ends_o(ends),
      .stage_o(stage),
      .header_o(header_kept)
  );
  assign payload_pop_o = stage.pop;

  logic in_pipe;
  frame_pipe u_pipe (
      .clk_i,
      .rst_ni,
      .stage_i (stage),
      .header_i(header_kept),
      .payload_i,
      .record_first_i,
      .record_crc_i,
      .sum_valid_o,
      .sum_last_o,
      .sum_data_o,
      .sum_zeros_o,
      .sum_dtp_o,
      .sum_begins_o,
      .sum_factor_o,
      .frame_o,
      .frame_data_o,
      .frame_dtp_o,
      .frame_psn_o,
      .frame_withheld_o,
      .busy_o  (in_pipe)
  );

  assign record_wanted_o = next_valid && next.complete_record && !run && !in_pipe && !crc_busy_i;
  assign record_packet_o = next_packet;

  assign begins_o = begins;
  assign begins_dtp_o = next.dtp;
  assign begins_ends_o = next_packet.ends_descriptor;
  assign begins_event_o = next_packet.kind == WriteEvent;
  assign begins_bytes_o = next_packet.bytes;
  assign waits_memory_o = next_valid && !enough_q && !run;
  assign waits_wire_o = may_begin && !room_enough_q && !run;
  assign idle_o = none_next && !packet_valid_i && !run && room_q == RoomBits'(TransmitDepth);
endmodule
