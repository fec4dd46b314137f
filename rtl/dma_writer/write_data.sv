// SPDX-License-Identifier: Apache-2.0
// What is being written: its beats are counted and go through the pipe to the host.
module write_data
  import rashpa_pkg::*;
#(
    parameter int unsigned BeatDepth = 256
) (
    input logic clk_i,
    input logic rst_ni,
    // something begins, in the next cycle
    input logic packet_begins_i,
    input logic lock_begins_i,
    input logic withheld_i,
    input packet_t packet_i,
    input logic [31:0] immediate_i,
    input logic [6:0] beats_in_i,
    input logic [6:0] beats_i,
    input logic single_i,  // only one beat
    input logic [6:0] first_i,
    input logic [5:0] turn_i,
    input logic prelude_i,
    input logic [5:0] from_i,
    input logic [6:0] upto_i,
    output logic run_o,
    output logic ends_o,
    output logic busy_o,  // a beat is inside
    // payload FIFO, records
    input beat_t payload_i,
    output logic payload_pop_o,
    input beat_t record_first_i,
    input logic [31:0] record_crc_i,
    // CRC32C of payload
    output logic sum_valid_o,
    output logic sum_last_o,
    output beat_t sum_data_o,
    output logic [5:0] sum_zeros_o,
    output dtp_t sum_dtp_o,
    output logic sum_begins_o,
    output logic [31:0] sum_factor_o,
    // the host
    output logic m_axi_wvalid,
    input logic m_axi_wready,
    output beat_t m_axi_wdata,
    output logic [63:0] m_axi_wstrb,
    output logic m_axi_wlast,
    output logic written_o
);
  logic second, beat, burst_end, withheld_q, lock_q, record_q, summed_q, unused;
  logic [5:0] from, turn_q;
  logic [6:0] upto;
  packet_t packet_q;
  logic [31:0] immediate_q;

  always_ff @(posedge clk_i) begin
    if (packet_begins_i || lock_begins_i) begin
      packet_q <= packet_i;
      withheld_q <= withheld_i && !lock_begins_i;
      lock_q <= lock_begins_i;
      record_q <= packet_i.complete_record && !lock_begins_i;
      summed_q <= packet_i.kind != WriteEvent && !lock_begins_i;
      immediate_q <= immediate_i;
      turn_q <= turn_i;
    end
  end
  write_beats u_beats (
      .clk_i,
      .rst_ni,
      .begins_i(packet_begins_i || lock_begins_i),
      .beats_in_i,
      .beats_i,
      .single_i,
      .first_i,
      .prelude_i,
      .from_i,
      .upto_i,
      .run_o,
      .ends_o,
      .pop_o(payload_pop_o),
      .second_o(second),
      .beat_o(beat),
      .burst_end_o(burst_end),
      .from_o(from),
      .upto_o(upto)
  );
  write_pipe #(
      .BeatDepth(BeatDepth)
  ) u_pipe (
      .clk_i,
      .rst_ni,
      .pop_i(payload_pop_o),
      .payload_i,
      .record_i(record_q),
      .second_i(second),
      .record_first_i,
      .record_crc_i,
      .beat_i(beat),
      .withheld_i(withheld_q),
      .burst_end_i(burst_end),
      .packet_end_i(ends_o),
      .summed_i(summed_q),
      .lock_i(lock_q),
      .immediate_i(immediate_q),
      .turn_i(turn_q),
      .from_i(from),
      .upto_i(upto),
      .dtp_i(packet_q.dtp),
      .begins_image_i(packet_q.begins_image),
      .factor_i(packet_q.factor),
      .m_axi_wvalid,
      .m_axi_wready,
      .m_axi_wdata,
      .m_axi_wstrb,
      .m_axi_wlast,
      .written_o,
      .sum_valid_o,
      .sum_last_o,
      .sum_data_o,
      .sum_zeros_o,
      .sum_dtp_o,
      .sum_begins_o,
      .sum_factor_o,
      .busy_o
  );
  assign unused = ^packet_q;
endmodule
