// SPDX-License-Identifier: Apache-2.0
// The processing unit: JUNGFRAU conversion of stacks in card memory, 64 bytes of raw words a cycle. README.md has the picture.
module unit
  import unit_pkg::*;
  import unit_registers_pkg::*;
#(
    parameter int unsigned Room = 512,  // beats of results that may wait for memory
    parameter logic [31:0] GitHash = 32'd0,
    parameter logic [31:0] Clock = 32'd0,
    parameter logic [63:0] MemoryBytes = 64'h1_0000_0000
) (
    input  logic            clk_i,
    input  logic            rst_ni,
    input  logic            s_axil_awvalid,
    output logic            s_axil_awready,
    input  logic     [14:0] s_axil_awaddr,
    input  logic            s_axil_wvalid,
    output logic            s_axil_wready,
    input  logic     [31:0] s_axil_wdata,
    input  logic     [ 3:0] s_axil_wstrb,
    output logic            s_axil_bvalid,
    input  logic            s_axil_bready,
    output logic     [ 1:0] s_axil_bresp,
    input  logic            s_axil_arvalid,
    output logic            s_axil_arready,
    input  logic     [14:0] s_axil_araddr,
    output logic            s_axil_rvalid,
    input  logic            s_axil_rready,
    output logic     [31:0] s_axil_rdata,
    output logic     [ 1:0] s_axil_rresp,
    // raw words
    output logic            m_axi_raw_arvalid,
    input  logic            m_axi_raw_arready,
    output address_t        m_axi_raw_araddr,
    output logic     [ 7:0] m_axi_raw_arlen,
    input  logic            m_axi_raw_rvalid,
    output logic            m_axi_raw_rready,
    input  beat_t           m_axi_raw_rdata,
    input  logic     [ 1:0] m_axi_raw_rresp,
    input  logic            m_axi_raw_rlast,
    // calibration of lanes 0 … 15, and of 16 … 31
    output logic            m_axi_low_arvalid,
    input  logic            m_axi_low_arready,
    output address_t        m_axi_low_araddr,
    output logic     [ 7:0] m_axi_low_arlen,
    input  logic            m_axi_low_rvalid,
    output logic            m_axi_low_rready,
    input  beat_t           m_axi_low_rdata,
    input  logic     [ 1:0] m_axi_low_rresp,
    output logic            m_axi_high_arvalid,
    input  logic            m_axi_high_arready,
    output address_t        m_axi_high_araddr,
    output logic     [ 7:0] m_axi_high_arlen,
    input  logic            m_axi_high_rvalid,
    output logic            m_axi_high_rready,
    input  beat_t           m_axi_high_rdata,
    input  logic     [ 1:0] m_axi_high_rresp,
    // photons and records
    output logic            m_axi_awvalid,
    input  logic            m_axi_awready,
    output address_t        m_axi_awaddr,
    output logic     [ 7:0] m_axi_awlen,
    output logic            m_axi_wvalid,
    input  logic            m_axi_wready,
    output beat_t           m_axi_wdata,
    output logic            m_axi_wlast,
    input  logic            m_axi_bvalid,
    output logic            m_axi_bready,
    input  logic     [ 1:0] m_axi_bresp,
    // lists
    output logic            m_axi_list_awvalid,
    input  logic            m_axi_list_awready,
    output address_t        m_axi_list_awaddr,
    output logic     [ 7:0] m_axi_list_awlen,
    output logic            m_axi_list_wvalid,
    input  logic            m_axi_list_wready,
    output beat_t           m_axi_list_wdata,
    output logic            m_axi_list_wlast,
    input  logic            m_axi_list_bvalid,
    output logic            m_axi_list_bready,
    input  logic     [ 1:0] m_axi_list_bresp,
    output logic            interrupt_o          // a stack is done, an error, an Abort
);
  settings_t settings;
  stack_t stack;
  state_e state;
  error_code_e error;
  logic [31:0] posted, abort, error_stack, abort_done, done, counters[10];
  logic [1:0] slot;
  logic stack_images, stack_there, take, stop, clear, stack_done, quiet, read_error, calibration_error, write_error;
  logic [3:0] counted;

  unit_registers #(
      .GitHash(GitHash),
      .Clock(Clock),
      .MemoryBytes(MemoryBytes)
  ) u_registers (
      .settings_o(settings),
      .posted_o(posted),
      .abort_o(abort),
      .slot_i(slot),
      .stack_o(stack),
      .stack_images_o(stack_images),
      .state_i(state),
      .error_i(error),
      .error_stack_i(error_stack),
      .abort_done_i(abort_done),
      .done_i(done),
      .counters_i(counters),
      .*
  );
  unit_control u_control (
      .clk_i,
      .rst_ni,
      .posted_i(posted),
      .abort_i(abort),
      .images_good_i(stack_images),
      .blocks_i(settings.blocks),
      .slot_o(slot),
      .posted_o(stack_there),
      .take_i(take),
      .done_i(stack_done),
      .read_error_i(read_error),
      .calibration_error_i(calibration_error),
      .write_error_i(write_error),
      .quiet_i(quiet),
      .stop_o(stop),
      .clear_o(clear),
      .state_o(state),
      .error_o(error),
      .error_stack_o(error_stack),
      .abort_done_o(abort_done),
      .done_o(done),
      .counted_i(counted),
      .counters_o(counters),
      .interrupt_o
  );
  unit_core #(
      .Room(Room)
  ) u_core (
      .stop_i(stop),
      .clear_i(clear),
      .settings_i(settings),
      .posted_i(posted[2:0]),
      .stack_there_i(stack_there),
      .stack_i(stack),
      .take_o(take),
      .done_o(stack_done),
      .quiet_o(quiet),
      .read_error_o(read_error),
      .calibration_error_o(calibration_error),
      .write_error_o(write_error),
      .counted_o(counted),
      .*
  );
endmodule
