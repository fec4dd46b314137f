// SPDX-License-Identifier: Apache-2.0
// What becomes of photons: counts, lists, and all of it into card memory.
module unit_results
  import unit_pkg::*;
#(
    parameter int unsigned Room = 512  // beats of photons that may wait for memory
) (
    input  logic                clk_i,
    input  logic                rst_ni,
    input  logic                clear_i,             // nothing is on its way
    input  settings_t           settings_i,
    // what is asked for
    input  count_burst_t        count_burst_i,
    output logic                count_pop_o,
    input  logic                list_push_i,
    input  list_block_t         list_i,
    output logic                list_full_o,
    input  logic                write_push_i,
    input  write_burst_t        write_i,
    output logic                write_full_o,
    // what comes
    input  logic                beat_i,
    input  logic                last_i,
    input  beat_t               photons_i,
    input  logic         [31:0] masked_i,
    input  logic         [31:0] saturated_i,
    input  logic         [31:0] valid_i,
    output logic                popped_o,            // a beat of photons
    output logic                list_room_o,
    output logic                done_o,              // a stack is
    output logic                idle_o,
    output logic                error_o,
    output logic                m_axi_awvalid,
    input  logic                m_axi_awready,
    output address_t            m_axi_awaddr,
    output logic         [ 7:0] m_axi_awlen,
    output logic                m_axi_wvalid,
    input  logic                m_axi_wready,
    output beat_t               m_axi_wdata,
    output logic                m_axi_wlast,
    input  logic                m_axi_bvalid,
    output logic                m_axi_bready,
    input  logic         [ 1:0] m_axi_bresp,
    output logic                m_axi_list_awvalid,
    input  logic                m_axi_list_awready,
    output address_t            m_axi_list_awaddr,
    output logic         [ 7:0] m_axi_list_awlen,
    output logic                m_axi_list_wvalid,
    input  logic                m_axi_list_wready,
    output beat_t               m_axi_list_wdata,
    output logic                m_axi_list_wlast,
    input  logic                m_axi_list_bvalid,
    output logic                m_axi_list_bready,
    input  logic         [ 1:0] m_axi_list_bresp
);
  logic counter_some, counted, listed, lists_idle, writer_idle, list_error, photons_error, read_parity;
  logic [5:0] read_image;
  counts_t counts;
  listed_t list_counts;

  assign idle_o  = writer_idle && lists_idle && !counter_some;
  assign error_o = photons_error || list_error;

  unit_counter u_counter (
      .clk_i,
      .rst_ni,
      .bright_i(settings_i.bright),
      .beat_i,
      .last_i,
      .photons_i,
      .masked_i,
      .saturated_i,
      .valid_i,
      .burst_i(count_burst_i),
      .burst_done_o(count_pop_o),
      .stack_done_o(counted),
      .read_parity_i(read_parity),
      .read_image_i(read_image),
      .read_o(counts),
      .some_o(counter_some)
  );
  unit_lists u_lists (
      .on_i(settings_i.lists),
      .threshold_i(settings_i.threshold),
      .list_pages_i(settings_i.list_pages),
      .push_i(list_push_i),
      .block_i(list_i),
      .full_o(list_full_o),
      .beat_i,
      .last_i,
      .photons_i,
      .valid_i,
      .room_o(list_room_o),
      .stack_done_o(listed),
      .read_parity_i(read_parity),
      .read_image_i(read_image),
      .read_o(list_counts),
      .idle_o(lists_idle),
      .error_o(list_error),
      .*
  );
  unit_writer #(
      .Room(Room)
  ) u_writer (
      .clear_i,
      .push_i(write_push_i),
      .burst_i(write_i),
      .full_o(write_full_o),
      .beat_i,
      .last_i,
      .photons_i,
      .popped_o,
      .counted_i(counted),
      .listed_i(listed),
      .read_parity_o(read_parity),
      .read_image_o(read_image),
      .read_i(counts),
      .read_list_i(list_counts),
      .done_o,
      .idle_o(writer_idle),
      .error_o(photons_error),
      .*
  );
  wire unused_ok = &{1'b0, settings_i};  // much of it
endmodule
