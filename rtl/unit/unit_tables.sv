// SPDX-License-Identifier: Apache-2.0
// Calibration of both halves of the lanes, each by a port of its own.
module unit_tables
  import unit_pkg::*;
(
    input  logic            clk_i,
    input  logic            rst_ni,
    input  logic            stop_i,                // nothing begins
    input  logic     [ 2:0] posted_i,
    input  logic     [15:0] blocks_i,
    input  page_t           page_low_i,
    input  page_t           page_high_i,
    output logic     [ 1:0] loaded_low_o,
    output logic     [ 1:0] loaded_high_o,
    input  logic            free_i,                // the lanes have done with a bank
    input  logic            free_bank_i,
    output logic            idle_o,
    output logic            error_o,
    // lanes 0 … 15
    output logic            m_axi_low_arvalid,
    input  logic            m_axi_low_arready,
    output address_t        m_axi_low_araddr,
    output logic     [ 7:0] m_axi_low_arlen,
    input  logic            m_axi_low_rvalid,
    output logic            m_axi_low_rready,
    input  logic     [ 1:0] m_axi_low_rresp,
    // lanes 16 … 31
    output logic            m_axi_high_arvalid,
    input  logic            m_axi_high_arready,
    output address_t        m_axi_high_araddr,
    output logic     [ 7:0] m_axi_high_arlen,
    input  logic            m_axi_high_rvalid,
    output logic            m_axi_high_rready,
    input  logic     [ 1:0] m_axi_high_rresp,
    // to their tables; the beats go past
    output logic     [ 1:0] write_o,
    output logic     [ 1:0] write_half_o,
    output logic     [ 8:0] write_place_o     [2]
);
  logic low_idle, high_idle, low_error, high_error;
  assign idle_o  = low_idle && high_idle;
  assign error_o = low_error || high_error;

  unit_calibration u_low (
      .clk_i,
      .rst_ni,
      .stop_i,
      .posted_i,
      .dropped_i(posted_i),
      .blocks_i,
      .page_i(page_low_i),
      .loaded_o(loaded_low_o),
      .free_i,
      .free_bank_i,
      .idle_o(low_idle),
      .error_o(low_error),
      .m_axi_arvalid(m_axi_low_arvalid),
      .m_axi_arready(m_axi_low_arready),
      .m_axi_araddr(m_axi_low_araddr),
      .m_axi_arlen(m_axi_low_arlen),
      .m_axi_rvalid(m_axi_low_rvalid),
      .m_axi_rready(m_axi_low_rready),
      .m_axi_rresp(m_axi_low_rresp),
      .write_o(write_o[0]),
      .write_half_o(write_half_o[0]),
      .write_place_o(write_place_o[0])
  );
  unit_calibration u_high (
      .clk_i,
      .rst_ni,
      .stop_i,
      .posted_i,
      .dropped_i(posted_i),
      .blocks_i,
      .page_i(page_high_i),
      .loaded_o(loaded_high_o),
      .free_i,
      .free_bank_i,
      .idle_o(high_idle),
      .error_o(high_error),
      .m_axi_arvalid(m_axi_high_arvalid),
      .m_axi_arready(m_axi_high_arready),
      .m_axi_araddr(m_axi_high_araddr),
      .m_axi_arlen(m_axi_high_arlen),
      .m_axi_rvalid(m_axi_high_rvalid),
      .m_axi_rready(m_axi_high_rready),
      .m_axi_rresp(m_axi_high_rresp),
      .write_o(write_o[1]),
      .write_half_o(write_half_o[1]),
      .write_place_o(write_place_o[1])
  );
endmodule
