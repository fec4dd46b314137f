// SPDX-License-Identifier: Apache-2.0
// For tests: frames that software has put into a list are dropped on their way to the MAC, or a bit of them is turned over.
module faults
  import rashpa_pkg::*;
(
    input  logic                            clk_i,
    input  logic                            rst_ni,
    input  logic                            arm_i,     // the list is empty
    input  sender_pkg::fault_write_t        write_i,
    // a frame enters the ICRC
    input  logic                            enters_i,
    input  dtp_t                            dtp_i,
    input  logic                     [23:0] psn_i,
    // beats with their ICRC
    input  logic                            valid_i,
    input  logic                            last_i,
    input  beat_t                           data_i,
    output logic                            drop_o,
    output beat_t                           data_o,
    output logic                            fault_o    // one cycle: a frame is to be damaged or dropped
);
  localparam int unsigned IcrcLatency = 8;

  logic drop, flip;
  logic [15:0] flipped;
  assign fault_o = drop || flip;

  fault_table u_table (
      .clk_i,
      .rst_ni,
      .clear_i(arm_i),
      .write_i,
      .ask_i  (enters_i),
      .dtp_i,
      .psn_i,
      .drop_o (drop),
      .flip_o (flip),
      .bit_o  (flipped)
  );
  frame_faults #(
      .Latency(IcrcLatency)
  ) u_frames (
      .clk_i,
      .rst_ni,
      .drop_i(drop),
      .flip_i(flip),
      .bit_i (flipped),
      .valid_i,
      .last_i,
      .data_i,
      .drop_o,
      .data_o
  );
endmodule
