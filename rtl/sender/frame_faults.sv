// SPDX-License-Identifier: Apache-2.0
// For tests: drops frames on their way to the MAC or turns a bit of them over. What is to become of a frame is said a cycle
// behind its first beat in front of the ICRC, and waits here for the frame.
module frame_faults
  import rashpa_pkg::*;
#(
    parameter int unsigned Latency = 8  // of the ICRC
) (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic         drop_i,
    input  logic         flip_i,
    input  logic  [15:0] bit_i,    // of the frame
    // beats with their ICRC
    input  logic         valid_i,
    input  logic         last_i,
    input  beat_t        data_i,
    output logic         drop_o,
    output beat_t        data_o
);
  logic [Latency-2:0] drop_q, flip_q;
  logic [Latency-2:0][15:0] bit_q;
  logic first_q, dropped_q, flipped_q, flip;
  logic [6:0] number_q, number;
  logic [15:0] bit_kept_q, bit_now;

  assign number = first_q ? 7'd0 : number_q;
  assign drop_o = first_q ? drop_q[Latency-2] : dropped_q;
  assign flip = first_q ? flip_q[Latency-2] : flipped_q;
  assign bit_now = first_q ? bit_q[Latency-2] : bit_kept_q;
  assign data_o = flip && bit_now[15:9] == number ? data_i ^ (512'd1 << bit_now[8:0]) : data_i;

  always_ff @(posedge clk_i) begin
    drop_q <= {drop_q[Latency-3:0], drop_i};
    flip_q <= {flip_q[Latency-3:0], flip_i};
    bit_q  <= {bit_q[Latency-3:0], bit_i};
    if (valid_i) begin
      number_q   <= number + 7'd1;
      dropped_q  <= drop_o;
      flipped_q  <= flip;
      bit_kept_q <= bit_now;
    end
    if (!rst_ni) first_q <= 1'b1;
    else if (valid_i) first_q <= last_i;
  end
endmodule
