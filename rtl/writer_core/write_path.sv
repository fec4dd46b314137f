// SPDX-License-Identifier: Apache-2.0
// From packets to the host's memory: reader, payload FIFO, translation of addresses, records, writer.
module write_path
  import rashpa_pkg::*;
#(
    parameter int unsigned PayloadDepth = 512,
    parameter int unsigned BeatDepth = 256,
    parameter int unsigned Bursts = 128
) (
    input logic clk_i,
    input logic rst_ni,
    input logic arm_i,
    input table_write_t table_i,
    input table_write_t addresses_i,
    // packets from the segmenter
    input logic valid_i,
    output logic ready_o,
    input packet_t packet_i,
    input logic [47:0] source_i,
    // card memory
    output logic m_axi_arvalid,
    input logic m_axi_arready,
    output logic [47:0] m_axi_araddr,
    output logic [7:0] m_axi_arlen,
    input logic m_axi_rvalid,
    output logic m_axi_rready,
    input beat_t m_axi_rdata,
    input logic [1:0] m_axi_rresp,
    input logic m_axi_rlast,
    // the host's memory
    output logic m_axi_awvalid,
    input logic m_axi_awready,
    output logic [63:0] m_axi_awaddr,
    output logic [7:0] m_axi_awlen,
    output logic m_axi_wvalid,
    input logic m_axi_wready,
    output beat_t m_axi_wdata,
    output logic [63:0] m_axi_wstrb,
    output logic m_axi_wlast,
    input logic m_axi_bvalid,
    output logic m_axi_bready,
    input logic [1:0] m_axi_bresp,
    // for registers: one cycle each
    output logic begins_o,
    output logic locks_o,
    output dtp_t begins_dtp_o,
    output logic read_error_o,  // card memory has refused a read
    output dtp_t read_error_dtp_o,
    output logic outside_o,  // no entry of the table of addresses has room for a write …
    output dtp_t outside_dtp_o,
    output logic [63:0] outside_offset_o,  // … that was to go there
    output logic write_error_o,  // the host has refused a write
    output dtp_t write_error_dtp_o,
    output logic idle_o
);
  logic packet_valid, table_ready, beat, pop, fetch_idle, table_idle, writer_idle, unused;
  packet_t packet, placed, record_packet;
  beat_t payload, sum_data, record_first;
  logic placed_valid, placed_ready, lock, withheld, read_refused_q;
  logic record_wanted, record_ready, crc_busy;
  logic [31:0] record_crc, payload_crc;
  logic sum_valid, sum_last, sum_begins;
  logic [5:0] sum_zeros;
  dtp_t sum_dtp;
  logic [31:0] sum_factor;

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
      .packet_pop_i(packet_valid && table_ready),
      .beat_o(beat),
      .payload_o(payload),
      .payload_pop_i(pop),
      .error_o(read_error_o),
      .error_dtp_o(read_error_dtp_o),
      .idle_o(fetch_idle)
  );
  // Of what came with an error, or behind it, nothing is written: a packet begins with beats that have come before.
  always_ff @(posedge clk_i) begin
    if (!rst_ni || arm_i) read_refused_q <= 1'b0;
    else if (read_error_o) read_refused_q <= 1'b1;
  end

  address_table u_addresses (
      .clk_i,
      .rst_ni,
      .arm_i,
      .addresses_i,
      .valid_i(packet_valid),
      .ready_o(table_ready),
      .packet_i(packet),
      .valid_o(placed_valid),
      .ready_i(placed_ready),
      .packet_o(placed),
      .lock_o(lock),
      .withheld_o(withheld),
      .error_o(outside_o),
      .error_dtp_o(outside_dtp_o),
      .error_offset_o(outside_offset_o),
      .idle_o(table_idle)
  );
  dma_writer #(
      .PayloadDepth(PayloadDepth),
      .BeatDepth(BeatDepth),
      .Bursts(Bursts)
  ) u_writer (
      .clk_i,
      .rst_ni,
      .arm_i,
      .valid_i(placed_valid),
      .ready_o(placed_ready),
      .packet_i(placed),
      .lock_i(lock),
      .withheld_i(withheld),
      .withhold_i(read_refused_q),
      .beat_i(beat),
      .payload_i(payload),
      .payload_pop_o(pop),
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
      .m_axi_awvalid,
      .m_axi_awready,
      .m_axi_awaddr,
      .m_axi_awlen,
      .m_axi_wvalid,
      .m_axi_wready,
      .m_axi_wdata,
      .m_axi_wstrb,
      .m_axi_wlast,
      .m_axi_bvalid,
      .m_axi_bready,
      .m_axi_bresp,
      .begins_o,
      .locks_o,
      .begins_dtp_o,
      .error_o(write_error_o),
      .error_dtp_o(write_error_dtp_o),
      .idle_o(writer_idle)
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
  assign idle_o = fetch_idle && table_idle && writer_idle && !packet_valid;
  assign unused = ^record_packet;
endmodule
