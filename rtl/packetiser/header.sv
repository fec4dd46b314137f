// SPDX-License-Identifier: Apache-2.0
// Prepares the next frame: reads the DTP's words of the table, counts lengths and sequence numbers, and has the headers
// made. A packet takes three cycles, beside the frame that is being sent. It is taken in one cycle and popped in the next, so
// that the end of a frame has no way to the queue of packets within a cycle.
module header
  import rashpa_pkg::*;
  import card_registers_pkg::*;
(
    input  logic                clk_i,
    input  logic                rst_ni,
    input  logic                arm_i,       // sequence numbers begin with the table's again
    input  table_write_t        table_i,
    input  logic                valid_i,     // until it is popped
    output logic                pop_o,
    input  packet_t             packet_i,
    output logic                valid_o,
    input  logic                ready_i,
    output logic                soon_o,      // valid in the next cycle; beats_in is right
    output prepared_t           prepared_o,
    output packet_t             packet_o,    // of which it is made
    output logic         [23:0] psn_o,
    output logic                idle_o       // none is in hand
);
  typedef enum logic [1:0] {
    Idle,
    Look,     // the table's words
    Lengths,
    Ready
  } state_e;

  state_e  state_q;
  packet_t packet_q;

  // the table
  logic [19:0][31:0] word, word_q;
  localparam logic [6:0] Words[20] = '{
      DtpTableDestinationMacWord,
      DtpTableDestinationMacWord + 7'd1,
      DtpTableSourceMacWord,
      DtpTableSourceMacWord + 7'd1,
      DtpTableIpSourceWord,
      DtpTableIpSourceWord + 7'd1,
      DtpTableIpSourceWord + 7'd2,
      DtpTableIpSourceWord + 7'd3,
      DtpTableIpDestinationWord,
      DtpTableIpDestinationWord + 7'd1,
      DtpTableIpDestinationWord + 7'd2,
      DtpTableIpDestinationWord + 7'd3,
      DtpTablePortsWord,
      DtpTableTrafficWord,
      DtpTableFlowLabelWord,
      DtpTableIpv4SumWord,
      DtpTableQpnWord,
      DtpTableRkeyWord,
      DtpTableFirstPsnWord,
      DtpTableMtuWord
  };
  for (genvar w = 0; w < 20; w++) begin : g_word
    table_word #(
        .Word(Words[w])
    ) u_word (
        .clk_i,
        .write_i(table_i),
        .dtp_i  (packet_q.dtp),
        .data_o (word[w])
    );
  end

  // sequence numbers
  logic [23:0] psn[Dtps];
  logic [Dtps-1:0] begun_q;  // psn[] holds the next one
  logic [23:0] psn_q;

  logic ipv6, reth, immediate;
  logic [ 1:0] pad;
  logic [12:0] transport_q;  // bytes of UDP header … ICRC
  logic [12:0] payload_end_q, padded_q;
  logic [6:0] header_end, header_end_q, beats_out_q;
  logic [ 7:0] turn_q;
  logic [ 5:0] covered_end_q;
  logic [16:0] sum_q;
  logic [15:0] ip_length_q;

  assign ipv6 = word_q[19][DtpTableMtuIpv6Lsb];
  assign reth = has_reth(packet_q.kind);
  assign immediate = packet_q.kind == WriteEvent;
  assign pad = 2'(-packet_q.bytes[1:0]);
  assign header_end = 7'd54 + (ipv6 ? 7'd20 : 7'd0) + (reth ? 7'd16 : 7'd0) + (immediate ? 7'd4 : 7'd0);

  logic [8*MostHeader-1:0] bytes;
  header_bytes u_bytes (
      .words_i(word_q),
      .packet_i(packet_q),
      .psn_i(psn_q),
      .transport_i(transport_q),
      .ip_length_i(ip_length_q),
      .sum_i(sum_q),
      .header_o(bytes)
  );

  logic takes;
  assign takes = state_q == Idle || (state_q == Ready && ready_i);
  assign idle_o = state_q == Idle;
  assign valid_o = state_q == Ready;
  assign soon_o = state_q == Lengths;
  assign packet_o = packet_q;
  assign psn_o = psn_q;
  assign prepared_o = '{
          dtp: packet_q.dtp,
          complete_record: packet_q.complete_record,
          begins_image: packet_q.begins_image,
          ipv6: ipv6,
          factor: packet_q.factor,
          header: bytes,
          header_end: header_end_q,
          payload_end: payload_end_q,
          beats_in: packet_q.beats,
          beats_out: beats_out_q,
          turn: turn_q,
          covered_end: covered_end_q
      };

  always_ff @(posedge clk_i) begin
    if (takes) packet_q <= packet_i;
    unique case (state_q)
      Look: begin
        word_q <= word;
        psn_q <= begun_q[packet_q.dtp] ? psn[packet_q.dtp] : word[18][23:0];
        padded_q <= packet_q.bytes + 13'(pad);
        // UDP 8, BTH 12, ICRC 4
        transport_q <= 13'd24 + (reth ? 13'd16 : 13'd0) + (immediate ? 13'd4 : 13'd0) + packet_q.bytes + 13'(pad);
      end
      Lengths: begin
        header_end_q <= header_end;
        payload_end_q <= 13'(header_end) + packet_q.bytes;
        turn_q <= 8'd64 + 8'(header_end) - 8'(packet_q.lead);
        ip_length_q <= 16'(transport_q) + 16'd20;
        sum_q <= 17'(word_q[15][15:0]) + 17'(transport_q) + 17'd20;
        beats_out_q <= 7'((13'(header_end) + padded_q + 13'd67) >> 6);
        covered_end_q <= 6'(header_end) + padded_q[5:0];
        psn[packet_q.dtp] <= psn_q + 24'd1;
      end
      default: ;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Idle;
      begun_q <= '0;
      pop_o   <= 1'b0;
    end else begin
      pop_o <= takes && valid_i;
      if (arm_i) begun_q <= '0;
      else if (state_q == Lengths) begun_q[packet_q.dtp] <= 1'b1;
      unique case (state_q)
        Idle: if (valid_i) state_q <= Look;
        Look: state_q <= Lengths;
        Lengths: state_q <= Ready;
        Ready: if (ready_i) state_q <= valid_i ? Look : Idle;
      endcase
    end
  end
endmodule
