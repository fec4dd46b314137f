// SPDX-License-Identifier: Apache-2.0
// Lists of the pixels at or above a threshold, an image's in the order of its pixels. Beside photons and counts: when there
// are none, blocks go through without an entry.
module unit_lists
  import unit_pkg::*;
(
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic               on_i,
    input  logic        [15:0] threshold_i,
    input  logic        [17:0] list_pages_i,
    input  logic               push_i,              // a block is asked for
    input  list_block_t        block_i,
    output logic               full_o,
    input  logic               beat_i,
    input  logic               last_i,              // of its block
    input  beat_t              photons_i,
    input  logic        [31:0] valid_i,
    output logic               room_o,              // for what is on its way, and more
    output logic               stack_done_o,        // one cycle: its lists are in card memory
    // how many they are
    input  logic               read_parity_i,
    input  logic        [ 5:0] read_image_i,
    output listed_t            read_o,
    output logic               idle_o,
    output logic               error_o,
    output logic               m_axi_list_awvalid,
    input  logic               m_axi_list_awready,
    output address_t           m_axi_list_awaddr,
    output logic        [ 7:0] m_axi_list_awlen,
    output logic               m_axi_list_wvalid,
    input  logic               m_axi_list_wready,
    output beat_t              m_axi_list_wdata,
    output logic               m_axi_list_wlast,
    input  logic               m_axi_list_bvalid,
    output logic               m_axi_list_bready,
    input  logic        [ 1:0] m_axi_list_bresp
);
  logic there, last, many, pop, some, ends, packed_beat, block_listed, room;
  logic [5:0] row;
  logic [31:0] marks;
  beat_t photons;
  logic [4:0] count, packed_count;
  entry_t [15:0] entries, packed_entries;
  listed_block_t listed;
  list_burst_t   burst;
  logic burst_push, end_push, burst_full, places_some, writer_some;

  assign idle_o = !places_some && !writer_some;

  unit_marks u_marks (
      .clk_i,
      .rst_ni,
      .on_i,
      .threshold_i,
      .beat_i,
      .last_i,
      .photons_i,
      .valid_i,
      .room_o,
      .there_o(there),
      .last_o(last),
      .many_o(many),
      .row_o(row),
      .marks_o(marks),
      .photons_o(photons),
      .pop_i(pop)
  );
  unit_compact u_compact (
      .clk_i,
      .rst_ni,
      .room_i(room),
      .there_i(there),
      .last_i(last),
      .many_i(many),
      .row_i(row),
      .marks_i(marks),
      .photons_i(photons),
      .pop_o(pop),
      .some_o(some),
      .count_o(count),
      .entries_o(entries),
      .end_o(ends)
  );
  unit_pack u_pack (
      .clk_i,
      .rst_ni,
      .some_i(some),
      .count_i(count),
      .entries_i(entries),
      .end_i(ends),
      .beat_o(packed_beat),
      .count_o(packed_count),
      .entries_o(packed_entries),
      .block_o(block_listed),
      .listed_o(listed)
  );
  unit_list_places u_places (
      .clk_i,
      .rst_ni,
      .list_pages_i,
      .push_i,
      .block_i,
      .full_o,
      .listed_push_i(block_listed),
      .listed_i(listed),
      .burst_push_o(burst_push),
      .burst_o(burst),
      .end_push_o(end_push),
      .burst_full_i(burst_full),
      .some_o(places_some),
      .read_parity_i,
      .read_image_i,
      .read_o
  );
  unit_list_writer u_writer (
      .clk_i,
      .rst_ni,
      .beat_i(packed_beat),
      .count_i(packed_count),
      .entries_i(packed_entries),
      .room_o(room),
      .burst_push_i(burst_push),
      .burst_i(burst),
      .end_push_i(end_push),
      .burst_full_o(burst_full),
      .stack_done_o,
      .some_o(writer_some),
      .error_o,
      .m_axi_awvalid(m_axi_list_awvalid),
      .m_axi_awready(m_axi_list_awready),
      .m_axi_awaddr(m_axi_list_awaddr),
      .m_axi_awlen(m_axi_list_awlen),
      .m_axi_wvalid(m_axi_list_wvalid),
      .m_axi_wready(m_axi_list_wready),
      .m_axi_wdata(m_axi_list_wdata),
      .m_axi_wlast(m_axi_list_wlast),
      .m_axi_bvalid(m_axi_list_bvalid),
      .m_axi_bready(m_axi_list_bready),
      .m_axi_bresp(m_axi_list_bresp)
  );
endmodule
