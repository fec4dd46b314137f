// SPDX-License-Identifier: Apache-2.0
// Any descriptors of any DTP, any path MTU: packets stay until they are taken; together they are the descriptor, each of
// the path MTU but the last; one of them begins it, one ends it; behind Abort nothing of it comes.
module segmenter_formal
  import rashpa_pkg::*;
  import card_registers_pkg::*;
(
    input logic         clk_i,
    input logic         rst_ni,
    input logic         clear_i,
    input table_write_t table_i,
    input logic         valid_i,
    input descriptor_t  descriptor_i,
    input logic         ready_i
);
  logic ready, valid;
  packet_t packet;
  logic [47:0] source;

  segmenter dut (
      .clk_i,
      .rst_ni,
      .clear_i,
      .table_i,
      .valid_i,
      .ready_o (ready),
      .descriptor_i,
      .valid_o (valid),
      .ready_i,
      .packet_o(packet),
      .source_o(source)
  );

  logic [12:0] mtu;
  logic parts;
  assign mtu   = table_i.data[12:0];
  assign parts = table_i.data[DtpTableMtuFirstMiddleLastLsb];

  logic running_q = 1'b0;
  logic [31:0] word_q;
  always_ff @(posedge clk_i) begin
    running_q <= 1'b1;
    word_q <= table_i.data;
  end
  always_comb begin
    if (!running_q) assume (!rst_ni);
    if (running_q) assume (table_i.data == word_q);  // the table of a run does not change
    assume (mtu == 13'd256 || mtu == 13'd512 || mtu == 13'd1024 || mtu == 13'd2048 || mtu == 13'd4096);
    if (descriptor_i.bytes == '0) assume (!valid_i);
    if (descriptor_i.event_record && descriptor_i.bytes != 32'd128) assume (!valid_i);
    assume (descriptor_i.source < 48'h1000_0000_0000 && descriptor_i.bytes <= 32'h8000_0000);
  end

  // What is still to come of the descriptor in hand
  logic inside_q, begun_q, event_q, begins_image_q, shown_q;
  logic [31:0] left_q, bytes_q;
  logic [63:0] destination_q;
  logic [47:0] source_q;
  dtp_t dtp_q;
  packet_t packet_q;
  logic [47:0] source_before_q;
  logic taken;
  assign taken = valid && ready_i;
  always_ff @(posedge clk_i) begin
    shown_q <= rst_ni && !clear_i && valid && !ready_i;
    packet_q <= packet;
    source_before_q <= source;
    if (!rst_ni || clear_i) inside_q <= 1'b0;
    else if (valid_i && ready) begin
      inside_q <= 1'b1;
      begun_q <= 1'b0;
      event_q <= descriptor_i.event_record;
      begins_image_q <= descriptor_i.begins_image;
      left_q <= descriptor_i.bytes;
      bytes_q <= descriptor_i.bytes;
      destination_q <= descriptor_i.destination;
      source_q <= descriptor_i.source;
      dtp_q <= descriptor_i.dtp;
    end else if (taken) begin
      begun_q <= 1'b1;
      left_q <= left_q - 32'(packet.bytes);
      destination_q <= destination_q + 64'(packet.bytes);
      source_q <= source_q + 48'(packet.bytes);
      if (packet.ends_descriptor) inside_q <= 1'b0;
    end
  end

  logic last;
  packet_kind_e kind;
  assign last = left_q <= 32'(mtu);
  always_comb begin
    if (event_q) kind = WriteEvent;
    else if (!parts || (!begun_q && last)) kind = WriteOnly;
    else if (!begun_q) kind = WriteFirst;
    else kind = last ? WriteLast : WriteMiddle;
  end
  always_ff @(posedge clk_i) begin
    if (rst_ni && running_q) begin
      if (shown_q) assert (valid && packet == packet_q && source == source_before_q);
      if (valid) begin
        assert (inside_q && packet.dtp == dtp_q);
        assert (dut.descriptor_q.bytes == left_q);
        assert (packet.ends_descriptor == last);
        assert (packet.bytes == (last ? left_q[12:0] : mtu));
        assert (packet.destination == destination_q && source == source_q && packet.lead == source_q[5:0]);
        assert (packet.begins_image == (begins_image_q && !begun_q));
        assert (packet.kind == kind);
        assert (packet.length == (parts ? bytes_q : 32'(packet.bytes)));
      end
      if (inside_q) assert (!ready);
      // the last of a descriptor of three packets, behind one that was given up
      cover (taken && packet.kind == WriteLast && bytes_q > 32'd2 * 32'(mtu));
      cover (taken && packet.kind == WriteEvent);
      cover (clear_i && valid && begun_q && !packet.ends_descriptor);
    end
  end
endmodule
