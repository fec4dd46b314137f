// SPDX-License-Identifier: Apache-2.0
// From packets to the MAC: reader, payload FIFO, frames, transmit FIFO.
module datapath
  import rashpa_pkg::*;
#(
    parameter int unsigned PayloadDepth = 512,
    parameter int unsigned TransmitDepth = 512,
    parameter bit Faults = 1'b0  // "drop" and "flip" on order, for tests
) (
    input  logic                            clk_i,
    input  logic                            rst_ni,
    input  logic                            arm_i,
    input  table_write_t                    table_i,
    // packets from the segmenter
    input  logic                            valid_i,
    output logic                            ready_o,
    input  packet_t                         packet_i,
    input  logic                     [47:0] source_i,
    // card memory
    output logic                            m_axi_arvalid,
    input  logic                            m_axi_arready,
    output logic                     [47:0] m_axi_araddr,
    output logic                     [ 7:0] m_axi_arlen,
    input  logic                            m_axi_rvalid,
    output logic                            m_axi_rready,
    input  beat_t                           m_axi_rdata,
    input  logic                     [ 1:0] m_axi_rresp,
    input  logic                            m_axi_rlast,
    // MAC
    output logic                            m_axis_tvalid,
    input  logic                            m_axis_tready,
    output beat_t                           m_axis_tdata,
    output logic                     [63:0] m_axis_tkeep,
    output logic                            m_axis_tlast,
    // faults on order
    input  sender_pkg::fault_write_t        fault_write_i,
    output logic                            fault_o,        // one cycle each
    // for registers
    output sender_pkg::progress_t           progress_o,
    output logic                            error_o,
    output dtp_t                            error_dtp_o,
    output logic                            idle_o          // nothing is on its way
);
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

  // What memory has refused to read stays here, and all behind it: a frame begins with beats that have come before.
  logic refused_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || arm_i) refused_q <= 1'b0;
    else if (error_o) refused_q <= 1'b1;
  end

  // Frames
  logic enters, valid, last, framing_idle, withheld;
  dtp_t enters_dtp;
  logic [23:0] enters_psn;
  beat_t data;
  logic [6:0] bytes;
  logic [1:0] sent;
  framing #(
      .PayloadDepth (PayloadDepth),
      .TransmitDepth(TransmitDepth)
  ) u_framing (
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
      .enters_o(enters),
      .enters_dtp_o(enters_dtp),
      .enters_psn_o(enters_psn),
      .withhold_i(refused_q),
      .withheld_o(withheld),
      .valid_o(valid),
      .last_o(last),
      .data_o(data),
      .bytes_o(bytes),
      .sent_i(sent),
      .progress_o,
      .idle_o(framing_idle)
  );

  // Faults
  logic  drop;
  beat_t tx_data;
  if (Faults) begin : g_faults
    faults u_faults (
        .clk_i,
        .rst_ni,
        .arm_i,
        .write_i(fault_write_i),
        .enters_i(enters),
        .dtp_i(enters_dtp),
        .psn_i(enters_psn),
        .valid_i(valid),
        .last_i(last),
        .data_i(data),
        .drop_o(drop),
        .data_o(tx_data),
        .fault_o
    );
  end else begin : g_no_faults
    logic unused_faults;
    assign unused_faults = ^{fault_write_i, enters, enters_dtp, enters_psn};
    assign drop = 1'b0;
    assign fault_o = 1'b0;
    assign tx_data = data;
  end

  // To the MAC
  logic lost;
  assign lost = drop || withheld;
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
      .push_i (valid && !lost),
      .data_i ({last, bytes, tx_data}),
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
  assign sent   = 2'(tx_pop) + 2'(valid && lost);

  // What has left the packetiser is in the ICRC or in the FIFO until its room is free again.
  assign idle_o = fetch_idle && framing_idle && !packet_valid;
endmodule
