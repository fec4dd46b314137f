// SPDX-License-Identifier: Apache-2.0
// Takes the zeros behind a message out of the state of its CRC. A bit of their number a cycle.
module crc_takeback
  import crc_pkg::*;
#(
    parameter logic [31:0] Poly = Crc32,
    parameter int unsigned Always = 0,  // bytes that are taken back besides those of zeros_i
    parameter int unsigned Granule = 1,  // zeros_i is a multiple of it: 1, 2, 4, 8, 16 or 32
    localparam int unsigned Stages = 6 - $clog2(Granule)  // the latency
) (
    input  logic        clk_i,
    input  logic [31:0] state_i,
    input  logic [ 5:0] zeros_i,  // bytes
    output logic [31:0] state_o   // Stages cycles later
);

  if (Granule == 0 || Granule > 32 || 32 % Granule != 0) begin : gen_check
    $fatal(1, "Granule is a power of two up to 32");
  end

  logic [31:0] state[Stages+1];
  logic [ 5:0] zeros[Stages+1];

  assign state[0] = state_i;
  assign zeros[0] = zeros_i;

  for (genvar s = 0; s < Stages; s++) begin : gen_stage
    localparam int unsigned Own = Granule << s;
    localparam int unsigned Less = s == 0 ? Always : 0;
    localparam matrix_t Without = times(Poly, power_back(Poly, Less));
    localparam matrix_t More = Without ^ times(Poly, power_back(Poly, Own + Less));  // what the bit adds to that
    logic [31:0] state_q;
    logic [ 5:0] zeros_q;
    always_ff @(posedge clk_i) begin
      state_q <= product(Without, state[s]) ^ (product(More, state[s]) & {32{zeros[s][$clog2(Own)]}});
      zeros_q <= zeros[s];
    end
    assign state[s+1] = state_q;
    assign zeros[s+1] = zeros_q;
  end

  assign state_o = state[Stages];

  logic unused;
  assign unused = &{1'b0, zeros[Stages]};

endmodule
