// SPDX-License-Identifier: Apache-2.0
// A queue of words in one clock domain; the first word shows itself. Nothing is checked when it is full: whoever pushes
// has kept count of the room, or looks at `full_o`.
module fifo #(
    parameter int unsigned Width = 8,
    parameter int unsigned Depth = 16  // a power of two
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic             clear_i,
    input  logic             push_i,
    input  logic [Width-1:0] data_i,
    output logic             full_o,
    output logic             valid_o,
    output logic [Width-1:0] data_o,
    input  logic             pop_i     // only while valid
);
  localparam int unsigned Bits = $clog2(Depth);
  if (Depth < 4 || (1 << Bits) != Depth) begin : g_depth
    $fatal(1, "fifo: a depth of %0d is no power of two of 4 or more", Depth);
  end

  logic [Width-1:0] memory[Depth];
  logic [Bits:0] write_q, read_q, next, read_d;
  logic [Bits:0] level;

  assign level  = write_q - read_q;
  assign full_o = level >= (Bits + 1)'(Depth);
  assign next   = read_q + (Bits + 1)'(1);
  assign read_d = pop_i ? next : read_q;

  always_ff @(posedge clk_i) begin
    if (push_i) memory[write_q[Bits-1:0]] <= data_i;
    // what was written before this edge can be read with it
    data_o <= memory[read_d[Bits-1:0]];
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      write_q <= '0;
      read_q  <= '0;
      valid_o <= 1'b0;
    end else begin
      write_q <= write_q + (Bits + 1)'(push_i);
      read_q  <= read_d;
      valid_o <= pop_i ? next != write_q : read_q != write_q;  // pop_i comes late
    end
  end
endmodule
