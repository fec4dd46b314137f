// SPDX-License-Identifier: Apache-2.0
// Whether a descriptor can be carried out: the answer comes three cycles behind it.
module descriptor_check
  import rashpa_pkg::*;
  import card_registers_pkg::*;
#(
    parameter int unsigned MemoryMiB = 1024
) (
    input  logic                   clk_i,
    input  logic        [    47:0] source_i,
    input  logic        [    31:0] bytes_i,
    input  logic                   event_record_i,
    input  dtp_t                   dtp_i,
    input  logic        [Dtps-1:0] enabled_i,
    output error_code_e            code_o
);

  localparam logic [31:0] MostBytes = 32'h8000_0000;
  localparam logic [31:0] RecordBytes = 32'd128;
  localparam logic [48:0] MemoryBytes = {17'(MemoryMiB >> 12), 32'(MemoryMiB << 20)};

  logic empty_q, disabled_q, long_q, carry_q;
  logic [31:0] end_low_q;
  logic [16:0] end_high;
  logic outside, outside_q;
  error_code_e other_q;

  // The first byte behind it, in two steps.
  assign end_high = {1'b0, source_i[47:32]} + {16'b0, carry_q};
  assign outside  = end_high > MemoryBytes[48:32] || (end_high == MemoryBytes[48:32] && end_low_q > MemoryBytes[31:0]);

  always_ff @(posedge clk_i) begin
    {carry_q, end_low_q} <= {1'b0, source_i[31:0]} + {1'b0, bytes_i};
    empty_q              <= bytes_i == '0;
    disabled_q           <= !enabled_i[dtp_i];
    long_q               <= event_record_i ? bytes_i != RecordBytes : bytes_i > MostBytes;
    outside_q            <= outside;
    if (disabled_q) other_q <= ErrorCodeDescriptorDtp;
    else if (empty_q) other_q <= ErrorCodeDescriptorEmpty;
    else if (long_q) other_q <= ErrorCodeDescriptorLong;
    else other_q <= ErrorCodeNone;
    code_o <= other_q == ErrorCodeNone && outside_q ? ErrorCodeDescriptorOutside : other_q;
  end

endmodule
