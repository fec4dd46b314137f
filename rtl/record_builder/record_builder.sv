// SPDX-License-Identifier: Apache-2.0
// What an event's record still lacks, as bits to be XORed to the template in card memory: DTP, last of run, index, slot,
// lines, bytes and CRC32C of the payload, run, and by how much all this changes the record's own CRC32C. A CRC is
// linear, so the template need not be looked at: its fields are 0 and its CRC is right for that. 32 cycles.
module record_builder
  import rashpa_pkg::*;
  import card_registers_pkg::*;
(
    input  logic                clk_i,
    input  logic                rst_ni,
    input  table_write_t        table_i,
    input  logic                wanted_i,       // until the event has begun
    input  dtp_t                dtp_i,
    input  logic                last_of_run_i,
    input  logic         [63:0] index_i,
    input  logic         [31:0] slot_i,
    input  logic         [31:0] crc_i,          // of the payload of dtp_i
    output logic                ready_o,
    output beat_t               first_o,        // of the first 64 bytes
    output logic         [31:0] crc_o           // of the last 4
);
  // schema/frame_record.md: bytes
  localparam int unsigned DtpAt = 8, FlagsAt = 12, IndexAt = 32, SlotAt = 40;
  localparam int unsigned LinesAt = 44, PayloadAt = 48, CrcAt = 56, RunAt = 60;
  localparam int unsigned LastOfRun = 2;  // bit of the flags
  localparam int unsigned Steps = 31;  // words of 32 bits before the record's CRC

  logic [31:0] lines, payload_low, payload_high, run, dtp;
  table_word #(
      .Word(DtpTableLinesWord)
  ) u_lines (
      .clk_i,
      .write_i(table_i),
      .dtp_i  (dtp_i),
      .data_o (lines)
  );
  table_word #(
      .Word(DtpTablePayloadBytesWord)
  ) u_low (
      .clk_i,
      .write_i(table_i),
      .dtp_i  (dtp_i),
      .data_o (payload_low)
  );
  table_word #(
      .Word(DtpTablePayloadBytesWord + 7'd1)
  ) u_high (
      .clk_i,
      .write_i(table_i),
      .dtp_i  (dtp_i),
      .data_o (payload_high)
  );
  table_word #(
      .Word(DtpTableRunWord)
  ) u_run (
      .clk_i,
      .write_i(table_i),
      .dtp_i  (dtp_i),
      .data_o (run)
  );
  table_word #(
      .Word(DtpTableDtpWord)
  ) u_dtp (
      .clk_i,
      .write_i(table_i),
      .dtp_i  (dtp_i),
      .data_o (dtp)
  );

  logic unused;
  assign unused = ^dtp[31:8];

  beat_t first_d, first_q;
  always_comb begin
    first_d = '0;
    first_d[8*DtpAt+:8] = dtp[7:0];
    first_d[8*FlagsAt+LastOfRun] = last_of_run_i;
    first_d[8*IndexAt+:64] = index_i;
    first_d[8*SlotAt+:32] = slot_i;
    first_d[8*LinesAt+:32] = lines;
    first_d[8*PayloadAt+:64] = {payload_high, payload_low};
    first_d[8*CrcAt+:32] = crc_i;
    first_d[8*RunAt+:32] = run;
  end

  // A word a cycle through the CRC; the words behind the first 16 are 0.
  localparam crc_pkg::matrix_t Forward = crc_pkg::times(crc_pkg::Crc32c, crc_pkg::power(crc_pkg::Crc32c, 4));
  logic [ 31:0] crc_q;
  logic [511:0] left_q;
  logic [  4:0] step_q;
  logic busy_q, ready_q;

  always_ff @(posedge clk_i) begin
    if (!busy_q) begin
      first_q <= first_d;
      left_q  <= first_d;
      crc_q   <= '0;
      step_q  <= '0;
    end else begin
      left_q <= {32'h0, left_q[511:32]};
      step_q <= step_q + 5'd1;
      if (!ready_q) crc_q <= crc_pkg::product(Forward, crc_q ^ left_q[31:0]);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || !wanted_i) begin
      busy_q  <= 1'b0;
      ready_q <= 1'b0;
    end else begin
      busy_q <= 1'b1;
      if (busy_q && step_q == 5'(Steps - 1)) ready_q <= 1'b1;
    end
  end

  // They stay while the event's two beats are taken; then the next record begins.
  beat_t first_kept_q;
  logic [31:0] crc_kept_q;
  always_ff @(posedge clk_i) begin
    if (ready_q) begin
      first_kept_q <= first_q;
      crc_kept_q   <= crc_q;
    end
  end
  assign ready_o = ready_q;
  assign first_o = first_kept_q;
  assign crc_o   = crc_kept_q;
endmodule
