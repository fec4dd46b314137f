// SPDX-License-Identifier: Apache-2.0
// Software's side of the sender: registers, descriptors that software pushes, and what is counted of a run.
module software_side
  import rashpa_pkg::*;
#(
    parameter logic        [31:0] GitHash       = 32'h0,
    parameter logic        [31:0] Clock         = 32'h0,
    parameter int unsigned        MemoryMiB     = 1024,
    parameter int unsigned        PayloadDepth  = 512,
    parameter int unsigned        TransmitDepth = 512,
    parameter bit                 Faults        = 1'b0
) (
    input  logic                                clk_i,
    input  logic                                rst_ni,
    // software
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
    output logic                                interrupt_o,
    // to all blocks
    output table_write_t                        table_write_o,
    output sender_pkg::fault_write_t            fault_write_o,
    output logic                                arm_o,
    output logic                                start_o,           // one cycle
    output logic                                aborting_o,
    output logic                                pushed_o,
    // counts of the DTP that is looked at, in the same cycle
    input  dtp_t                                dtp_i,
    output logic                     [    31:0] granted_o,
    output logic                     [    31:0] frames_o,
    output dtp_t                                credit_dtp_o,
    input  logic                     [    31:0] credit_granted_i,
    // descriptors that software has pushed
    output logic                                push_valid_o,
    input  logic                                push_ready_i,
    output descriptor_t                         push_o,
    // how the run gets on
    input  logic                                idle_i,
    input  logic                     [Dtps-1:0] active_i,
    input  logic                     [Dtps-1:0] waits_credit_i,
    input  sender_pkg::progress_t               progress_i,
    input  logic                                skips_i,
    input  dtp_t                                skips_dtp_i,
    input  logic                                memory_error_i,
    input  dtp_t                                memory_dtp_i,
    input  sender_pkg::received_t               received_i,
    input  logic                                fault_i
);
  sender_pkg::ring_write_t ring_write;
  sender_pkg::counts_t counts;
  sender_pkg::error_t error, push_error;
  logic push_idle;
  // What registers say goes to the blocks a cycle later, and so does what these say to them.
  logic arm, running, running_q, aborting, idle_q;
  logic [Dtps-1:0] done_dtps_q;
  logic [Dtps-1:0] enabled;
  logic [31:0] posted, taken, done;

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
      .table_write_o,
      .ring_write_o(ring_write),
      .fault_write_o,
      .arm_o(arm),
      .running_o(running),
      .aborting_o(aborting),
      .pushed_o,
      .enabled_o(enabled),
      .descriptors_posted_o(posted),
      .interrupt_o,
      .dtp_i,
      .granted_o,
      .frames_available_o(frames_o),
      .credit_dtp_o,
      .credit_granted_i,
      .idle_i(idle_q),
      .dtps_done_i(done_dtps_q),
      .dtps_waiting_i(waits_credit_i),
      .descriptors_taken_i(taken),
      .descriptors_done_i(done),
      .error_i(error),
      .counts_i(counts)
  );

  always_ff @(posedge clk_i) begin
    arm_o <= rst_ni && arm;
    running_q <= rst_ni && running;
    aborting_o <= rst_ni && aborting;
    idle_q <= idle_i && push_idle;
    done_dtps_q <= pushed_o ? '0 : enabled & ~active_i;
  end

  descriptor_fifo #(
      .MemoryMiB(MemoryMiB)
  ) u_pushed (
      .clk_i,
      .rst_ni,
      .write_i(ring_write),
      .posted_i(posted),
      .arm_i(arm_o),
      .running_i(running_q && pushed_o),
      .enabled_i(enabled),
      .taken_o(taken),
      .valid_o(push_valid_o),
      .ready_i(push_ready_i),
      .descriptor_o(push_o),
      .error_o(push_error),
      .idle_o(push_idle)
  );

  run_events u_events (
      .clk_i,
      .rst_ni,
      .arm_i(arm_o),
      .table_i(table_write_o),
      .running_i(running_q),
      .start_o,
      .pushed_i(pushed_o),
      .posted_i(posted),
      .done_o(done),
      .active_i,
      .waits_credit_i,
      .progress_i,
      .skips_i,
      .skips_dtp_i,
      .memory_error_i,
      .memory_dtp_i,
      .push_error_i(push_error),
      .received_i,
      .fault_i,
      .counts_o(counts),
      .error_o(error)
  );
endmodule
