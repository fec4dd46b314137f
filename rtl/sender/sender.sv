// SPDX-License-Identifier: Apache-2.0
// The sender: AXI-Lite for software, AXI4 reads of card memory, AXI-Stream to and from a MAC.
module sender
  import rashpa_pkg::*;
#(
    parameter logic        [31:0] GitHash       = 32'h0,
    parameter logic        [31:0] Clock         = 32'h0,  // 2^-10 MHz; 0: simulated
    parameter int unsigned        MemoryMiB     = 1024,
    parameter int unsigned        PayloadDepth  = 512,
    parameter int unsigned        TransmitDepth = 512,
    parameter bit                 Faults        = 1'b0    // on order, for tests
) (
    input  logic         clk_i,
    input  logic         rst_ni,
    // software
    input  logic         s_axil_awvalid,
    output logic         s_axil_awready,
    input  logic  [14:0] s_axil_awaddr,
    input  logic         s_axil_wvalid,
    output logic         s_axil_wready,
    input  logic  [31:0] s_axil_wdata,
    input  logic  [ 3:0] s_axil_wstrb,
    output logic         s_axil_bvalid,
    input  logic         s_axil_bready,
    output logic  [ 1:0] s_axil_bresp,
    input  logic         s_axil_arvalid,
    output logic         s_axil_arready,
    input  logic  [14:0] s_axil_araddr,
    output logic         s_axil_rvalid,
    input  logic         s_axil_rready,
    output logic  [31:0] s_axil_rdata,
    output logic  [ 1:0] s_axil_rresp,
    output logic         interrupt_o,
    // card memory
    output logic         m_axi_arvalid,
    input  logic         m_axi_arready,
    output logic  [47:0] m_axi_araddr,
    output logic  [ 7:0] m_axi_arlen,
    input  logic         m_axi_rvalid,
    output logic         m_axi_rready,
    input  beat_t        m_axi_rdata,
    input  logic  [ 1:0] m_axi_rresp,
    input  logic         m_axi_rlast,
    // MAC: frames without FCS
    output logic         m_axis_tvalid,
    input  logic         m_axis_tready,
    output beat_t        m_axis_tdata,
    output logic  [63:0] m_axis_tkeep,
    output logic         m_axis_tlast,
    input  logic         s_axis_tvalid,   // taken every cycle
    input  beat_t        s_axis_tdata,
    input  logic  [63:0] s_axis_tkeep,
    input  logic         s_axis_tlast
);
  table_write_t table_write;
  sender_pkg::fault_write_t fault_write;
  sender_pkg::progress_t progress;
  sender_pkg::received_t received;
  logic arm, start, aborting, pushed, idle, taken, skips, memory_error, fault, push_valid, push_ready, spends_q, unused;
  logic [Dtps-1:0] active, waits_credit, may_go;
  dtp_t looked_at, credit_dtp, memory_dtp, skips_dtp;
  logic [31:0] granted, credit_granted, frames;
  descriptor_t push, descriptor, spent_q;
  assign unused = ^spent_q;

  software_side #(
      .GitHash(GitHash),
      .Clock(Clock),
      .MemoryMiB(MemoryMiB),
      .PayloadDepth(PayloadDepth),
      .TransmitDepth(TransmitDepth),
      .Faults(Faults)
  ) u_software (
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
      .s_axil_arvalid,
      .s_axil_arready,
      .s_axil_araddr,
      .s_axil_rvalid,
      .s_axil_rready,
      .s_axil_rdata,
      .s_axil_rresp,
      .interrupt_o,
      .table_write_o(table_write),
      .fault_write_o(fault_write),
      .arm_o(arm),
      .start_o(start),
      .aborting_o(aborting),
      .pushed_o(pushed),
      .dtp_i(looked_at),
      .granted_o(granted),
      .frames_o(frames),
      .credit_dtp_o(credit_dtp),
      .credit_granted_i(credit_granted),
      .push_valid_o(push_valid),
      .push_ready_i(push_ready),
      .push_o(push),
      .idle_i(idle),
      .active_i(active),
      .waits_credit_i(waits_credit),
      .progress_i(progress),
      .skips_i(skips),
      .skips_dtp_i(skips_dtp),
      .memory_error_i(memory_error),
      .memory_dtp_i(memory_dtp),
      .received_i(received),
      .fault_i(fault)
  );

  sender_core #(
      .PayloadDepth(PayloadDepth),
      .TransmitDepth(TransmitDepth),
      .Faults(Faults)
  ) u_core (
      .clk_i,
      .rst_ni,
      .arm_i(arm),
      .start_i(start),
      .abort_i(aborting),
      .pushed_mode_i(pushed),
      .table_i(table_write),
      .dtp_o(looked_at),
      .granted_i(granted),
      .frames_i(frames),
      .may_go_i(may_go),
      .pushed_valid_i(push_valid),
      .pushed_ready_o(push_ready),
      .pushed_i(push),
      .m_axi_arvalid,
      .m_axi_arready,
      .m_axi_araddr,
      .m_axi_arlen,
      .m_axi_rvalid,
      .m_axi_rready,
      .m_axi_rdata,
      .m_axi_rresp,
      .m_axi_rlast,
      .m_axis_tvalid,
      .m_axis_tready,
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .fault_write_i(fault_write),
      .fault_o(fault),
      .taken_o(taken),
      .descriptor_o(descriptor),
      .progress_o(progress),
      .active_o(active),
      .waits_credit_o(waits_credit),
      .skips_o(skips),
      .skips_dtp_o(skips_dtp),
      .error_o(memory_error),
      .error_dtp_o(memory_dtp),
      .idle_o(idle)
  );

  always_ff @(posedge clk_i) begin
    spends_q <= taken;
    spent_q  <= descriptor;
  end
  pacer u_pacer (
      .clk_i,
      .rst_ni,
      .arm_i(arm),
      .table_i(table_write),
      .spend_i(spends_q),
      .dtp_i(spent_q.dtp),
      .bytes_i(spent_q.bytes),
      .may_go_o(may_go)
  );

  credit_receiver u_credits (
      .clk_i,
      .rst_ni,
      .arm_i(arm),
      .table_i(table_write),
      .s_axis_tvalid,
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .dtp_i(credit_dtp),
      .granted_o(credit_granted),
      .credit_o(received.credit),
      .cnp_o(received.cnp),
      .ignored_o(received.ignored),
      .icrc_bad_o(received.icrc_bad),
      .missed_o(received.missed)
  );
endmodule
