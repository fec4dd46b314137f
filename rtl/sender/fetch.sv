// SPDX-License-Identifier: Apache-2.0
// Packets and their payload from card memory: the reader, and the FIFOs that it fills.
module fetch
  import rashpa_pkg::*;
#(
    parameter int unsigned PayloadDepth = 512
) (
    input  logic           clk_i,
    input  logic           rst_ni,
    // packets from the segmenter
    input  logic           valid_i,
    output logic           ready_o,
    input  packet_t        packet_i,
    input  logic    [47:0] source_i,
    // card memory
    output logic           m_axi_arvalid,
    input  logic           m_axi_arready,
    output logic    [47:0] m_axi_araddr,
    output logic    [ 7:0] m_axi_arlen,
    input  logic           m_axi_rvalid,
    output logic           m_axi_rready,
    input  beat_t          m_axi_rdata,
    input  logic    [ 1:0] m_axi_rresp,
    input  logic           m_axi_rlast,
    // to the packetiser
    output logic           packet_valid_o,
    output packet_t        packet_o,
    input  logic           packet_pop_i,
    output logic           beat_o,          // one has come into the payload FIFO
    output beat_t          payload_o,
    input  logic           payload_pop_i,
    // for registers
    output logic           error_o,
    output dtp_t           error_dtp_o,
    output logic           idle_o
);
  logic packet_push, packet_full, unused_full, unused_valid;
  packet_t packet;
  beat_t   beat;

  line_reader #(
      .Room(PayloadDepth)
  ) u_reader (
      .clk_i,
      .rst_ni,
      .valid_i,
      .ready_o,
      .packet_i,
      .source_i,
      .full_i  (packet_full),
      .push_o  (packet_push),
      .packet_o(packet),
      .m_axi_arvalid,
      .m_axi_arready,
      .m_axi_araddr,
      .m_axi_arlen,
      .m_axi_rvalid,
      .m_axi_rready,
      .m_axi_rdata,
      .m_axi_rresp,
      .m_axi_rlast,
      .beat_o,
      .data_o  (beat),
      .popped_i(payload_pop_i),
      .idle_o,
      .error_o,
      .error_dtp_o
  );
  fifo #(
      .Width($bits(packet_t)),
      .Depth(64)
  ) u_packets (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .push_i (packet_push),
      .data_i (packet),
      .full_o (packet_full),
      .valid_o(packet_valid_o),
      .data_o (packet_o),
      .pop_i  (packet_pop_i)
  );
  fifo #(
      .Width(512),
      .Depth(PayloadDepth)
  ) u_payload (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .push_i (beat_o),
      .data_i (beat),
      .full_o (unused_full),
      .valid_o(unused_valid),
      .data_o (payload_o),
      .pop_i  (payload_pop_i)
  );
endmodule
