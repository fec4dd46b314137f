// SPDX-License-Identifier: Apache-2.0
// The card that writes memory, without its registers: descriptors, made here or pushed, to bursts into the host's memory.
module writer_core
  import rashpa_pkg::*;
#(
    parameter int unsigned PayloadDepth = 512,
    parameter int unsigned BeatDepth = 256,  // beats that may wait for the host
    parameter int unsigned Bursts = 128  // that may be under way
) (
    input  logic                    clk_i,
    input  logic                    rst_ni,
    input  logic                    arm_i,
    input  logic                    start_i,
    input  logic                    abort_i,            // held until idle_o
    input  logic                    pushed_mode_i,      // descriptors come from pushed_i
    input  table_write_t            table_i,
    input  table_write_t            addresses_i,        // of the table of addresses
    output dtp_t                    dtp_o,              // that is looked at
    input  logic         [    31:0] granted_i,          // of it, in the same cycle
    input  logic         [    31:0] frames_i,
    input  logic         [Dtps-1:0] may_go_i,
    input  logic                    pushed_valid_i,
    output logic                    pushed_ready_o,
    input  descriptor_t             pushed_i,
    // card memory
    output logic                    m_axi_arvalid,
    input  logic                    m_axi_arready,
    output logic         [    47:0] m_axi_araddr,
    output logic         [     7:0] m_axi_arlen,
    input  logic                    m_axi_rvalid,
    output logic                    m_axi_rready,
    input  beat_t                   m_axi_rdata,
    input  logic         [     1:0] m_axi_rresp,
    input  logic                    m_axi_rlast,
    // the host's memory
    output logic                    m_axi_awvalid,
    input  logic                    m_axi_awready,
    output logic         [    63:0] m_axi_awaddr,
    output logic         [     7:0] m_axi_awlen,
    output logic                    m_axi_wvalid,
    input  logic                    m_axi_wready,
    output beat_t                   m_axi_wdata,
    output logic         [    63:0] m_axi_wstrb,
    output logic                    m_axi_wlast,
    input  logic                    m_axi_bvalid,
    output logic                    m_axi_bready,
    input  logic         [     1:0] m_axi_bresp,
    // for registers
    output logic                    taken_o,            // one cycle: a descriptor is taken …
    output descriptor_t             descriptor_o,       // … this one
    output logic                    begins_o,           // a packet is written …
    output logic                    locks_o,            // … a lock word: an image is announced …
    output dtp_t                    begins_dtp_o,       // … of this DTP
    output logic         [Dtps-1:0] active_o,
    output logic         [Dtps-1:0] waits_credit_o,
    output logic                    skips_o,
    output dtp_t                    skips_dtp_o,
    output logic                    read_error_o,       // card memory has refused a read
    output dtp_t                    read_error_dtp_o,
    output logic                    outside_o,          // no entry of the table of addresses has room for a write …
    output dtp_t                    outside_dtp_o,
    output logic         [    63:0] outside_offset_o,   // … that was to go there
    output logic                    write_error_o,      // the host has refused a write
    output dtp_t                    write_error_dtp_o,
    output logic                    idle_o
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
  write_path #(
      .PayloadDepth(PayloadDepth),
      .BeatDepth(BeatDepth),
      .Bursts(Bursts)
  ) u_path (
      .clk_i,
      .rst_ni,
      .arm_i,
      .table_i,
      .addresses_i,
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
      .read_error_o,
      .read_error_dtp_o,
      .outside_o,
      .outside_dtp_o,
      .outside_offset_o,
      .write_error_o,
      .write_error_dtp_o,
      .idle_o  (datapath_idle)
  );
  assign idle_o = datapath_idle && !packet_valid && !valid && ready && active_o == '0;
endmodule
