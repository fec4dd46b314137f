// SPDX-License-Identifier: Apache-2.0
// The counts that software rings. Those of the DTPs lie in distributed memory; each in its turn, what receivers have
// granted is compared with what software has: the later one counts, at most 36 cycles behind both.
module doorbells
  import rashpa_pkg::*;
(
    input  logic                                     clk_i,
    input  logic                                     rst_ni,
    input  sender_pkg::doorbell_write_t              write_i,
    // In the same cycle: what receivers have granted a DTP; what counts, for the generator and for status
    output dtp_t                                     credit_dtp_o,
    input  logic                        [31:0]       credit_granted_i,
    input  dtp_t                                     dtp_i,
    output logic                        [31:0]       granted_o,
    output logic                        [31:0]       frames_available_o,
    input  dtp_t                                     status_dtp_i,
    output logic                        [31:0]       status_granted_o,
    output logic                        [ 3:0][31:0] single_o             // descriptors_posted, abort, arm, start
);

  localparam logic [5:0] Single = 6'h3C;

  // As rung: granted of sixteen DTPs, then frames of sixteen
  logic [31:0] rung[2*Dtps];
  logic [2*Dtps-1:0] rung_q;  // since reset
  always_ff @(posedge clk_i) begin
    if (write_i.valid && !write_i.word[5]) rung[write_i.word[4:0]] <= write_i.data;
    if (!rst_ni) rung_q <= '0;
    else if (write_i.valid && !write_i.word[5]) rung_q[write_i.word[4:0]] <= 1'b1;
    for (int i = 0; i < 4; ++i) begin
      if (!rst_ni) single_o[i] <= '0;
      else if (write_i.valid && write_i.word == Single + 6'(i)) single_o[i] <= write_i.data;
    end
  end

  // As they count
  logic [31:0] granted[Dtps];
  logic [31:0] frames [Dtps];
  logic [4:0] turn_q, turn1_q, turn2_q;
  logic [31:0] software1_q, software2_q, receiver1_q, receiver2_q;
  logic receiver_later_q;

  assign credit_dtp_o       = turn_q[3:0];
  assign granted_o          = granted[dtp_i];
  assign frames_available_o = frames[dtp_i];
  assign status_granted_o   = granted[status_dtp_i];

  always_ff @(posedge clk_i) begin
    turn_q           <= rst_ni ? turn_q + 5'd1 : '0;
    turn1_q          <= turn_q;
    turn2_q          <= turn1_q;
    software1_q      <= rung_q[turn_q] ? rung[turn_q] : '0;
    receiver1_q      <= credit_granted_i;
    software2_q      <= software1_q;
    receiver2_q      <= receiver1_q;
    receiver_later_q <= 32'(receiver1_q - software1_q) < 32'h8000_0000;
    if (turn2_q[4]) frames[turn2_q[3:0]] <= software2_q;
    else granted[turn2_q[3:0]] <= receiver_later_q ? receiver2_q : software2_q;
  end

endmodule
