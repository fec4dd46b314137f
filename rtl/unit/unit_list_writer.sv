// SPDX-License-Identifier: Apache-2.0
// Lists into card memory, burst behind burst. Those of a stack are there when memory has acknowledged the last of them.
module unit_list_writer
  import unit_pkg::*;
(
    input  logic               clk_i,
    input  logic               rst_ni,
    // beats
    input  logic               beat_i,
    input  logic        [ 4:0] count_i,
    input  entry_t      [15:0] entries_i,
    output logic               room_o,         // for all that is on its way
    // where they go
    input  logic               burst_push_i,
    input  list_burst_t        burst_i,
    input  logic               end_push_i,     // of a stack
    output logic               burst_full_o,
    output logic               stack_done_o,   // one cycle: its lists are in card memory
    output logic               some_o,         // on the way
    output logic               error_o,        // one cycle: memory has refused a write
    output logic               m_axi_awvalid,
    input  logic               m_axi_awready,
    output address_t           m_axi_awaddr,
    output logic        [ 7:0] m_axi_awlen,
    output logic               m_axi_wvalid,
    input  logic               m_axi_wready,
    output beat_t              m_axi_wdata,
    output logic               m_axi_wlast,
    input  logic               m_axi_bvalid,
    output logic               m_axi_bready,
    input  logic        [ 1:0] m_axi_bresp
);
  localparam int unsigned Room = 512;  // beats
  localparam int unsigned OnTheWay = 32;
  localparam int unsigned Levels = $clog2(Room + 1);

  list_burst_t address, data;
  logic address_there, data_there, ack_there, beat_there, address_full, data_full, ack_full, beats_full;
  logic ack_ends, ack_pop, moves, begins;
  // the burst that goes out
  logic burst_there_q, drop_q, last_q;
  logic [15:0] block_q;
  logic [5:0] left_q;  // beats behind this one
  logic [4:0] count;
  entry_t [15:0] entries;
  logic [Levels-1:0] level_q;
  logic [6:0] answers_q;  // that are not yet counted

  fifo #(
      .Width(5 + $bits(entries)),
      .Depth(Room)
  ) u_beats (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .push_i (beat_i),
      .data_i ({count_i, entries_i}),
      .full_o (beats_full),
      .valid_o(beat_there),
      .data_o ({count, entries}),
      .pop_i  (moves)
  );
  fifo #(
      .Width($bits(list_burst_t)),
      .Depth(16)
  ) u_addresses (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .push_i (burst_push_i && !burst_i.drop),
      .data_i (burst_i),
      .full_o (address_full),
      .valid_o(address_there),
      .data_o (address),
      .pop_i  (m_axi_awvalid && m_axi_awready)
  );
  fifo #(
      .Width($bits(list_burst_t)),
      .Depth(16)
  ) u_bursts (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .push_i (burst_push_i),
      .data_i (burst_i),
      .full_o (data_full),
      .valid_o(data_there),
      .data_o (data),
      .pop_i  (begins)
  );
  // Bursts that memory has to acknowledge, and ends of stacks.
  fifo #(
      .Width(1),
      .Depth(64)
  ) u_acks (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .push_i ((burst_push_i && !burst_i.drop) || end_push_i),
      .data_i (end_push_i),
      .full_o (ack_full),
      .valid_o(ack_there),
      .data_o (ack_ends),
      .pop_i  (ack_pop)
  );

  assign burst_full_o = address_full || data_full || ack_full;
  assign some_o = burst_there_q || data_there || address_there || ack_there;
  assign m_axi_awvalid = address_there;
  assign m_axi_awaddr = {4'b0, address.page, address.at, 6'b0};
  assign m_axi_awlen = {2'b0, address.beats};
  assign m_axi_wvalid = burst_there_q && beat_there && !drop_q;
  assign m_axi_wlast = last_q;
  assign moves = burst_there_q && beat_there && (drop_q || m_axi_wready);
  assign begins = data_there && (!burst_there_q || (moves && last_q));
  assign m_axi_bready = 1'b1;
  always_comb begin
    for (int unsigned i = 0; i < Entries; ++i) begin
      m_axi_wdata[16*i+:16] = entries[i].value;
      m_axi_wdata[256+16*i+:11] = entries[i].index;
      m_axi_wdata[267+16*i+:5] = '0;
    end
    m_axi_wdata[267+:5] = block_q[4:0];
    m_axi_wdata[283+:5] = block_q[9:5];
    m_axi_wdata[299+:5] = block_q[14:10];
    m_axi_wdata[315] = block_q[15];
    m_axi_wdata[331+:5] = count;
  end
  assign ack_pop = ack_there && (ack_ends || answers_q != '0);
  always_ff @(posedge clk_i) begin
    if (begins) begin
      drop_q  <= data.drop;
      block_q <= data.block;
      left_q  <= data.beats;
      last_q  <= data.beats == '0;
    end else if (moves) begin
      left_q <= left_q - 6'd1;
      last_q <= left_q == 6'd1;
    end
    room_o <= level_q < Levels'(Room - OnTheWay);
    if (!rst_ni) begin
      level_q       <= '0;
      burst_there_q <= 1'b0;
      answers_q     <= '0;
      stack_done_o  <= 1'b0;
      error_o       <= 1'b0;
    end else begin
      level_q       <= level_q + Levels'(beat_i) - Levels'(moves);
      burst_there_q <= begins || (burst_there_q && !(moves && last_q));
      answers_q     <= answers_q + 7'(m_axi_bvalid) - 7'(ack_pop && !ack_ends);
      stack_done_o  <= ack_pop && ack_ends;
      error_o       <= m_axi_bvalid && m_axi_bresp != 2'b00;
    end
  end
  wire unused_ok = &{1'b0, beats_full, address.drop, address.block, data.page, data.at};
endmodule
