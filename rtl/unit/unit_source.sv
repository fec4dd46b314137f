// SPDX-License-Identifier: Apache-2.0
// Raw words, from what is asked of memory to the beats that go into the lanes, with what counter and writer are to make
// of them.
module unit_source
  import unit_pkg::*;
#(
    parameter int unsigned Room = 512  // beats that may wait, here and behind the lanes
) (
    input  logic                clk_i,
    input  logic                rst_ni,
    input  logic                stop_i,              // nothing begins
    input  logic                clear_i,             // behind it, when all is quiet
    input  logic         [15:0] blocks_i,
    input  logic         [ 5:0] last_beats_i,
    input  page_t               image_pages_i,
    input  logic                stack_there_i,       // the next one
    input  stack_t              stack_i,
    output logic                take_o,
    input  logic                done_i,              // a stack is
    output logic                idle_o,              // nothing is on its way, nor waits
    output logic                m_axi_raw_arvalid,
    input  logic                m_axi_raw_arready,
    output address_t            m_axi_raw_araddr,
    output logic         [ 7:0] m_axi_raw_arlen,
    input  logic                m_axi_raw_rvalid,
    output logic                m_axi_raw_rready,
    input  beat_t               m_axi_raw_rdata,
    input  logic                m_axi_raw_rlast,
    // to the lanes
    input  logic         [ 1:0] loaded_low_i,
    input  logic         [ 1:0] loaded_high_i,
    input  logic                popped_i,            // a beat of photons has left
    input  logic                list_room_i,
    output logic                beat_o,
    output beat_t               data_o,
    output logic                last_o,
    output raw_burst_t          burst_o,
    output logic                wait_calibration_o,
    output logic                wait_room_o,
    // to the counter
    output count_burst_t        count_o,
    input  logic                count_pop_i,
    // to the lists
    input  logic         [17:0] list_pages_i,
    output logic                list_push_o,
    output list_block_t         list_o,
    input  logic                list_full_i,
    // to the writer
    output logic                write_push_o,
    output write_burst_t        write_o,
    input  logic                write_full_i
);
  raw_burst_t   raw_pushed;
  count_burst_t count_pushed;
  logic raw_push, raw_full, raw_there, count_push, count_full, count_there, sequencer_idle;
  assign m_axi_raw_rready = 1'b1;
  assign idle_o = sequencer_idle && !raw_there && !count_there;

  unit_sequencer #(
      .Room(Room)
  ) u_sequencer (
      .clk_i,
      .rst_ni,
      .stop_i,
      .clear_i,
      .blocks_i,
      .last_beats_i,
      .image_pages_i,
      .list_pages_i,
      .posted_i(stack_there_i),
      .stack_i,
      .take_o,
      .done_i,
      .raw_push_o(raw_push),
      .raw_o(raw_pushed),
      .raw_full_i(raw_full || count_full || list_full_i),
      .list_push_o,
      .list_o,
      .count_push_o(count_push),
      .count_o(count_pushed),
      .write_push_o,
      .write_o,
      .write_full_i,
      .popped_i(beat_o),
      .m_axi_arvalid(m_axi_raw_arvalid),
      .m_axi_arready(m_axi_raw_arready),
      .m_axi_araddr(m_axi_raw_araddr),
      .m_axi_arlen(m_axi_raw_arlen),
      .idle_o(sequencer_idle)
  );
  unit_feed #(
      .Room(Room)
  ) u_feed (
      .clk_i,
      .rst_ni,
      .stop_i,
      .clear_i,
      .push_i (raw_push),
      .burst_i(raw_pushed),
      .full_o (raw_full),
      .beat_i (m_axi_raw_rvalid),
      .data_i (m_axi_raw_rdata),
      .last_i (m_axi_raw_rlast),
      .loaded_low_i,
      .loaded_high_i,
      .popped_i,
      .list_room_i,
      .beat_o,
      .data_o,
      .last_o,
      .burst_o,
      .some_o (raw_there),
      .wait_calibration_o,
      .wait_room_o
  );
  fifo #(
      .Width($bits(count_burst_t)),
      .Depth(16)
  ) u_count_bursts (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .push_i (count_push),
      .data_i (count_pushed),
      .full_o (count_full),
      .valid_o(count_there),
      .data_o (count_o),
      .pop_i  (count_pop_i)
  );
endmodule
