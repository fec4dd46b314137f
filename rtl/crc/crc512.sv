// SPDX-License-Identifier: Apache-2.0
// The state of a CRC over packets of 64-byte beats, a beat a cycle, three cycles behind them.
module crc512
  import crc_pkg::*;
#(
    parameter logic [31:0] Poly = Crc32
) (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic         valid_i,
    input  logic         first_i,  // the state is start_i before this beat
    input  logic         last_i,
    input  logic [ 31:0] start_i,
    input  logic [511:0] data_i,   // byte 0 first, of each byte bit 0
    output logic         valid_o,  // state_o is that of a whole packet
    output logic [ 31:0] state_o   // behind the beat of three cycles ago
);

  localparam int unsigned Words = 16;

  // The state before a beat counts like 32 bits added to its first word.
  localparam matrix_t Beat = times(Poly, power(Poly, 64));

  logic [31:0] part_d[Words];
  logic [31:0] part_q[Words];
  logic [31:0] sum_d, sum_q, state_q;
  logic [2:0] valid_q;
  logic [1:0] first_q;
  logic [2:0] last_q;

  for (genvar w = 0; w < Words; w++) begin : gen_word
    localparam matrix_t Word = times(Poly, power(Poly, 64 - 4 * w));
    if (w == 0) begin : gen_first
      assign part_d[w] = product(Word, data_i[31:0] ^ (start_i & {32{first_i}}));
    end else begin : gen_other
      assign part_d[w] = product(Word, data_i[32*w+:32]);
    end
  end

  // As trees, not as chains.
  for (genvar r = 0; r < 32; r++) begin : gen_row
    logic [Words-1:0] row;
    for (genvar w = 0; w < Words; w++) begin : gen_bit
      assign row[w] = part_q[w][r];
    end
    assign sum_d[r] = ^row;
  end

  always_ff @(posedge clk_i) begin
    part_q <= part_d;
    sum_q  <= sum_d;
    if (valid_q[1]) state_q <= product(Beat, state_q & ~{32{first_q[1]}}) ^ sum_q;
    first_q <= {first_q[0], first_i};
    last_q  <= {last_q[1:0], last_i};
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= '0;
    else valid_q <= {valid_q[1:0], valid_i};
  end

  assign valid_o = valid_q[2] && last_q[2];
  assign state_o = state_q;

endmodule
