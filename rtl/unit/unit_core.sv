// SPDX-License-Identifier: Apache-2.0
// The data path of the unit: what is read, converted, counted and written.
module unit_core
  import unit_pkg::*;
#(
    parameter int unsigned Room = 512  // beats of results that may wait for memory
) (
    input  logic            clk_i,
    input  logic            rst_ni,
    input  logic            stop_i,               // nothing begins
    input  logic            clear_i,              // behind it, when all is quiet
    input  settings_t       settings_i,
    input  logic      [2:0] posted_i,
    input  logic            stack_there_i,        // the next one
    input  stack_t          stack_i,
    output logic            take_o,
    output logic            done_o,
    output logic            quiet_o,              // nothing is on its way
    output logic            read_error_o,
    output logic            calibration_error_o,
    output logic            write_error_o,
    output logic      [3:0] counted_o,            // a beat; waits for calibration, for room, for an address
    // raw words
    output logic            m_axi_raw_arvalid,
    input  logic            m_axi_raw_arready,
    output address_t        m_axi_raw_araddr,
    output logic      [7:0] m_axi_raw_arlen,
    input  logic            m_axi_raw_rvalid,
    output logic            m_axi_raw_rready,
    input  beat_t           m_axi_raw_rdata,
    input  logic      [1:0] m_axi_raw_rresp,
    input  logic            m_axi_raw_rlast,
    // calibration of lanes 0 … 15, and of 16 … 31
    output logic            m_axi_low_arvalid,
    input  logic            m_axi_low_arready,
    output address_t        m_axi_low_araddr,
    output logic      [7:0] m_axi_low_arlen,
    input  logic            m_axi_low_rvalid,
    output logic            m_axi_low_rready,
    input  beat_t           m_axi_low_rdata,
    input  logic      [1:0] m_axi_low_rresp,
    output logic            m_axi_high_arvalid,
    input  logic            m_axi_high_arready,
    output address_t        m_axi_high_araddr,
    output logic      [7:0] m_axi_high_arlen,
    input  logic            m_axi_high_rvalid,
    output logic            m_axi_high_rready,
    input  beat_t           m_axi_high_rdata,
    input  logic      [1:0] m_axi_high_rresp,
    // photons and records
    output logic            m_axi_awvalid,
    input  logic            m_axi_awready,
    output address_t        m_axi_awaddr,
    output logic      [7:0] m_axi_awlen,
    output logic            m_axi_wvalid,
    input  logic            m_axi_wready,
    output beat_t           m_axi_wdata,
    output logic            m_axi_wlast,
    input  logic            m_axi_bvalid,
    output logic            m_axi_bready,
    input  logic      [1:0] m_axi_bresp,
    // lists
    output logic            m_axi_list_awvalid,
    input  logic            m_axi_list_awready,
    output address_t        m_axi_list_awaddr,
    output logic      [7:0] m_axi_list_awlen,
    output logic            m_axi_list_wvalid,
    input  logic            m_axi_list_wready,
    output beat_t           m_axi_list_wdata,
    output logic            m_axi_list_wlast,
    input  logic            m_axi_list_bvalid,
    output logic            m_axi_list_bready,
    input  logic      [1:0] m_axi_list_bresp
);
  logic [1:0] loaded_low, loaded_high, write_calibration, write_half;
  logic [8:0] write_place[2];
  raw_burst_t raw_burst;
  count_burst_t count_burst;
  write_burst_t write_pushed;
  logic count_pop, write_push, write_full;
  logic popped, wait_calibration, wait_room, free, free_bank;
  logic lanes_some, tables_idle, tables_error, source_idle, results_idle, photons_beat;
  logic raw_beat, raw_last, photons_last;
  beat_t raw, photons;
  logic [31:0] masked, saturated, valid;
  list_block_t list_pushed;
  logic list_push, list_full, list_room;

  always_ff @(posedge clk_i) begin
    counted_o <= {m_axi_raw_arvalid && !m_axi_raw_arready, wait_room, wait_calibration, raw_beat};
    quiet_o <= source_idle && tables_idle && results_idle && !lanes_some;
    read_error_o <= rst_ni && m_axi_raw_rvalid && m_axi_raw_rresp != 2'b00;
    calibration_error_o <= rst_ni && tables_error;
  end

  unit_tables u_tables (
      .clk_i,
      .rst_ni,
      .stop_i,
      .posted_i,
      .blocks_i(settings_i.blocks),
      .page_low_i(settings_i.calibration_low),
      .page_high_i(settings_i.calibration_high),
      .loaded_low_o(loaded_low),
      .loaded_high_o(loaded_high),
      .free_i(free),
      .free_bank_i(free_bank),
      .idle_o(tables_idle),
      .error_o(tables_error),
      .write_o(write_calibration),
      .write_half_o(write_half),
      .write_place_o(write_place),
      .*
  );

  unit_source #(
      .Room(Room)
  ) u_source (
      .blocks_i(settings_i.blocks),
      .last_beats_i(settings_i.last_beats),
      .image_pages_i(settings_i.image_pages),
      .loaded_low_i(loaded_low),
      .loaded_high_i(loaded_high),
      .popped_i(popped),
      .list_pages_i(settings_i.list_pages),
      .list_room_i(list_room),
      .list_push_o(list_push),
      .list_o(list_pushed),
      .list_full_i(list_full),
      .beat_o(raw_beat),
      .data_o(raw),
      .last_o(raw_last),
      .burst_o(raw_burst),
      .wait_calibration_o(wait_calibration),
      .wait_room_o(wait_room),
      .count_o(count_burst),
      .count_pop_i(count_pop),
      .write_push_o(write_push),
      .write_o(write_pushed),
      .write_full_i(write_full),
      .done_i(done_o),
      .idle_o(source_idle),
      .*
  );

  unit_lanes u_lanes (
      .clk_i,
      .rst_ni,
      .write_i(write_calibration),
      .write_half_i(write_half),
      .write_place_i(write_place),
      .write_data_i('{m_axi_low_rdata, m_axi_high_rdata}),
      .burst_i(raw_burst),
      .last_lanes_i(settings_i.last_lanes),
      .beat_i(raw_beat),
      .data_i(raw),
      .last_i(raw_last),
      .free_o(free),
      .free_bank_o(free_bank),
      .beat_o(photons_beat),
      .data_o(photons),
      .last_o(photons_last),
      .masked_o(masked),
      .saturated_o(saturated),
      .valid_o(valid),
      .some_o(lanes_some)
  );
  unit_results #(
      .Room(Room)
  ) u_results (
      .clk_i,
      .rst_ni,
      .clear_i,
      .settings_i,
      .count_burst_i(count_burst),
      .count_pop_o(count_pop),
      .list_push_i(list_push),
      .list_i(list_pushed),
      .list_full_o(list_full),
      .write_push_i(write_push),
      .write_i(write_pushed),
      .write_full_o(write_full),
      .beat_i(photons_beat),
      .last_i(photons_last),
      .photons_i(photons),
      .masked_i(masked),
      .saturated_i(saturated),
      .valid_i(valid),
      .popped_o(popped),
      .list_room_o(list_room),
      .done_o,
      .idle_o(results_idle),
      .error_o(write_error_o),
      .*
  );
endmodule
