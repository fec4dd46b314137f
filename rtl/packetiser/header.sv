// SPDX-License-Identifier: Apache-2.0
// Makes the headers of a packet from the table of DTPs: Ethernet, IPv4 or IPv6, UDP, BTH, RETH, immediate. A packet takes
// three cycles, beside the frame that is being sent.
module header
  import rashpa_pkg::*;
  import card_registers_pkg::*;
(
    input  logic                clk_i,
    input  logic                rst_ni,
    input  logic                arm_i,       // sequence numbers begin with the table's again
    input  table_write_t        table_i,
    input  logic                valid_i,
    output logic                ready_o,
    input  packet_t             packet_i,
    output logic                valid_o,
    input  logic                ready_i,
    output logic                soon_o,      // valid in the next cycle; beats_in is right
    output prepared_t           prepared_o,
    output packet_t             packet_o,    // of which it is made
    output logic         [23:0] psn_o
);
  typedef enum logic [1:0] {
    Idle,
    Look,     // the table's words
    Lengths,
    Ready
  } state_e;

  state_e state_q;
  packet_t packet_q;

  // the table
  logic [31:0] word[21];
  logic [31:0] word_q[21];
  localparam logic [6:0] Words[21] = '{
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
      DtpTableMtuWord,
      DtpTableDtpWord
  };
  for (genvar w = 0; w < 21; w++) begin : g_word
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
  logic [ 7:0] opcode;

  assign ipv6 = word_q[19][DtpTableMtuIpv6Lsb];
  assign reth = packet_q.kind == WriteOnly || packet_q.kind == WriteFirst || packet_q.kind == WriteEvent;
  assign immediate = packet_q.kind == WriteEvent;
  assign pad = 2'(-packet_q.bytes[1:0]);
  assign header_end = 7'd54 + (ipv6 ? 7'd20 : 7'd0) + (reth ? 7'd16 : 7'd0) + (immediate ? 7'd4 : 7'd0);

  always_comb begin
    unique case (packet_q.kind)
      WriteFirst: opcode = 8'h26;
      WriteMiddle: opcode = 8'h27;
      WriteLast: opcode = 8'h28;
      WriteEvent: opcode = 8'h2B;
      default: opcode = 8'h2A;
    endcase
  end

  function automatic logic [15:0] be16(logic [15:0] value);
    return {value[7:0], value[15:8]};
  endfunction
  function automatic logic [31:0] be32(logic [31:0] value);
    return {value[7:0], value[15:8], value[23:16], value[31:24]};
  endfunction

  // Addresses stand in the table in the order of the wire, their first byte in bits 7 … 0 of the first word.
  logic [47:0] destination_mac, source_mac;
  logic [127:0] ip_source, ip_destination;
  logic [15:0] checksum;
  logic [20*8-1:0] ipv4;
  logic [40*8-1:0] ipv6_header, transport;

  assign destination_mac = {word_q[1][15:0], word_q[0]};
  assign source_mac = {word_q[3][15:0], word_q[2]};
  assign ip_source = {word_q[7], word_q[6], word_q[5], word_q[4]};
  assign ip_destination = {word_q[11], word_q[10], word_q[9], word_q[8]};
  assign checksum = ~(sum_q[15:0] + 16'(sum_q[16]));
  assign ipv4 = {
    ip_destination[31:0],
    ip_source[31:0],
    be16(checksum),
    8'd17,
    word_q[13][15:8],
    16'h0040,
    16'h0,
    be16(ip_length_q),
    word_q[13][7:0],
    8'h45
  };
  assign ipv6_header = {
    ip_destination,
    ip_source,
    word_q[13][15:8],
    8'd17,
    be16(16'(transport_q)),
    be32({4'h6, word_q[13][7:0], word_q[14][19:0]})
  };
  assign transport = {
    immediate ? be32(packet_q.immediate) : 32'h0,
    reth ? {be32(
        packet_q.length
    ), be32(
        word_q[17]
    ), be32(
        packet_q.destination[31:0]
    ), be32(
        packet_q.destination[63:32]
    )} : 128'h0,
    be32({8'h0, psn_q}),
    be32({8'h0, word_q[16][23:0]}),
    16'hFFFF,
    {2'b00, pad, 4'h0},
    opcode,
    16'h0,
    be16(16'(transport_q)),
    be16(word_q[12][31:16]),
    be16(word_q[12][15:0])
  };

  assign ready_o = state_q == Idle || (state_q == Ready && ready_i);
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
          header:
          ipv6
          ?
          {transport, ipv6_header, be16(16'h86DD), source_mac, destination_mac}
          : {
          160'h0
          ,
          transport
          ,
          ipv4
          ,
          be16(16'h0800)
          ,
          source_mac
          ,
          destination_mac
          },
          header_end: header_end_q,
          payload_end: payload_end_q,
          beats_in: packet_q.beats,
          beats_out: beats_out_q,
          turn: turn_q,
          covered_end: covered_end_q,
          bytes: packet_q.bytes
      };

  always_ff @(posedge clk_i) begin
    if (ready_o) packet_q <= packet_i;
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
    end else begin
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
