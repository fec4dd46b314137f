// SPDX-License-Identifier: Apache-2.0
// From packets and their payload to whole frames: packetiser, records, the CRC32C of payload, ICRC. No frame has a gap.
module framing
  import rashpa_pkg::*;
#(
    parameter int unsigned PayloadDepth  = 512,
    parameter int unsigned TransmitDepth = 512
) (
    input  logic                         clk_i,
    input  logic                         rst_ni,
    input  logic                         arm_i,
    input  table_write_t                 table_i,
    // packets, payload
    input  logic                         packet_valid_i,
    output logic                         packet_pop_o,
    input  packet_t                      packet_i,
    input  logic                         beat_i,          // one has come into the payload FIFO
    input  beat_t                        payload_i,
    output logic                         payload_pop_o,
    // a frame enters the ICRC, whose latency later its first beat comes out
    output logic                         enters_o,
    output dtp_t                         enters_dtp_o,
    output logic                  [23:0] enters_psn_o,
    // frames
    input  logic                         withhold_i,      // none that begins now may leave …
    output logic                         withheld_o,      // … this is one
    output logic                         valid_o,
    output logic                         last_o,
    output beat_t                        data_o,
    output logic                  [ 6:0] bytes_o,
    input  logic                  [ 1:0] sent_i,          // beats that the transmit FIFO has room for again
    output sender_pkg::progress_t        progress_o,
    output logic                         idle_o           // no packet in hand, nothing between here and the MAC
);
  localparam int unsigned IcrcLatency = 8;

  logic record_wanted, record_ready, crc_busy;
  packet_t record_packet;
  beat_t   record_first;
  logic [31:0] record_crc, payload_crc;
  logic sum_valid, sum_last, sum_begins;
  beat_t sum_data, frame_data;
  logic [5:0] sum_zeros;
  dtp_t sum_dtp;
  logic [31:0] sum_factor;
  frame_beat_t frame;
  logic begins, frame_withheld;
  sender_pkg::progress_t begun;
  logic [IcrcLatency-1:0] withheld_q;

  packetiser #(
      .PayloadDepth (PayloadDepth),
      .TransmitDepth(TransmitDepth)
  ) u_packetiser (
      .clk_i,
      .rst_ni,
      .arm_i,
      .table_i,
      .packet_valid_i,
      .packet_pop_o,
      .packet_i,
      .beat_i,
      .payload_i,
      .payload_pop_o,
      .record_wanted_o(record_wanted),
      .record_packet_o(record_packet),
      .record_ready_i(record_ready),
      .record_first_i(record_first),
      .record_crc_i(record_crc),
      .crc_busy_i(crc_busy),
      .sum_valid_o(sum_valid),
      .sum_last_o(sum_last),
      .sum_data_o(sum_data),
      .sum_zeros_o(sum_zeros),
      .sum_dtp_o(sum_dtp),
      .sum_begins_o(sum_begins),
      .sum_factor_o(sum_factor),
      .frame_o(frame),
      .frame_data_o(frame_data),
      .frame_dtp_o(enters_dtp_o),
      .frame_psn_o(enters_psn_o),
      .withhold_i,
      .frame_withheld_o(frame_withheld),
      .sent_i,
      .begins_o(begins),
      .begins_dtp_o(begun.dtp),
      .begins_event_o(begun.event_record),
      .begins_ends_o(begun.ends),
      .begins_bytes_o(begun.bytes),
      .waits_memory_o(begun.waits_memory),
      .waits_wire_o(begun.waits_wire),
      .idle_o
  );
  record_builder u_record (
      .clk_i,
      .rst_ni,
      .table_i,
      .wanted_i(record_wanted),
      .dtp_i(record_packet.dtp),
      .last_of_run_i(record_packet.last_of_run),
      .index_i(record_packet.index),
      .slot_i(record_packet.slot),
      .crc_i(payload_crc),
      .ready_o(record_ready),
      .first_o(record_first),
      .crc_o(record_crc)
  );
  payload_crc u_crc (
      .clk_i,
      .rst_ni,
      .valid_i(sum_valid),
      .last_i(sum_last),
      .data_i(sum_data),
      .zeros_i(sum_zeros),
      .dtp_i(sum_dtp),
      .begins_image_i(sum_begins),
      .factor_i(sum_factor),
      .read_dtp_i(record_packet.dtp),
      .crc_o(payload_crc),
      .busy_o(crc_busy)
  );

  icrc u_icrc (
      .clk_i,
      .rst_ni,
      .beat_i(frame),
      .data_i(frame_data),
      .m_valid_o(valid_o),
      .m_last_o(last_o),
      .m_data_o(data_o),
      .m_bytes_o(bytes_o)
  );

  always_ff @(posedge clk_i) withheld_q <= {withheld_q[IcrcLatency-2:0], frame_withheld};
  assign withheld_o   = withheld_q[IcrcLatency-1];

  assign begun.begins = 1'b0;
  always_ff @(posedge clk_i) begin  // a cycle later
    progress_o <= begun;
    progress_o.begins <= rst_ni && begins && !withhold_i;
  end
  assign enters_o = frame.valid && frame.first && !frame_withheld;
  logic unused;
  assign unused = ^record_packet;
endmodule
