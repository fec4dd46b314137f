// SPDX-License-Identifier: Apache-2.0
// Any packets that the reader may give, any table, payload and MAC: from the first beat of a frame to its last there is
// one in each cycle, as many as were counted; every beat that is popped is there, and all of a packet are; what is on its
// way to the transmit FIFO has room there.
module packetiser_formal
  import rashpa_pkg::*;
(
    input logic               clk_i,
    input logic               rst_ni,
    input logic               arm_i,
    input table_write_t       table_i,
    input logic               packet_valid_i,
    input packet_t            packet_i,
    input logic               beat_i,
    input logic               record_ready_i,
    input logic               crc_busy_i,
    input logic         [1:0] sent_i,
    input logic               withhold_i
);
  localparam int unsigned PayloadDepth = 128;
  localparam int unsigned TransmitDepth = 256;

  logic pop, payload_pop, wanted, sum_valid, sum_last, sum_begins, begins, begins_event, begins_ends;
  logic waits_memory, waits_wire, idle, frame_withheld, withheld_q;
  packet_t record_packet;
  beat_t sum_data, frame_data;
  logic [5:0] sum_zeros;
  dtp_t sum_dtp, frame_dtp, begins_dtp;
  logic [31:0] sum_factor;
  frame_beat_t frame;
  logic [23:0] psn;
  logic [12:0] begins_bytes;

  packetiser #(
      .PayloadDepth (PayloadDepth),
      .TransmitDepth(TransmitDepth)
  ) dut (
      .clk_i,
      .rst_ni,
      .arm_i,
      .table_i,
      .packet_valid_i,
      .packet_pop_o(pop),
      .packet_i,
      .beat_i,
      .payload_i('0),
      .payload_pop_o(payload_pop),
      .record_wanted_o(wanted),
      .record_packet_o(record_packet),
      .record_ready_i,
      .record_first_i('0),
      .record_crc_i('0),
      .crc_busy_i,
      .sum_valid_o(sum_valid),
      .sum_last_o(sum_last),
      .sum_data_o(sum_data),
      .sum_zeros_o(sum_zeros),
      .sum_dtp_o(sum_dtp),
      .sum_begins_o(sum_begins),
      .sum_factor_o(sum_factor),
      .frame_o(frame),
      .frame_data_o(frame_data),
      .frame_dtp_o(frame_dtp),
      .frame_psn_o(psn),
      .withhold_i,
      .frame_withheld_o(frame_withheld),
      .sent_i,
      .begins_o(begins),
      .begins_dtp_o(begins_dtp),
      .begins_event_o(begins_event),
      .begins_ends_o(begins_ends),
      .begins_bytes_o(begins_bytes),
      .waits_memory_o(waits_memory),
      .waits_wire_o(waits_wire),
      .idle_o(idle)
  );

  logic running_q = 1'b0;
  always_ff @(posedge clk_i) running_q <= 1'b1;

  // The payload FIFO: a beat can be popped two cycles after it came. The transmit FIFO, with what is in the pipeline.
  logic [8:0] held_q, shown_q, sending_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      held_q <= '0;
      shown_q <= '0;
      sending_q <= '0;
    end else begin
      held_q <= held_q + 9'(beat_i) - 9'(payload_pop);
      shown_q <= held_q - 9'(payload_pop);
      sending_q <= sending_q + 9'(dut.stage.frame.valid) - 9'(sent_i);
    end
  end

  // The packet FIFO: what it shows stays until it is popped.
  logic shown_before_q, takes;
  packet_t packet_before_q;
  always_ff @(posedge clk_i) begin
    shown_before_q  <= rst_ni && packet_valid_i && !pop;
    packet_before_q <= packet_i;
  end
  assign takes = dut.u_header.takes && packet_valid_i;

  // The packet that the header is made for
  packet_t packet;
  assign packet = dut.next_packet;
  function automatic logic fits(packet_t p);
    return p.bytes != '0 && p.bytes <= 13'd4096 && (p.kind != WriteEvent || p.bytes == 13'd128)
        && p.beats == 7'((14'(p.bytes) + 14'(p.lead) + 14'd63) >> 6);
  endfunction
  always_comb begin
    if (!running_q) assume (!rst_ni);
    if (held_q == 9'(PayloadDepth)) assume (!beat_i);
    if (sent_i == 2'd3 || 9'(sent_i) > sending_q) assume (0);
    if (!fits(packet_i)) assume (!packet_valid_i);
    if (shown_before_q) assume (packet_valid_i && packet_i == packet_before_q);
  end

  // What the frame in hand is to be
  logic [6:0] beats_q, pops_q, popped_q, beat_q;
  logic ahead_q, later_q;  // pops before the first beat, or behind it
  logic [12:0] padded;
  logic [14:0] frame_bytes;
  logic [ 6:0] span;
  assign padded = 13'(packet.bytes + 13'd3);
  assign frame_bytes = 15'(dut.next.header_end) + 15'({padded[12:2], 2'b00}) + 15'd4;  // with ICRC
  assign span = 7'((frame_bytes + 15'd63) >> 6);
  always_ff @(posedge clk_i) begin
    if (begins) begin
      beats_q <= span;
      withheld_q <= withhold_i;
      pops_q <= packet.beats;
      ahead_q <= 7'(packet.lead) > dut.next.header_end;
      later_q <= 9'(dut.next.header_end) >= 9'd64 + 9'(packet.lead);
      popped_q <= '0;
      beat_q <= '0;
    end else begin
      popped_q <= popped_q + 7'(payload_pop);
      beat_q   <= beat_q + 7'(dut.stage.frame.valid);
    end
  end

  logic [7:0] due;  // pops that are due before this cycle's
  assign due = dut.u_beats.prelude_q ? 8'd0 : 8'(beat_q) + 8'(ahead_q) - 8'(later_q && beat_q != '0);
  always_ff @(posedge clk_i) begin
    if (rst_ni && running_q) begin
      // no gap: a beat in each cycle of a frame but for a first one
      if (dut.run) assert (dut.stage.frame.valid || dut.u_beats.prelude_q);
      if (dut.stage.frame.valid) begin
        assert (dut.stage.frame.first == (beat_q == '0));
        assert (dut.stage.frame.last == (beat_q == beats_q - 7'd1));
        assert (dut.stage.withheld == withheld_q);
        if (dut.stage.frame.last) assert (popped_q + 7'(payload_pop) == pops_q);
      end
      if (begins) assert (!dut.run || dut.stage.frame.last);
      if (payload_pop) assert (dut.run && shown_q != '0);
      // the transmit FIFO
      if (dut.run) begin
        assert (12'(sending_q) + 12'(beats_q) - 12'(beat_q) + 12'(dut.room_q) == 12'(TransmitDepth));
      end else begin
        assert (12'(sending_q) + 12'(dut.room_q) == 12'(TransmitDepth));
      end
      // what induction has to know
      assert (12'(dut.there_q) + (dut.run ? 12'(pops_q) - 12'(popped_q) : 12'd0) == 12'(held_q));
      assert (held_q <= 9'(PayloadDepth) && shown_q <= held_q && held_q <= shown_q + 9'd1);
      if (dut.run) begin
        assert (dut.u_beats.withheld_q == withheld_q);
        assert (dut.u_beats.left_q == pops_q - popped_q && popped_q <= pops_q);
        assert (dut.u_beats.beat_q == beat_q && dut.u_beats.beats_q == beats_q && beat_q < beats_q);
        assert (dut.u_beats.next_q == beat_q + 7'd1 && dut.u_beats.after_q == beat_q + 7'd2);
        assert (dut.u_beats.last_q == (beat_q == beats_q - 7'd1));
        assert (dut.u_beats.wait_q == (later_q && beat_q == '0) && !(dut.u_beats.prelude_q && beat_q != '0));
        assert (8'(popped_q) == (due < 8'(pops_q) ? due : 8'(pops_q)));
        assert (pops_q != '0 && 8'(pops_q) + 8'(later_q) <= 8'(beats_q) + 8'(ahead_q) && !(ahead_q && later_q));
        assert (beats_q <= 7'd66 && pops_q <= 7'd65);
        if (dut.u_beats.prelude_q) assert (ahead_q);
        assert (9'(pops_q) - 9'(popped_q) <= shown_q);
      end
      if (dut.room_enough_q) assert (dut.room_q >= 9'd66);
      if (dut.u_header.state_q != 2'd0) assert (fits(packet));
      if (dut.u_header.state_q >= 2'd2) begin
        assert (dut.u_header.padded_q == packet.bytes + 13'(2'(-packet.bytes[1:0])));
      end
      if (dut.next_valid) begin
        assert (dut.next.header_end >= 7'd54 && dut.next.header_end <= 7'd94);
        assert (dut.next.beats_out == span);
        assert (dut.next.turn == 8'd64 + 8'(dut.next.header_end) - 8'(packet.lead));
        if (dut.enough_q) assert (dut.there_q >= 8'(packet.beats));
        if (dut.enough_q) assert (shown_q >= 9'(packet.beats) + (dut.run ? 9'(pops_q) - 9'(popped_q) : 9'd0));
      end
      // each packet is taken once, and popped then
      if (pop) assert (packet_valid_i && !takes && packet == packet_i && dut.u_header.state_q == 2'd1);
      if (dut.u_header.state_q == 2'd1) assert (pop);
      cover (pop && dut.run);
      if (idle) assert (sending_q == '0);
      cover (dut.run && ahead_q && beats_q == 7'd3 && begins);
      cover (dut.run && later_q && dut.stage.frame.last);
    end
  end
endmodule
