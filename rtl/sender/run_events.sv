// SPDX-License-Identifier: Apache-2.0
// What the registers count of a run, and the error that ends it, from what the blocks say.
module run_events
  import rashpa_pkg::*;
  import card_registers_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,
    input logic arm_i,
    input table_write_t table_i,
    input logic running_i,
    output logic start_o,  // its first cycle
    input logic pushed_i,
    input logic [31:0] posted_i,
    output logic [31:0] done_o,  // pushed descriptors
    input logic [Dtps-1:0] active_i,
    input logic [Dtps-1:0] waits_credit_i,
    input sender_pkg::progress_t progress_i,
    input logic skips_i,
    input dtp_t skips_dtp_i,
    input logic memory_error_i,
    input dtp_t memory_dtp_i,
    input sender_pkg::error_t push_error_i,
    input sender_pkg::received_t received_i,
    input logic fault_i,
    output sender_pkg::counts_t counts_o,
    output sender_pkg::error_t error_o
);
  logic running_q, ends;
  logic [31:0] lines;  // of an image

  assign start_o = running_i && !running_q;
  assign ends = progress_i.begins && progress_i.ends;
  table_word #(
      .Word(DtpTableLinesWord)
  ) u_lines (
      .clk_i,
      .write_i(table_i),
      .dtp_i  (progress_i.dtp),
      .data_o (lines)
  );
  logic unused;
  assign unused = ^lines[31:16];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      running_q <= 1'b0;
      done_o <= '0;
    end else begin
      running_q <= running_i;
      if (arm_i) done_o <= posted_i;
      else if (ends && pushed_i) done_o <= done_o + 32'd1;
    end
  end

  always_comb begin
    counts_o = '0;
    counts_o.packet = progress_i.begins;
    counts_o.packet_event = progress_i.event_record;
    counts_o.packet_dtp = progress_i.dtp;
    counts_o.packet_bytes = progress_i.bytes;
    if (pushed_i) counts_o.lines = 16'(ends && !progress_i.event_record);
    else if (progress_i.begins && progress_i.event_record) counts_o.lines = lines[15:0];
    counts_o.skipped = skips_i;
    counts_o.skipped_dtp = skips_dtp_i;
    counts_o.wait_credit = running_i && !pushed_i && active_i != '0 && (active_i & ~waits_credit_i) == '0;
    counts_o.wait_memory = progress_i.waits_memory;
    counts_o.wait_wire = progress_i.waits_wire;
    counts_o.credit = received_i.credit;
    counts_o.cnp = received_i.cnp;
    counts_o.frame_ignored = received_i.ignored;
    counts_o.icrc_bad = received_i.icrc_bad;
    counts_o.frame_missed = received_i.missed;
    counts_o.fault = fault_i;
  end

  // A cycle later
  always_ff @(posedge clk_i) begin
    error_o <= push_error_i;
    if (memory_error_i) begin
      error_o.valid <= 1'b1;
      error_o.code  <= ErrorCodeMemory;
      error_o.dtp   <= memory_dtp_i;
      error_o.line  <= '0;
    end
    if (!rst_ni) error_o.valid <= 1'b0;
  end
endmodule
