// SPDX-License-Identifier: Apache-2.0
// The registers of schema/card_registers.rdl on AXI-Lite: what software writes goes to the blocks, what they say can be
// read. Writes that would have no effect, or a wrong one, are answered with SLVERR.
module registers
  import rashpa_pkg::*;
  import card_registers_pkg::*;
#(
    parameter logic        [31:0] GitHash       = 32'h0,
    parameter logic        [31:0] Clock         = 32'h0,    // 2^-10 MHz
    parameter int unsigned        MemoryMiB     = 1024,
    parameter logic        [15:0] PayloadBeats  = 16'd512,
    parameter logic        [15:0] TransmitBeats = 16'd512,
    parameter bit                 Faults        = 1'b0
) (
    input  logic                                clk_i,
    input  logic                                rst_ni,
    input  logic                                s_axil_awvalid,
    output logic                                s_axil_awready,
    input  logic                     [    14:0] s_axil_awaddr,
    input  logic                                s_axil_wvalid,
    output logic                                s_axil_wready,
    input  logic                     [    31:0] s_axil_wdata,
    input  logic                     [     3:0] s_axil_wstrb,
    output logic                                s_axil_bvalid,
    input  logic                                s_axil_bready,
    output logic                     [     1:0] s_axil_bresp,
    input  logic                                s_axil_arvalid,
    output logic                                s_axil_arready,
    input  logic                     [    14:0] s_axil_araddr,
    output logic                                s_axil_rvalid,
    input  logic                                s_axil_rready,
    output logic                     [    31:0] s_axil_rdata,
    output logic                     [     1:0] s_axil_rresp,
    // arm_o lasts one cycle and comes a thousand cycles or more before running_o.
    output table_write_t                        table_write_o,
    output sender_pkg::ring_write_t             ring_write_o,
    output sender_pkg::fault_write_t            fault_write_o,
    output logic                                arm_o,
    output logic                                running_o,
    output logic                                aborting_o,
    output logic                                pushed_o,
    output logic                     [Dtps-1:0] enabled_o,
    output logic                     [    31:0] descriptors_posted_o,
    output logic                                interrupt_o,
    // Counts of one DTP, in the same cycle: what may go, and what the receiver granted.
    input  dtp_t                                dtp_i,
    output logic                     [    31:0] granted_o,
    output logic                     [    31:0] frames_available_o,
    output dtp_t                                credit_dtp_o,
    input  logic                     [    31:0] credit_granted_i,
    // From the blocks.
    input  logic                                idle_i,
    input  logic                     [Dtps-1:0] dtps_done_i,
    input  logic                     [Dtps-1:0] dtps_waiting_i,
    input  logic                     [    31:0] descriptors_taken_i,
    input  logic                     [    31:0] descriptors_done_i,
    input  sender_pkg::error_t                  error_i,
    input  sender_pkg::counts_t                 counts_i
);

  logic write, write_done, write_error, read, read_done, read_error, arready;
  logic [12:0] write_word, read_word;
  logic [31:0] write_data, read_data, table_data, granted;
  logic table_taken;
  logic [3:0][31:0] single;
  sender_pkg::doorbell_write_t doorbell;
  sender_pkg::verdict_t verdict;
  sender_pkg::run_status_t status;

  // While the table is walked, reads wait; it begins between two of them.
  assign s_axil_arready = arready && !table_taken;

  axi_lite_slave u_slave (
      .clk_i,
      .rst_ni,
      .s_axil_awvalid,
      .s_axil_awready,
      .s_axil_awaddr,
      .s_axil_wvalid,
      .s_axil_wready,
      .s_axil_wdata,
      .s_axil_wstrb,
      .s_axil_bvalid,
      .s_axil_bready,
      .s_axil_bresp,
      .s_axil_arvalid(s_axil_arvalid && !table_taken),
      .s_axil_arready(arready),
      .s_axil_araddr,
      .s_axil_rvalid,
      .s_axil_rready,
      .s_axil_rdata,
      .s_axil_rresp,
      .write_o(write),
      .write_word_o(write_word),
      .write_data_o(write_data),
      .write_done_i(write_done),
      .write_error_i(write_error),
      .read_o(read),
      .read_word_o(read_word),
      .read_done_i(read_done),
      .read_error_i(read_error),
      .read_data_i(read_data)
  );

  register_write #(
      .Faults(Faults)
  ) u_write (
      .clk_i,
      .rst_ni,
      .write_i(write),
      .word_i(write_word),
      .data_i(write_data),
      .done_o(write_done),
      .error_o(write_error),
      .state_i(status.state),
      .table_write_o,
      .ring_write_o,
      .fault_write_o,
      .doorbell_o(doorbell),
      .pushed_o,
      .enabled_o
  );

  doorbells u_doorbells (
      .clk_i,
      .rst_ni,
      .write_i(doorbell),
      .credit_dtp_o,
      .credit_granted_i,
      .dtp_i,
      .granted_o,
      .frames_available_o,
      .status_dtp_i(read_word[7:4]),
      .status_granted_o(granted),
      .single_o(single)
  );
  assign descriptors_posted_o = single[0];

  table_copy u_table (
      .clk_i,
      .rst_ni,
      .table_i(table_write_o),
      .dtp_i(read_word[10:7]),
      .word_i(read_word[5:0]),
      .data_o(table_data),
      .check_i(arm_o),
      .pushed_i(pushed_o),
      .enabled_i(enabled_o),
      .verdict_o(verdict)
  );

  run_control u_control (
      .clk_i,
      .rst_ni,
      .arm_i(single[2]),
      .start_i(single[3]),
      .abort_i(single[1]),
      .reading_i(!arready),
      .table_taken_o(table_taken),
      .check_o(arm_o),
      .verdict_i(verdict),
      .pushed_i(pushed_o),
      .enabled_i(enabled_o),
      .dtps_done_i,
      .idle_i,
      .error_i,
      .status_o(status),
      .interrupt_o
  );
  assign running_o  = status.state == StateRunning;
  assign aborting_o = status.state == StateAborting;

  register_read #(
      .GitHash(GitHash),
      .Clock(Clock),
      .MemoryMiB(MemoryMiB),
      .PayloadBeats(PayloadBeats),
      .TransmitBeats(TransmitBeats),
      .Faults(Faults)
  ) u_read (
      .clk_i,
      .rst_ni,
      .read_i(read),
      .word_i(read_word),
      .done_o(read_done),
      .error_o(read_error),
      .data_o(read_data),
      .status_i(status),
      .descriptors_taken_i,
      .descriptors_done_i,
      .dtps_done_i,
      .dtps_waiting_i,
      .granted_i(granted),
      .pushed_i(pushed_o),
      .single_i(single),
      .table_i(table_data),
      .clear_i(arm_o),
      .counts_i
  );
endmodule
