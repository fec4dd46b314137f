// SPDX-License-Identifier: Apache-2.0
// Tests only: which packets are to be lost or damaged. Sixty-four entries, compared in parallel; each hits once after
// clear_i, and once more when it is written again. The answer comes one cycle behind the question.
module fault_table
  import rashpa_pkg::*;
(
    input  logic                            clk_i,
    input  logic                            rst_ni,
    input  logic                            clear_i,
    input  sender_pkg::fault_write_t        write_i,
    input  logic                            ask_i,
    input  dtp_t                            dtp_i,
    input  logic                     [23:0] psn_i,
    output logic                            drop_o,
    output logic                            flip_o,
    output logic                     [15:0] bit_o     // of the frame: 8 · byte + bit
);

  localparam int unsigned Entries = 64;

  logic [Entries-1:0][27:0] packet_q;
  logic [Entries-1:0][17:0] what_q;
  logic [Entries-1:0] left_q;
  logic [Entries-1:0] hit, written;
  logic [17:0] what;

  always_comb begin
    what = '0;
    written = '0;
    written[write_i.word[6:1]] = write_i.valid;
    for (int i = 0; i < int'(Entries); ++i) begin
      hit[i] = ask_i && left_q[i] && packet_q[i] == {dtp_i, psn_i};
      if (hit[i]) what |= what_q[i];
    end
  end

  always_ff @(posedge clk_i) begin
    if (write_i.valid && !write_i.word[0]) packet_q[write_i.word[6:1]] <= write_i.data[27:0];
    if (write_i.valid && write_i.word[0]) what_q[write_i.word[6:1]] <= write_i.data[17:0];
    bit_o <= what[15:0];
    if (!rst_ni) begin
      what_q <= '0;
      left_q <= '0;
      drop_o <= 1'b0;
      flip_o <= 1'b0;
    end else begin
      left_q <= clear_i ? '1 : (left_q & ~hit) | written;
      drop_o <= what[17:16] == card_registers_pkg::FaultKindDrop;
      flip_o <= what[17:16] == card_registers_pkg::FaultKindFlip;
    end
  end

endmodule
