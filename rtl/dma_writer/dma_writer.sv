// SPDX-License-Identifier: Apache-2.0
// Writes packets into the host's memory by AXI4 bursts inside 4 KiB, in order, and lock words when the host has answered
// all that is before them. It begins a packet when all of its payload is there and the beats have room.
module dma_writer
  import rashpa_pkg::*;
#(
    parameter int unsigned PayloadDepth = 512,
    parameter int unsigned BeatDepth = 256,
    parameter int unsigned Bursts = 128  // that may be under way
) (
    input  logic           clk_i,
    input  logic           rst_ni,
    input  logic           arm_i,            // nothing is on its way
    // packets, whose destination is an address, and lock words
    input  logic           valid_i,
    output logic           ready_o,
    input  packet_t        packet_i,
    input  logic           lock_i,
    input  logic           withheld_i,       // nothing of it may be written
    input  logic           withhold_i,       // nothing that begins now may be written
    // payload FIFO
    input  logic           beat_i,           // a beat has come into it
    input  beat_t          payload_i,
    output logic           payload_pop_o,
    // of a record that is to be completed: what is to be XORed to the template
    output logic           record_wanted_o,
    output packet_t        record_packet_o,
    input  logic           record_ready_i,
    input  beat_t          record_first_i,
    input  logic    [31:0] record_crc_i,
    input  logic           crc_busy_i,
    // CRC32C of payload
    output logic           sum_valid_o,
    output logic           sum_last_o,
    output beat_t          sum_data_o,
    output logic    [ 5:0] sum_zeros_o,
    output dtp_t           sum_dtp_o,
    output logic           sum_begins_o,
    output logic    [31:0] sum_factor_o,
    // the host's memory
    output logic           m_axi_awvalid,
    input  logic           m_axi_awready,
    output logic    [63:0] m_axi_awaddr,
    output logic    [ 7:0] m_axi_awlen,
    output logic           m_axi_wvalid,
    input  logic           m_axi_wready,
    output beat_t          m_axi_wdata,
    output logic    [63:0] m_axi_wstrb,
    output logic           m_axi_wlast,
    input  logic           m_axi_bvalid,
    output logic           m_axi_bready,
    input  logic    [ 1:0] m_axi_bresp,
    // for registers: one cycle each
    output logic           begins_o,         // a packet
    output logic           locks_o,          // a lock word: an image is announced
    output dtp_t           begins_dtp_o,
    output logic           error_o,          // the host has refused a write
    output dtp_t           error_dtp_o,
    output logic           idle_o
);
  localparam int unsigned CountBits = $clog2(Bursts) + 2;

  logic packet_begins, lock_begins, withheld, run, ends, prelude, queue_idle, in_pipe, written, record_next;
  logic single, second_burst, bursts_full, bursts_idle;
  packet_t packet;
  logic [31:0] immediate;
  logic [57:0] address, second_at;
  logic [6:0] first, second, beats_in, beats, upto;
  logic [5:0] turn, from;
  logic [CountBits-1:0] issued, answered;

  write_queue #(
      .PayloadDepth(PayloadDepth),
      .BeatDepth(BeatDepth),
      .CountBits(CountBits)
  ) u_queue (
      .clk_i,
      .rst_ni,
      .arm_i,
      .valid_i,
      .ready_o,
      .packet_i,
      .lock_i,
      .withheld_i,
      .withhold_i,
      .error_i(error_o),
      .record_next_o(record_next),
      .record_ready_i,
      .run_i(run),
      .ends_i(ends),
      .beat_i,
      .written_i(written),
      .bursts_full_i(bursts_full),
      .second_burst_i(second_burst),
      .issued_i(issued),
      .answered_i(answered),
      .packet_begins_o(packet_begins),
      .withheld_o(withheld),
      .lock_begins_o(lock_begins),
      .packet_o(packet),
      .dtp_o(begins_dtp_o),
      .immediate_o(immediate),
      .address_o(address),
      .second_at_o(second_at),
      .first_o(first),
      .second_o(second),
      .beats_in_o(beats_in),
      .beats_o(beats),
      .single_o(single),
      .turn_o(turn),
      .prelude_o(prelude),
      .from_o(from),
      .upto_o(upto),
      .idle_o(queue_idle)
  );
  write_data #(
      .BeatDepth(BeatDepth)
  ) u_data (
      .clk_i,
      .rst_ni,
      .packet_begins_i(packet_begins),
      .lock_begins_i(lock_begins),
      .withheld_i(withheld),
      .packet_i(packet),
      .immediate_i(immediate),
      .beats_in_i(beats_in),
      .beats_i(beats),
      .single_i(single),
      .first_i(first),
      .turn_i(turn),
      .prelude_i(prelude),
      .from_i(from),
      .upto_i(upto),
      .run_o(run),
      .ends_o(ends),
      .busy_o(in_pipe),
      .payload_i,
      .payload_pop_o,
      .record_first_i,
      .record_crc_i,
      .sum_valid_o,
      .sum_last_o,
      .sum_data_o,
      .sum_zeros_o,
      .sum_dtp_o,
      .sum_begins_o,
      .sum_factor_o,
      .m_axi_wvalid,
      .m_axi_wready,
      .m_axi_wdata,
      .m_axi_wstrb,
      .m_axi_wlast,
      .written_o(written)
  );
  write_bursts #(
      .Bursts(Bursts)
  ) u_bursts (
      .clk_i,
      .rst_ni,
      .push_i(begins_o || lock_begins),
      .address_i(address),
      .beats_i(first),
      .second_at_i(second_at),
      .second_i(second),
      .dtp_i(begins_dtp_o),
      .second_o(second_burst),
      .full_o(bursts_full),
      .issued_o(issued),
      .answered_o(answered),
      .idle_o(bursts_idle),
      .error_o,
      .error_dtp_o,
      .m_axi_awvalid,
      .m_axi_awready,
      .m_axi_awaddr,
      .m_axi_awlen,
      .m_axi_bvalid,
      .m_axi_bready,
      .m_axi_bresp
  );

  assign record_wanted_o = record_next && !run && !in_pipe && !crc_busy_i;
  assign record_packet_o = packet;
  assign begins_o = packet_begins && !withheld;
  assign locks_o = lock_begins;
  always_ff @(posedge clk_i) begin  // a cycle late, but not at the beginning
    idle_o <= !rst_ni || (queue_idle && bursts_idle && !(valid_i || packet_begins || lock_begins || run || in_pipe));
  end
endmodule
