// SPDX-License-Identifier: Apache-2.0
// Counters of a run: fourteen of the sender and four of each DTP. What happens to the sender's is gathered in small
// counters that take turns, one a cycle, at one adder.
module run_counters
  import rashpa_pkg::*;
(
    input  logic                             clk_i,
    input  logic                             rst_ni,
    input  logic                             clear_i,       // one cycle; done 16 cycles later
    input  logic                             running_i,
    input  sender_pkg::counts_t              counts_i,
    input  logic                [ 3:0]       read_index_i,  // of the sender's counters, or of the DTP
    output logic                [63:0]       sender_o,
    output logic                [ 3:0][63:0] dtp_o          // images sent, images skipped, packets, bytes
);

  localparam int unsigned Counters = 14;
  localparam int unsigned Lines = 1;
  localparam int unsigned Bytes = 3;
  localparam int unsigned WideBits = 20;  // 16 cycles of 65535, or of a packet's bytes
  localparam int unsigned NarrowBits = 5;  // 16 cycles of 1

  sender_pkg::counts_t counts_q;
  logic clearing_q, running_q;
  logic [3:0] turn_q, swept_index_q;
  logic [Counters-1:0][WideBits-1:0] more, gathered;
  logic [WideBits-1:0] swept_q;

  always_comb begin
    more = '0;
    more[0][0] = counts_q.packet && counts_q.packet_event;
    more[Lines] = {4'b0, counts_q.lines};
    more[2][0] = counts_q.packet;
    more[Bytes] = counts_q.packet ? {7'b0, counts_q.packet_bytes} : '0;
    more[4][0] = running_q;
    more[5][0] = counts_q.wait_credit;
    more[6][0] = counts_q.wait_memory;
    more[7][0] = counts_q.wait_wire;
    more[8][0] = counts_q.credit;
    more[9][0] = counts_q.cnp;
    more[10][0] = counts_q.frame_ignored;
    more[11][0] = counts_q.icrc_bad;
    more[12][0] = counts_q.frame_missed;
    more[13][0] = counts_q.fault;
  end

  for (genvar i = 0; i < int'(Counters); ++i) begin : gen_gather
    localparam int unsigned Bits = i == int'(Lines) || i == int'(Bytes) ? WideBits : NarrowBits;
    logic [Bits-1:0] gathered_q;
    always_ff @(posedge clk_i) begin
      if (!rst_ni || clearing_q) gathered_q <= '0;
      else gathered_q <= more[i][Bits-1:0] + (turn_q == 4'(i) ? '0 : gathered_q);
    end
    assign gathered[i] = WideBits'(gathered_q);
  end

  always_ff @(posedge clk_i) begin
    counts_q      <= counts_i;
    running_q     <= running_i;
    swept_q       <= turn_q < 4'(Counters) ? gathered[turn_q] : '0;
    swept_index_q <= turn_q;
    if (!rst_ni) begin
      turn_q     <= '0;
      clearing_q <= 1'b0;
    end else begin
      turn_q     <= clear_i ? '0 : turn_q + 4'd1;
      clearing_q <= clear_i || (clearing_q && turn_q != '1);
    end
  end

  // Tables, one step later
  logic clear_q;
  always_ff @(posedge clk_i) clear_q <= rst_ni && clearing_q;

  counter_table u_sender (
      .clk_i,
      .rst_ni,
      .clear_i(clear_q),
      .add_i(1'b1),
      .index_i(swept_index_q),
      .amount_i(swept_q),
      .read_index_i,
      .read_o(sender_o)
  );

  // The counters of one DTP each.
  logic [3:0] add;
  logic [3:0][3:0] index;
  logic [3:0][WideBits-1:0] amount;
  assign add    = {counts_q.packet, counts_q.packet, counts_q.skipped, counts_q.packet && counts_q.packet_event};
  assign index  = {counts_q.packet_dtp, counts_q.packet_dtp, counts_q.skipped_dtp, counts_q.packet_dtp};
  assign amount = {{7'b0, counts_q.packet_bytes}, 20'd1, 20'd1, 20'd1};
  for (genvar i = 0; i < 4; ++i) begin : gen_dtp
    logic add_q;
    logic [3:0] index_q;
    logic [WideBits-1:0] amount_q;
    always_ff @(posedge clk_i) begin
      add_q    <= rst_ni && add[i];
      index_q  <= clearing_q ? turn_q : index[i];
      amount_q <= amount[i];
    end
    counter_table u_table (
        .clk_i,
        .rst_ni,
        .clear_i(clear_q),
        .add_i(add_q),
        .index_i(index_q),
        .amount_i(amount_q),
        .read_index_i,
        .read_o(dtp_o[i])
    );
  end

endmodule
