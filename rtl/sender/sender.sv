// SPDX-License-Identifier: Apache-2.0
// The sender: AXI-Lite for software, AXI4 reads of card memory, AXI-Stream to and from a MAC.
module sender
  import rashpa_pkg::*;
  import card_registers_pkg::*;
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
  sender_pkg::ring_write_t ring_write;
  sender_pkg::fault_write_t fault_write;
  sender_pkg::counts_t counts;
  sender_pkg::error_t error, push_error;
  logic arm, running, running_q, aborting, pushed, start;
  logic [Dtps-1:0] enabled, active, waits_credit, may_go;
  dtp_t looked_at, credit_dtp;
  logic [31:0] granted, credit_granted, frames, posted, taken_count, done_q;
  logic push_valid, push_ready, push_idle, core_idle;
  descriptor_t push, descriptor;
  logic taken, begins, begins_event, begins_ends, memory_error, skips, waits_memory, waits_wire;
  dtp_t begins_dtp, memory_dtp, skips_dtp;
  logic [12:0] begins_bytes;
  logic fault_ask, drop, flip;
  dtp_t fault_dtp;
  logic [23:0] fault_psn;
  logic [15:0] fault_bit;
  logic credit, cnp, ignored, icrc_bad, missed;
  logic [31:0] lines;
  logic unused;
  assign unused = ^{descriptor, lines};

  registers #(
      .GitHash(GitHash),
      .Clock(Clock),
      .MemoryMiB(MemoryMiB),
      .PayloadBeats(16'(PayloadDepth)),
      .TransmitBeats(16'(TransmitDepth)),
      .Faults(Faults)
  ) u_registers (
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
      .table_write_o(table_write),
      .ring_write_o(ring_write),
      .fault_write_o(fault_write),
      .arm_o(arm),
      .running_o(running),
      .aborting_o(aborting),
      .pushed_o(pushed),
      .enabled_o(enabled),
      .descriptors_posted_o(posted),
      .interrupt_o,
      .dtp_i(looked_at),
      .granted_o(granted),
      .frames_available_o(frames),
      .credit_dtp_o(credit_dtp),
      .credit_granted_i(credit_granted),
      .idle_i(core_idle && push_idle),
      .dtps_done_i(pushed ? '0 : enabled & ~active),
      .dtps_waiting_i(waits_credit),
      .descriptors_taken_i(taken_count),
      .descriptors_done_i(done_q),
      .error_i(error),
      .counts_i(counts)
  );

  descriptor_fifo #(
      .MemoryMiB(MemoryMiB)
  ) u_pushed (
      .clk_i,
      .rst_ni,
      .write_i(ring_write),
      .posted_i(posted),
      .arm_i(arm),
      .running_i(running && pushed),
      .enabled_i(enabled),
      .taken_o(taken_count),
      .valid_o(push_valid),
      .ready_i(push_ready),
      .descriptor_o(push),
      .error_o(push_error),
      .idle_o(push_idle)
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
      .fault_ask_o(fault_ask),
      .fault_dtp_o(fault_dtp),
      .fault_psn_o(fault_psn),
      .fault_drop_i(drop),
      .fault_flip_i(flip),
      .fault_bit_i(fault_bit),
      .taken_o(taken),
      .descriptor_o(descriptor),
      .begins_o(begins),
      .begins_dtp_o(begins_dtp),
      .begins_event_o(begins_event),
      .begins_bytes_o(begins_bytes),
      .begins_ends_o(begins_ends),
      .active_o(active),
      .waits_credit_o(waits_credit),
      .waits_memory_o(waits_memory),
      .waits_wire_o(waits_wire),
      .skips_o(skips),
      .skips_dtp_o(skips_dtp),
      .error_o(memory_error),
      .error_dtp_o(memory_dtp),
      .idle_o(core_idle)
  );

  pacer u_pacer (
      .clk_i,
      .rst_ni,
      .arm_i(arm),
      .table_i(table_write),
      .spend_i(taken),
      .dtp_i(descriptor.dtp),
      .bytes_i(descriptor.bytes),
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
      .credit_o(credit),
      .cnp_o(cnp),
      .ignored_o(ignored),
      .icrc_bad_o(icrc_bad),
      .missed_o(missed)
  );

  if (Faults) begin : g_faults
    fault_table u_faults (
        .clk_i,
        .rst_ni,
        .clear_i(arm),
        .write_i(fault_write),
        .ask_i  (fault_ask),
        .dtp_i  (fault_dtp),
        .psn_i  (fault_psn),
        .drop_o (drop),
        .flip_o (flip),
        .bit_o  (fault_bit)
    );
  end else begin : g_no_faults
    logic unused_faults;
    assign {drop, flip, fault_bit} = '0;
    assign unused_faults = ^{fault_ask, fault_dtp, fault_psn, fault_write};
  end

  assign start = running && !running_q;
  table_word #(
      .Word(DtpTableLinesWord)
  ) u_lines (
      .clk_i,
      .write_i(table_write),
      .dtp_i  (begins_dtp),
      .data_o (lines)
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      running_q <= 1'b0;
      done_q <= '0;
    end else begin
      running_q <= running;
      if (arm) done_q <= posted;
      else if (begins && begins_ends && pushed) done_q <= done_q + 32'd1;
    end
  end

  always_comb begin
    counts = '0;
    counts.packet = begins;
    counts.packet_event = begins_event;
    counts.packet_dtp = begins_dtp;
    counts.packet_bytes = begins_bytes;
    if (pushed) counts.lines = 16'(begins && begins_ends && !begins_event);
    else if (begins && begins_event) counts.lines = lines[15:0];
    counts.skipped = skips;
    counts.skipped_dtp = skips_dtp;
    counts.wait_credit = running && !pushed && active != '0 && (active & ~waits_credit) == '0;
    counts.wait_memory = waits_memory;
    counts.wait_wire = waits_wire;
    counts.credit = credit;
    counts.cnp = cnp;
    counts.frame_ignored = ignored;
    counts.icrc_bad = icrc_bad;
    counts.frame_missed = missed;
    counts.fault = drop || flip;
    error = push_error;
    if (memory_error) begin
      error = '0;
      error.valid = 1'b1;
      error.code = ErrorCodeMemory;
      error.dtp = memory_dtp;
    end
  end
endmodule
