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
    input  logic      [1:0] m_axi_bresp
);
  logic [1:0] loaded_low, loaded_high, write_calibration, write_half;
  logic [8:0] write_place[2];
  raw_burst_t raw_pushed, raw_burst;
  count_burst_t count_pushed, count_burst;
  write_burst_t write_pushed;
  logic raw_push, raw_full, raw_there, count_push, count_full, count_there, count_pop, write_push, write_full;
  logic popped, wait_calibration, wait_room, free, free_bank;
  logic lanes_some, counter_some, low_idle, high_idle, sequencer_idle, writer_idle;
  logic low_error, high_error;
  logic photons_beat, counted, read_parity;
  logic raw_beat, raw_last, photons_last;
  beat_t raw, photons;
  logic [31:0] masked, saturated, valid;
  logic [5:0] read_image;
  counts_t counts;

  always_ff @(posedge clk_i) begin
    counted_o <= {m_axi_raw_arvalid && !m_axi_raw_arready, wait_room, wait_calibration, raw_beat};
    quiet_o <= sequencer_idle && low_idle && high_idle && writer_idle && !raw_there && !count_there && !lanes_some &&
               !counter_some;
    read_error_o <= rst_ni && m_axi_raw_rvalid && m_axi_raw_rresp != 2'b00;
    calibration_error_o <= rst_ni && (low_error || high_error);
  end

  unit_calibration u_low (
      .clk_i,
      .rst_ni,
      .stop_i,
      .posted_i(posted_i),
      .dropped_i(posted_i),
      .blocks_i(settings_i.blocks),
      .page_i(settings_i.calibration_low),
      .loaded_o(loaded_low),
      .free_i(free),
      .free_bank_i(free_bank),
      .idle_o(low_idle),
      .error_o(low_error),
      .m_axi_arvalid(m_axi_low_arvalid),
      .m_axi_arready(m_axi_low_arready),
      .m_axi_araddr(m_axi_low_araddr),
      .m_axi_arlen(m_axi_low_arlen),
      .m_axi_rvalid(m_axi_low_rvalid),
      .m_axi_rready(m_axi_low_rready),
      .m_axi_rresp(m_axi_low_rresp),
      .write_o(write_calibration[0]),
      .write_half_o(write_half[0]),
      .write_place_o(write_place[0])
  );
  unit_calibration u_high (
      .clk_i,
      .rst_ni,
      .stop_i,
      .posted_i(posted_i),
      .dropped_i(posted_i),
      .blocks_i(settings_i.blocks),
      .page_i(settings_i.calibration_high),
      .loaded_o(loaded_high),
      .free_i(free),
      .free_bank_i(free_bank),
      .idle_o(high_idle),
      .error_o(high_error),
      .m_axi_arvalid(m_axi_high_arvalid),
      .m_axi_arready(m_axi_high_arready),
      .m_axi_araddr(m_axi_high_araddr),
      .m_axi_arlen(m_axi_high_arlen),
      .m_axi_rvalid(m_axi_high_rvalid),
      .m_axi_rready(m_axi_high_rready),
      .m_axi_rresp(m_axi_high_rresp),
      .write_o(write_calibration[1]),
      .write_half_o(write_half[1]),
      .write_place_o(write_place[1])
  );

  unit_sequencer #(
      .Room(Room)
  ) u_sequencer (
      .clk_i,
      .rst_ni,
      .stop_i,
      .clear_i,
      .blocks_i(settings_i.blocks),
      .last_beats_i(settings_i.last_beats),
      .image_pages_i(settings_i.image_pages),
      .posted_i(stack_there_i),
      .stack_i,
      .take_o,
      .done_i(done_o),
      .raw_push_o(raw_push),
      .raw_o(raw_pushed),
      .raw_full_i(raw_full || count_full),
      .count_push_o(count_push),
      .count_o(count_pushed),
      .write_push_o(write_push),
      .write_o(write_pushed),
      .write_full_i(write_full),
      .popped_i(raw_beat),
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
      .push_i(raw_push),
      .burst_i(raw_pushed),
      .full_o(raw_full),
      .beat_i(m_axi_raw_rvalid),
      .data_i(m_axi_raw_rdata),
      .last_i(m_axi_raw_rlast),
      .loaded_low_i(loaded_low),
      .loaded_high_i(loaded_high),
      .popped_i(popped),
      .beat_o(raw_beat),
      .data_o(raw),
      .last_o(raw_last),
      .burst_o(raw_burst),
      .some_o(raw_there),
      .wait_calibration_o(wait_calibration),
      .wait_room_o(wait_room)
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
      .data_o (count_burst),
      .pop_i  (count_pop)
  );

  assign m_axi_raw_rready = 1'b1;
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
  unit_counter u_counter (
      .clk_i,
      .rst_ni,
      .bright_i(settings_i.bright),
      .beat_i(photons_beat),
      .last_i(photons_last),
      .photons_i(photons),
      .masked_i(masked),
      .saturated_i(saturated),
      .valid_i(valid),
      .burst_i(count_burst),
      .burst_done_o(count_pop),
      .stack_done_o(counted),
      .read_parity_i(read_parity),
      .read_image_i(read_image),
      .read_o(counts),
      .some_o(counter_some)
  );
  unit_writer #(
      .Room(Room)
  ) u_writer (
      .clear_i,
      .push_i(write_push),
      .burst_i(write_pushed),
      .full_o(write_full),
      .beat_i(photons_beat),
      .last_i(photons_last),
      .photons_i(photons),
      .popped_o(popped),
      .counted_i(counted),
      .read_parity_o(read_parity),
      .read_image_o(read_image),
      .read_i(counts),
      .done_o,
      .idle_o(writer_idle),
      .error_o(write_error_o),
      .*
  );
endmodule
