// SPDX-License-Identifier: Apache-2.0
// Makes frames of packets and their payload, a beat each cycle from the first to the last of a frame. It begins one when
// all of its payload is there and the transmit FIFO has room for all of it; nothing behind it can hold it up.
module packetiser
  import rashpa_pkg::*;
#(
    parameter int unsigned PayloadDepth  = 512,
    parameter int unsigned TransmitDepth = 512
) (
    input  logic                clk_i,
    input  logic                rst_ni,
    input  logic                arm_i,
    input  table_write_t        table_i,
    // packets
    input  logic                packet_valid_i,
    output logic                packet_pop_o,
    input  packet_t             packet_i,
    // payload FIFO
    input  logic                beat_i,           // a beat has come into it
    input  beat_t               payload_i,
    output logic                payload_pop_o,
    // of an event whose record is to be completed: what is to be XORed to the template
    output logic                record_wanted_o,  // until the event has begun; all payload before it has been summed up
    output packet_t             record_packet_o,
    input  logic                record_ready_i,
    input  beat_t               record_first_i,
    input  logic         [31:0] record_crc_i,
    input  logic                crc_busy_i,
    // CRC32C of payload
    output logic                sum_valid_o,
    output logic                sum_last_o,
    output beat_t               sum_data_o,
    output logic         [ 5:0] sum_zeros_o,
    output dtp_t                sum_dtp_o,
    output logic                sum_begins_o,
    output logic         [31:0] sum_factor_o,
    // frames without ICRC
    output frame_beat_t         frame_o,
    output beat_t               frame_data_o,
    output dtp_t                frame_dtp_o,
    output logic         [23:0] frame_psn_o,
    input  logic         [ 1:0] sent_i,           // beats that the transmit FIFO has room for again
    // for registers: one cycle each
    output logic                begins_o,
    output dtp_t                begins_dtp_o,
    output logic                begins_event_o,
    output logic                begins_ends_o,    // it is the last of its descriptor
    output logic         [12:0] begins_bytes_o,
    output logic                waits_memory_o,
    output logic                waits_wire_o,
    output logic                idle_o
);
  localparam int unsigned MostBeats = (MostHeader + MostPayload + 4 + 63) / 64;
  localparam int unsigned InBits = $clog2(PayloadDepth + 1);
  localparam int unsigned RoomBits = $clog2(TransmitDepth + 1);

  // The frame that can begin
  logic next_valid, next_soon, begins;
  logic run_q, ends;  // a frame is in hand; this is its last beat
  prepared_t next;
  packet_t next_packet;
  logic [23:0] next_psn;

  header u_header (
      .clk_i,
      .rst_ni,
      .arm_i,
      .table_i,
      .valid_i(packet_valid_i),
      .ready_o(packet_pop_o),
      .packet_i,
      .valid_o(next_valid),
      .ready_i(begins),
      .soon_o(next_soon),
      .prepared_o(next),
      .packet_o(next_packet),
      .psn_o(next_psn)
  );

  // What is there, what is free
  logic [  InBits-1:0] there_q;
  logic [RoomBits-1:0] room_q;
  logic enough_q, room_enough_q;
  logic may_begin;
  logic [1:0] header_held_q;  // cycles in which the header of the frame before is still needed
  assign may_begin = next_valid && enough_q && (!next.complete_record || record_ready_i);
  assign begins = may_begin && room_enough_q && (!run_q || ends) && header_held_q == '0;

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
  logic prelude_q, record_q, event_q, ipv6_q, begins_image_q;
  logic [6:0] beat_q, beats_q;  // of the frame
  logic [6:0] left_q;  // beats still to be taken from the payload FIFO
  logic       wait_q;  // the header alone fills the first beat
  logic [5:0] turn_q, covered_end_q;
  logic [6:0] header_end_q;
  logic [12:0] payload_end_q;
  logic [8*MostHeader-1:0] header_q;
  dtp_t dtp_q;
  logic [31:0] factor_q;
  logic [23:0] frame_psn_q;
  logic pop, second_q;

  assign ends = run_q && !prelude_q && beat_q == beats_q - 7'd1;
  assign pop = run_q && !wait_q && left_q != 7'd0;
  assign payload_pop_o = pop;

  always_ff @(posedge clk_i) begin
    if (begins) begin
      record_q <= next.complete_record;
      second_q <= 1'b0;
      event_q <= next_packet.kind == WriteEvent;
      ipv6_q <= next.ipv6;
      begins_image_q <= next.begins_image;
      beats_q <= next.beats_out;
      left_q <= next.beats_in;
      turn_q <= next.turn[5:0];
      wait_q <= next.turn[7];
      covered_end_q <= next.covered_end;
      header_end_q <= next.header_end;
      payload_end_q <= next.payload_end;
      dtp_q <= next.dtp;
      factor_q <= next.factor;
      frame_psn_q <= next_psn;
      beat_q <= '0;
    end else begin
      if (run_q && !prelude_q) beat_q <= beat_q + 7'd1;
      if (pop) left_q <= left_q - 7'd1;
      if (pop) second_q <= 1'b1;
      wait_q <= 1'b0;
    end
  end
  // The header is looked at two cycles later than the frame begins.
  always_ff @(posedge clk_i) begin
    if (begins) header_q <= next.header;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      run_q <= 1'b0;
      prelude_q <= 1'b0;
    end else if (begins) begin
      run_q <= 1'b1;
      prelude_q <= next.turn[7:6] == 2'd0;  // the first beat needs two from memory
    end else begin
      if (ends) run_q <= 1'b0;
      prelude_q <= 1'b0;
    end
  end

  // Down the pipeline: 0 is the cycle in which the payload FIFO is popped, 3 that in which the turned beat is there.
  typedef struct packed {
    frame_beat_t      frame;
    logic             pop;
    logic [5:0]       turn;
    logic [6:0] from;
    logic [6:0]       upto;
    logic             payload_last;
    logic             summed;        // has payload that is summed up
    logic             begins_image;
    dtp_t             dtp;
    logic [31:0]      factor;
    logic [23:0]      psn;
  } stage_t;

  stage_t stage_d;
  stage_t stage_q [5];  // 1 … 4 used
  logic   any_q;
  logic [6:0] from, upto;

  always_comb begin
    unique case (beat_q)
      7'd0: from = header_end_q > 7'd64 ? 7'd64 : header_end_q;
      7'd1: from = header_end_q > 7'd64 ? header_end_q - 7'd64 : 7'd0;
      default: from = 7'd0;
    endcase
    if (payload_end_q[12:6] > beat_q) upto = 7'd64;
    else if (payload_end_q[12:6] == beat_q) upto = {1'b0, payload_end_q[5:0]};
    else upto = 7'd0;
    stage_d = '0;
    stage_d.frame.valid = run_q && !prelude_q;
    stage_d.frame.first = beat_q == 7'd0;
    stage_d.frame.last = ends;
    stage_d.frame.ipv6 = ipv6_q;
    stage_d.frame.covered_end = covered_end_q;
    stage_d.pop = pop;
    stage_d.turn = turn_q;
    stage_d.from = from;
    stage_d.upto = upto;
    stage_d.summed = run_q && !prelude_q && !event_q && from < upto;
    stage_d.payload_last = upto != 7'd64 || payload_end_q == {beat_q + 7'd1, 6'd0};
    stage_d.begins_image = begins_image_q;
    stage_d.dtp = dtp_q;
    stage_d.factor = factor_q;
    stage_d.psn = frame_psn_q;
  end

  beat_t template, turned, before_q;
  beat_t header_beat_q;
  always_comb begin
    template = payload_i;
    if (record_q && !second_q) template ^= record_first_i;
    if (record_q && second_q) template[511-:32] ^= record_crc_i;
  end

  rotate u_rotate (
      .clk_i,
      .data_i  (template),
      .amount_i(turn_q),
      .data_o  (turned)
  );

  // The number of the beat in stage 1 and 2, as far as headers go
  logic [1:0] number_1_q, number_2_q;
  logic [8*MostHeader-1:512] second_header_q;  // the next frame may have its header in header_q already
  always_ff @(posedge clk_i) begin
    stage_q[1] <= stage_d;
    for (int s = 2; s < 5; s++) stage_q[s] <= stage_q[s-1];
    number_1_q <= beat_q > 7'd1 ? 2'd2 : beat_q[1:0];
    number_2_q <= number_1_q;
    unique case (number_2_q)
      2'd0: header_beat_q <= header_q[511:0];
      2'd1: header_beat_q <= 512'(second_header_q);
      default: header_beat_q <= '0;
    endcase
    if (number_2_q == 2'd0) second_header_q <= header_q[8*MostHeader-1:512];
    if (stage_q[3].pop) before_q <= turned;
    if (!rst_ni) begin
      for (int s = 1; s < 5; s++) begin
        stage_q[s].frame.valid <= 1'b0;
        stage_q[s].summed <= 1'b0;
        stage_q[s].pop <= 1'b0;
      end
    end
  end

  lanes u_lanes (
      .clk_i,
      .turn_i(stage_q[2].turn),
      .begin_i(stage_q[2].from),
      .end_i(stage_q[2].upto),
      .turned_i(turned),
      .before_i(before_q),
      .header_i(header_beat_q),
      .payload_o(sum_data_o),
      .frame_o(frame_data_o)
  );

  assign frame_o = stage_q[4].frame;
  assign frame_dtp_o = stage_q[4].dtp;
  assign frame_psn_o = stage_q[4].psn;
  assign sum_valid_o = stage_q[4].summed;
  assign sum_last_o = stage_q[4].payload_last;
  assign sum_zeros_o = 6'(7'd64 - stage_q[4].upto);
  assign sum_dtp_o = stage_q[4].dtp;
  assign sum_begins_o = stage_q[4].begins_image;
  assign sum_factor_o = stage_q[4].factor;

  always_comb begin
    any_q = run_q;
    for (int s = 1; s < 5; s++) any_q |= stage_q[s].frame.valid;
  end
  assign record_wanted_o = next_valid && next.complete_record && !any_q && !crc_busy_i;
  assign record_packet_o = next_packet;

  assign begins_o = begins;
  assign begins_dtp_o = next.dtp;
  assign begins_ends_o = next_packet.ends_descriptor;
  assign begins_event_o = next_packet.kind == WriteEvent;
  assign begins_bytes_o = next.bytes;
  assign waits_memory_o = next_valid && !enough_q && !run_q;
  assign waits_wire_o = may_begin && !room_enough_q && !run_q;
  assign idle_o = packet_pop_o && !packet_valid_i && !run_q && room_q == RoomBits'(TransmitDepth);
endmodule
