// SPDX-License-Identifier: Apache-2.0
// The bytes of a packet's headers: Ethernet, IPv4 or IPv6, UDP, BTH, RETH, immediate. No registers.
module header_bytes
  import rashpa_pkg::*;
  import card_registers_pkg::*;
(
    input  logic    [            19:0][31:0] words_i,      // of the table, in the order of `header`
    input  packet_t                          packet_i,
    input  logic    [            23:0]       psn_i,
    input  logic    [            12:0]       transport_i,  // bytes of UDP header … ICRC
    input  logic    [            15:0]       ip_length_i,
    input  logic    [            16:0]       sum_i,        // of the IPv4 header's words
    output logic    [8*MostHeader-1:0]       header_o      // 0 behind its end
);
  logic ipv6, reth, immediate;
  logic [1:0] pad;
  logic [7:0] opcode;

  assign ipv6 = words_i[19][DtpTableMtuIpv6Lsb];
  assign reth = has_reth(packet_i.kind);
  assign immediate = packet_i.kind == WriteEvent;
  assign pad = 2'(-packet_i.bytes[1:0]);

  always_comb begin
    unique case (packet_i.kind)
      WriteFirst: opcode = 8'h26;
      WriteMiddle: opcode = 8'h27;
      WriteLast: opcode = 8'h28;
      WriteEvent: opcode = 8'h2B;
      default: opcode = 8'h2A;
    endcase
  end

  // Addresses stand in the table in the order of the wire, their first byte in bits 7 … 0 of the first word.
  logic [47:0] destination_mac, source_mac;
  logic [127:0] ip_source, ip_destination;
  logic [15:0] checksum;
  logic [20*8-1:0] ipv4;
  logic [40*8-1:0] ipv6_header, transport;
  logic [16*8-1:0] write;

  assign destination_mac = {words_i[1][15:0], words_i[0]};
  assign source_mac = {words_i[3][15:0], words_i[2]};
  assign ip_source = {words_i[7], words_i[6], words_i[5], words_i[4]};
  assign ip_destination = {words_i[11], words_i[10], words_i[9], words_i[8]};
  assign checksum = ~(sum_i[15:0] + 16'(sum_i[16]));
  assign ipv4 = {
    ip_destination[31:0],
    ip_source[31:0],
    be16(checksum),
    8'd17,
    words_i[13][15:8],
    16'h0040,
    16'h0,
    be16(ip_length_i),
    words_i[13][7:0],
    8'h45
  };
  assign ipv6_header = {
    ip_destination,
    ip_source,
    words_i[13][15:8],
    8'd17,
    be16(16'(transport_i)),
    be32({4'h6, words_i[13][7:0], words_i[14][19:0]})
  };
  assign write = {
    be32(packet_i.length), be32(words_i[17]), be32(packet_i.destination[31:0]), be32(packet_i.destination[63:32])
  };
  assign transport = {
    immediate ? be32(packet_i.immediate) : 32'h0,
    reth ? write : 128'h0,
    be32({8'h0, psn_i}),
    be32({8'h0, words_i[16][23:0]}),
    16'hFFFF,
    {2'b00, pad, 4'h0},
    opcode,
    16'h0,
    be16(16'(transport_i)),
    be16(words_i[12][31:16]),
    be16(words_i[12][15:0])
  };

  logic [8*MostHeader-1:0] header_ipv4, header_ipv6;
  assign header_ipv6 = {transport, ipv6_header, be16(16'h86DD), source_mac, destination_mac};
  assign header_ipv4 = {160'h0, transport, ipv4, be16(16'h0800), source_mac, destination_mac};
  assign header_o = ipv6 ? header_ipv6 : header_ipv4;

  // Bits of the table that have other uses, and of the packet
  logic unused;
  assign unused = ^{words_i, packet_i};
endmodule
