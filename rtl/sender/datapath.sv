// SPDX-License-Identifier: Apache-2.0
// From packets to the MAC: reader, payload FIFO, packetiser, CRCs, transmit FIFO.
module datapath
  import rashpa_pkg::*;
#(
    parameter int unsigned PayloadDepth = 512,
    parameter int unsigned TransmitDepth = 512,
    parameter bit Faults = 1'b0  // "drop" and "flip" on order, for tests
) (
    input  logic                clk_i,
    input  logic                rst_ni,
    input  logic                arm_i,
    input  table_write_t        table_i,
    // packets from the segmenter
    input  logic                valid_i,
    output logic                ready_o,
    input  packet_t             packet_i,
    input  logic         [47:0] source_i,
    // card memory
    output logic                m_axi_arvalid,
    input  logic                m_axi_arready,
    output logic         [47:0] m_axi_araddr,
    output logic         [ 7:0] m_axi_arlen,
    input  logic                m_axi_rvalid,
    output logic                m_axi_rready,
    input  beat_t               m_axi_rdata,
    input  logic         [ 1:0] m_axi_rresp,
    input  logic                m_axi_rlast,
    // MAC
    output logic                m_axis_tvalid,
    input  logic                m_axis_tready,
    output beat_t               m_axis_tdata,
    output logic         [63:0] m_axis_tkeep,
    output logic                m_axis_tlast,
    // which packet is on its way to the transmit FIFO, and a cycle later what is to become of it
    output logic                fault_ask_o,
    output dtp_t                fault_dtp_o,
    output logic         [23:0] fault_psn_o,
    input  logic                fault_drop_i,
    input  logic                fault_flip_i,
    input  logic         [15:0] fault_bit_i,
    // for registers: one cycle each
    output logic                begins_o,
    output dtp_t                begins_dtp_o,
    output logic                begins_event_o,
    output logic                begins_ends_o,
    output logic         [12:0] begins_bytes_o,
    output logic                waits_memory_o,
    output logic                waits_wire_o,
    output logic                error_o,
    output dtp_t                error_dtp_o,
    output logic                idle_o           // nothing is on its way
);
  localparam int unsigned IcrcLatency = 8;

  // Packets and payload
  logic packet_valid, packet_pop, beat, beat_pop, fetch_idle;
  packet_t packet;
  beat_t   payload;

  fetch #(
      .PayloadDepth(PayloadDepth)
  ) u_fetch (
      .clk_i,
      .rst_ni,
      .valid_i,
      .ready_o,
      .packet_i,
      .source_i,
      .m_axi_arvalid,
      .m_axi_arready,
      .m_axi_araddr,
      .m_axi_arlen,
      .m_axi_rvalid,
      .m_axi_rready,
      .m_axi_rdata,
      .m_axi_rresp,
      .m_axi_rlast,
      .packet_valid_o(packet_valid),
      .packet_o(packet),
      .packet_pop_i(packet_pop),
      .beat_o(beat),
      .payload_o(payload),
      .payload_pop_i(beat_pop),
      .error_o,
      .error_dtp_o,
      .idle_o(fetch_idle)
  );

  // Frames
  logic record_wanted, record_ready, crc_busy;
  packet_t record_packet;
  logic unused_record;
  beat_t record_first;
  logic [31:0] record_crc, payload_crc;
  logic sum_valid, sum_last, sum_begins;
  beat_t sum_data, frame_data;
  logic [5:0] sum_zeros;
  dtp_t sum_dtp;
  logic [31:0] sum_factor;
  frame_beat_t frame;
  logic [1:0] sent;
  logic packetiser_idle;

  packetiser #(
      .PayloadDepth (PayloadDepth),
      .TransmitDepth(TransmitDepth)
  ) u_packetiser (
      .clk_i,
      .rst_ni,
      .arm_i,
      .table_i,
      .packet_valid_i(packet_valid),
      .packet_pop_o(packet_pop),
      .packet_i(packet),
      .beat_i(beat),
      .payload_i(payload),
      .payload_pop_o(beat_pop),
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
      .frame_dtp_o(fault_dtp_o),
      .frame_psn_o(fault_psn_o),
      .sent_i(sent),
      .begins_o,
      .begins_dtp_o,
      .begins_event_o,
      .begins_ends_o,
      .begins_bytes_o,
      .waits_memory_o,
      .waits_wire_o,
      .idle_o(packetiser_idle)
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

  logic icrc_valid, icrc_last;
  beat_t icrc_data, tx_data;
  logic [6:0] icrc_bytes;
  icrc u_icrc (
      .clk_i,
      .rst_ni,
      .beat_i(frame),
      .data_i(frame_data),
      .m_valid_o(icrc_valid),
      .m_last_o(icrc_last),
      .m_data_o(icrc_data),
      .m_bytes_o(icrc_bytes)
  );

  assign unused_record = ^record_packet;

  // Faults
  logic drop;
  assign fault_ask_o = Faults && frame.valid && frame.first;
  if (Faults) begin : g_faults
    frame_faults #(
        .Latency(IcrcLatency)
    ) u_faults (
        .clk_i,
        .rst_ni,
        .drop_i (fault_drop_i),
        .flip_i (fault_flip_i),
        .bit_i  (fault_bit_i),
        .valid_i(icrc_valid),
        .last_i (icrc_last),
        .data_i (icrc_data),
        .drop_o (drop),
        .data_o (tx_data)
    );
  end else begin : g_no_faults
    logic unused_faults;
    assign unused_faults = ^{fault_drop_i, fault_flip_i, fault_bit_i};
    assign drop = 1'b0;
    assign tx_data = icrc_data;
  end

  // To the MAC
  logic unused_tx_full, tx_valid, tx_pop, tx_last;
  logic [6:0] tx_bytes;
  assign tx_pop = tx_valid && m_axis_tready;
  fifo #(
      .Width(512 + 8),
      .Depth(TransmitDepth)
  ) u_transmit (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .push_i (icrc_valid && !drop),
      .data_i ({icrc_last, icrc_bytes, tx_data}),
      .full_o (unused_tx_full),
      .valid_o(tx_valid),
      .data_o ({tx_last, tx_bytes, m_axis_tdata}),
      .pop_i  (tx_pop)
  );
  assign m_axis_tvalid = tx_valid;
  assign m_axis_tlast  = tx_last;
  for (genvar b = 0; b < 64; b++) begin : g_keep
    assign m_axis_tkeep[b] = 7'(b) < tx_bytes;
  end
  assign sent   = 2'(tx_pop) + 2'(icrc_valid && drop);

  // What has left the packetiser is in the ICRC or in the FIFO until its room is free again.
  assign idle_o = fetch_idle && packetiser_idle && !packet_valid;
endmodule
