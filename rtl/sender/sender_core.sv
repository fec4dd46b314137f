// SPDX-License-Identifier: Apache-2.0
// The sender without its registers: descriptors, made here or pushed, to frames.
module sender_core
  import rashpa_pkg::*;
#(
    parameter int unsigned PayloadDepth = 512,
    parameter int unsigned TransmitDepth = 512,
    parameter bit Faults = 1'b0
) (
    input  logic                                clk_i,
    input  logic                                rst_ni,
    input  logic                                arm_i,
    input  logic                                start_i,
    input  logic                                abort_i,         // held until idle_o
    input  logic                                pushed_mode_i,   // descriptors come from pushed_i
    input  table_write_t                        table_i,
    output dtp_t                                dtp_o,           // that is looked at
    input  logic                     [    31:0] granted_i,       // of it, in the same cycle
    input  logic                     [    31:0] frames_i,
    input  logic                     [Dtps-1:0] may_go_i,
    input  logic                                pushed_valid_i,
    output logic                                pushed_ready_o,
    input  descriptor_t                         pushed_i,
    // card memory
    output logic                                m_axi_arvalid,
    input  logic                                m_axi_arready,
    output logic                     [    47:0] m_axi_araddr,
    output logic                     [     7:0] m_axi_arlen,
    input  logic                                m_axi_rvalid,
    output logic                                m_axi_rready,
    input  beat_t                               m_axi_rdata,
    input  logic                     [     1:0] m_axi_rresp,
    input  logic                                m_axi_rlast,
    // MAC
    output logic                                m_axis_tvalid,
    input  logic                                m_axis_tready,
    output beat_t                               m_axis_tdata,
    output logic                     [    63:0] m_axis_tkeep,
    output logic                                m_axis_tlast,
    // faults on order
    input  sender_pkg::fault_write_t            fault_write_i,
    output logic                                fault_o,
    // for registers
    output logic                                taken_o,         // one cycle: a descriptor is taken …
    output descriptor_t                         descriptor_o,    // … this one
    output sender_pkg::progress_t               progress_o,
    output logic                     [Dtps-1:0] active_o,
    output logic                     [Dtps-1:0] waits_credit_o,
    output logic                                skips_o,
    output dtp_t                                skips_dtp_o,
    output logic                                error_o,
    output dtp_t                                error_dtp_o,
    output logic                                idle_o
);
  logic made_valid, valid, ready, taken;
  descriptor_t made;
  dtp_t looked_at;
  logic packet_valid, packet_ready, datapath_idle;
  packet_t packet;
  logic [47:0] source;

  descriptor_generator u_generator (
      .clk_i,
      .rst_ni,
      .arm_i,
      .start_i(start_i && !pushed_mode_i),
      .abort_i,
      .table_i,
      .dtp_o(looked_at),
      .granted_i,
      .frames_i,
      .may_go_i,
      .valid_o(made_valid),
      .ready_i(ready && !pushed_mode_i),
      .descriptor_o(made),
      .active_o,
      .waits_credit_o,
      .skips_o
  );
  assign skips_dtp_o = looked_at;
  assign dtp_o = looked_at;

  assign valid = pushed_mode_i ? pushed_valid_i : made_valid;
  assign pushed_ready_o = ready && pushed_mode_i;
  assign descriptor_o = pushed_mode_i ? pushed_i : made;
  assign taken = valid && ready && !abort_i;
  assign taken_o = taken;

  segmenter u_segmenter (
      .clk_i,
      .rst_ni,
      .clear_i(abort_i),
      .table_i,
      .valid_i(valid),
      .ready_o(ready),
      .descriptor_i(descriptor_o),
      .valid_o(packet_valid),
      .ready_i(packet_ready),
      .packet_o(packet),
      .source_o(source)
  );
  datapath #(
      .PayloadDepth(PayloadDepth),
      .TransmitDepth(TransmitDepth),
      .Faults(Faults)
  ) u_datapath (
      .clk_i,
      .rst_ni,
      .arm_i,
      .table_i,
      .valid_i (packet_valid),
      .ready_o (packet_ready),
      .packet_i(packet),
      .source_i(source),
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
      .fault_write_i,
      .fault_o,
      .progress_o,
      .error_o,
      .error_dtp_o,
      .idle_o  (datapath_idle)
  );
  assign idle_o = datapath_idle && !packet_valid && !valid && ready && active_o == '0;
endmodule
