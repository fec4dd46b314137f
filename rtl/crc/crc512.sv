// SPDX-License-Identifier: Apache-2.0
// The state of a CRC over packets of 64-byte beats, a beat a cycle, three cycles behind them.
module crc512
  import crc_pkg::*;
#(
    parameter logic [31:0] Poly = Crc32,
    parameter int unsigned Back = 0  // zeros at the end of each packet that do not count, bytes: 0 … 4
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

  // A state is the message times x^32, less the zeros that are taken back.
  localparam int unsigned All = 512 + 32;
  localparam logic [2:0][9:0] Kept = Poly == Crc32 ? crc_folds_pkg::Crc32Kept : crc_folds_pkg::Crc32cKept;
  localparam int unsigned Rest = 32'(Kept[2]);
  localparam int unsigned Words = (Rest + 31) / 32;

  if (Back > 4 || !(Poly inside {Crc32, Crc32c})) begin : gen_check
    $fatal(1, "crc512: Back is at most 4, and there are folds for Crc32 and Crc32c only");
  end

  localparam matrix_t Beat = times(Poly, power(Poly, 64));
  localparam matrix_t Begin = times(Poly, power(Poly, 64 - Back));

  logic [All-1:0] message;
  logic [32'(Kept[0])-1:0] first_d, first_q;
  logic [32'(Kept[1])-1:0] second;
  logic [Rest-1:0] third_d, third_q;
  logic [31:0] sum, state_q;
  logic [1:0][31:0] start_q;
  logic [2:0] valid_q;
  logic [1:0] first_beat_q;
  logic [2:0] last_q;

  always_comb begin
    message = '0;
    message[8*Back+:512] = data_i;
  end

  crc_fold #(
      .Poly(Poly),
      .From(All),
      .Kept(32'(Kept[0]))
  ) u_first (
      .value_i(message),
      .value_o(first_d)
  );
  crc_fold #(
      .Poly(Poly),
      .From(32'(Kept[0])),
      .Kept(32'(Kept[1]))
  ) u_second (
      .value_i(first_q),
      .value_o(second)
  );
  crc_fold #(
      .Poly(Poly),
      .From(32'(Kept[1])),
      .Kept(Rest)
  ) u_third (
      .value_i(second),
      .value_o(third_d)
  );

  // What is left of it, word by word
  logic [32*Words-1:0] words;
  assign words = (32 * Words)'(third_q) << (32 * Words - Rest);
  logic [31:0] parts[Words];
  for (genvar w = 0; w < int'(Words); w++) begin : gen_word
    localparam matrix_t Word = times(Poly, power(Poly, 4 * w));
    assign parts[w] = product(Word, words[32*(Words-1-w)+:32]);
  end
  always_comb begin
    sum = parts[0];
    for (int w = 1; w < int'(Words); w++) sum ^= parts[w];
  end

  always_ff @(posedge clk_i) begin
    first_q <= first_d;
    third_q <= third_d;
    start_q <= {start_q[0], start_i};
    if (valid_q[1]) state_q <= sum ^ (first_beat_q[1] ? product(Begin, start_q[1]) : product(Beat, state_q));
    first_beat_q <= {first_beat_q[0], first_i};
    last_q <= {last_q[1:0], last_i};
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= '0;
    else valid_q <= {valid_q[1:0], valid_i};
  end

  assign valid_o = valid_q[2] && last_q[2];
  assign state_o = state_q;

endmodule
