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
    input logic clk_i,
    input logic rst_ni,

    input  logic        s_axil_awvalid,
    output logic        s_axil_awready,
    input  logic [14:0] s_axil_awaddr,
    input  logic        s_axil_wvalid,
    output logic        s_axil_wready,
    input  logic [31:0] s_axil_wdata,
    input  logic [ 3:0] s_axil_wstrb,
    output logic        s_axil_bvalid,
    input  logic        s_axil_bready,
    output logic [ 1:0] s_axil_bresp,
    input  logic        s_axil_arvalid,
    output logic        s_axil_arready,
    input  logic [14:0] s_axil_araddr,
    output logic        s_axil_rvalid,
    input  logic        s_axil_rready,
    output logic [31:0] s_axil_rdata,
    output logic [ 1:0] s_axil_rresp,

    // To the blocks. arm_o lasts one cycle and comes a thousand cycles or more before running_o.
    output table_write_t                              table_write_o,
    output sender_pkg::ring_write_t                   ring_write_o,
    output sender_pkg::fault_write_t                  fault_write_o,
    output logic                                      arm_o,
    output logic                                      running_o,
    output logic                                      aborting_o,
    output logic                                      pushed_o,
    output logic                     [Dtps-1:0]       enabled_o,
    output logic                     [Dtps-1:0][31:0] granted_o,
    output logic                     [Dtps-1:0][31:0] frames_available_o,
    output logic                     [    31:0]       descriptors_posted_o,
    output logic                                      interrupt_o,

    // From the blocks.
    input logic idle_i,
    input logic [Dtps-1:0] dtps_done_i,
    input logic [Dtps-1:0] dtps_waiting_i,
    input logic [Dtps-1:0][31:0] granted_i,  // the later of granted_o and what the receiver wrote
    input logic [31:0] descriptors_taken_i,
    input logic [31:0] descriptors_done_i,
    input sender_pkg::error_t error_i,
    input sender_pkg::counts_t counts_i
);

  logic write, write_done_q, write_error_q, read, read_done, read_error;
  logic [12:0] write_word, read_word;
  logic [31:0] write_data, read_data;
  logic check, check_done, checking;
  error_code_e check_code;
  dtp_t check_dtp;
  logic [6:0] check_word;
  logic [9:0] check_at;
  logic [31:0] table_data_q, arm_done, start_done, abort_done, error_line;
  logic [3:0][31:0] single;
  state_e state;
  logic [22:0] error;
  logic [63:0] sender_count;
  logic [3:0][63:0] dtp_count;
  logic arready;

  // While the table is walked, reads wait; it begins between two of them.
  logic table_taken;
  assign table_taken    = check || checking;
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
      .write_done_i(write_done_q),
      .write_error_i(write_error_q),
      .read_o(read),
      .read_word_o(read_word),
      .read_done_i(read_done),
      .read_error_i(read_error),
      .read_data_i(read_data)
  );

  // Writes: one register, then the groups decide by it.
  logic held_q, in_table, in_ring, in_faults, in_doorbells, is_mode, quiet, allowed;
  logic [12:0] word_q;
  logic [31:0] data_q;
  assign in_table     = word_q[12:11] == DtpTableBase[14:13] && !word_q[6];
  assign in_ring      = word_q[12:9] == DescriptorsBase[14:11];
  assign in_faults    = Faults && word_q[12:7] == FaultsBase[14:9];
  assign in_doorbells = word_q[12:6] == DoorbellsBase[14:8] && (!word_q[5] || word_q[5:2] == 4'hF);
  assign is_mode      = word_q == SettingsModeAddress[14:2];
  assign quiet        = state inside {StateIdle, StateArmed, StateDone, StateFailed};
  assign allowed      = in_doorbells || in_ring || in_faults || ((in_table || is_mode) && quiet);

  always_ff @(posedge clk_i) begin
    word_q             <= write_word;
    data_q             <= write_data;
    table_write_o.dtp  <= word_q[10:7];
    table_write_o.word <= word_q[6:0];
    table_write_o.data <= data_q;
    ring_write_o.word  <= word_q[8:0];
    ring_write_o.data  <= data_q;
    fault_write_o.word <= word_q[6:0];
    fault_write_o.data <= data_q;
    write_error_q      <= !allowed;
    if (!rst_ni) begin
      held_q              <= 1'b0;
      write_done_q        <= 1'b0;
      table_write_o.valid <= 1'b0;
      ring_write_o.valid  <= 1'b0;
      fault_write_o.valid <= 1'b0;
      pushed_o            <= 1'b0;
      enabled_o           <= '0;
    end else begin
      held_q              <= write;
      write_done_q        <= held_q;
      table_write_o.valid <= held_q && in_table && quiet;
      ring_write_o.valid  <= held_q && in_ring;
      fault_write_o.valid <= held_q && in_faults;
      if (held_q && is_mode && quiet) pushed_o <= data_q[0];
      if (table_write_o.valid && table_write_o.word == DtpTableDtpWord)
        enabled_o[table_write_o.dtp] <= table_write_o.data[DtpTableDtpEnabledLsb];
    end
  end

  doorbells u_doorbells (
      .clk_i,
      .rst_ni,
      .write_i (held_q && in_doorbells),
      .word_i  (word_q[5:0]),
      .data_i  (data_q),
      .granted_o,
      .frames_available_o,
      .single_o(single)
  );
  assign descriptors_posted_o = single[0];

  // The table once more, for software and for the check.
  logic [31:0] table_copy[1024];
  logic [ 9:0] table_at;
  assign table_at = checking ? check_at : {read_word[10:7], read_word[5:0]};
  always_ff @(posedge clk_i) begin
    if (table_write_o.valid) table_copy[{table_write_o.dtp, table_write_o.word[5:0]}] <= table_write_o.data;
    table_data_q <= table_copy[table_at];
  end

  table_check u_check (
      .clk_i,
      .rst_ni,
      .start_i(check),
      .pushed_i(pushed_o),
      .enabled_i(enabled_o),
      .read_word_o(check_at),
      .read_data_i(table_data_q),
      .busy_o(checking),
      .done_o(check_done),
      .code_o(check_code),
      .dtp_o(check_dtp),
      .word_o(check_word)
  );

  run_control u_control (
      .clk_i,
      .rst_ni,
      .arm_i(single[2]),
      .start_i(single[3]),
      .abort_i(single[1]),
      .arm_done_o(arm_done),
      .start_done_o(start_done),
      .abort_done_o(abort_done),
      .reading_i(!arready),
      .check_o(check),
      .check_done_i(check_done),
      .check_code_i(check_code),
      .check_dtp_i(check_dtp),
      .check_word_i(check_word),
      .pushed_i(pushed_o),
      .enabled_i(enabled_o),
      .dtps_done_i,
      .idle_i,
      .error_i,
      .state_o(state),
      .error_o(error),
      .error_line_o(error_line),
      .interrupt_o
  );
  assign arm_o      = check;
  assign running_o  = state == StateRunning;
  assign aborting_o = state == StateAborting;

  run_counters u_counters (
      .clk_i,
      .rst_ni,
      .clear_i(check),
      .running_i(running_o),
      .counts_i,
      .read_index_i(read_word[12:8] == DtpStatusBase[14:10] ? read_word[7:4] : 4'(read_word[4:1])),
      .sender_o(sender_count),
      .dtp_o(dtp_count)
  );

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
      .state_i(state),
      .error_i(error),
      .error_line_i(error_line),
      .arm_done_i(arm_done),
      .start_done_i(start_done),
      .abort_done_i(abort_done),
      .descriptors_taken_i,
      .descriptors_done_i,
      .dtps_done_i,
      .dtps_waiting_i,
      .granted_i,
      .pushed_i(pushed_o),
      .single_i(single),
      .sender_count_i(sender_count),
      .dtp_count_i(dtp_count),
      .table_i(table_data_q)
  );

endmodule
