// SPDX-License-Identifier: Apache-2.0
// Cuts descriptors into packets of at most the path MTU: each a message of its own, or FIRST, MIDDLE … LAST of one.
// Two cycles for a packet that is a whole descriptor, four for each of a longer one.
module segmenter
  import rashpa_pkg::*;
  import card_registers_pkg::*;
(
    input  logic                clk_i,
    input  logic                rst_ni,
    input  logic                clear_i,       // forgets what it has in hand
    input  table_write_t        table_i,
    input  logic                valid_i,
    output logic                ready_o,
    input  descriptor_t         descriptor_i,
    output logic                valid_o,
    input  logic                ready_i,
    output packet_t             packet_o,      // without `beats`, which the reader finds
    output logic         [47:0] source_o
);
  typedef enum logic [1:0] {
    Idle,
    Cut,     // the packet is shown
    Behind,  // low words of what is behind it
    Carry    // high words
  } state_e;

  state_e             state_q;
  descriptor_t        descriptor_q;  // source, destination and bytes of what is left
  logic        [31:0] message_q;  // bytes of the whole
  logic               begun_q;  // a part of it is out
  logic source_carry_q, destination_carry_q;
  logic [31:0] mtu_word, factor_mtu;
  logic [12:0] mtu;
  logic        whole_messages;  // every packet is a message
  logic        last;

  table_word #(
      .Word(DtpTableMtuWord)
  ) u_mtu (
      .clk_i,
      .write_i(table_i),
      .dtp_i  (descriptor_q.dtp),
      .data_o (mtu_word)
  );
  table_word #(
      .Word(DtpTableFactorMtuWord)
  ) u_factor (
      .clk_i,
      .write_i(table_i),
      .dtp_i  (descriptor_q.dtp),
      .data_o (factor_mtu)
  );
  assign mtu = mtu_word[12:0];
  assign whole_messages = !mtu_word[DtpTableMtuFirstMiddleLastLsb];
  assign last = descriptor_q.bytes <= 32'(mtu);

  assign ready_o = state_q == Idle;
  assign valid_o = state_q == Cut;
  assign source_o = descriptor_q.source;

  always_comb begin
    packet_o = '0;
    packet_o.dtp = descriptor_q.dtp;
    if (descriptor_q.event_record) packet_o.kind = WriteEvent;
    else if (whole_messages || (!begun_q && last)) packet_o.kind = WriteOnly;
    else if (!begun_q) packet_o.kind = WriteFirst;
    else packet_o.kind = last ? WriteLast : WriteMiddle;
    packet_o.complete_record = descriptor_q.complete_record;
    packet_o.begins_image = descriptor_q.begins_image && !begun_q;
    packet_o.ends_descriptor = last;
    packet_o.last_of_run = descriptor_q.last_of_run;
    packet_o.lead = descriptor_q.source[5:0];
    packet_o.bytes = last ? descriptor_q.bytes[12:0] : mtu;
    packet_o.destination = descriptor_q.destination;
    packet_o.length = whole_messages ? 32'(packet_o.bytes) : message_q;
    packet_o.immediate = descriptor_q.immediate;
    packet_o.index = descriptor_q.index;
    packet_o.slot = descriptor_q.slot;
    packet_o.factor = last ? descriptor_q.factor : factor_mtu;
  end

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      Idle: begin
        descriptor_q <= descriptor_i;
        message_q <= descriptor_i.bytes;
        begun_q <= 1'b0;
      end
      Cut: if (ready_i) begun_q <= 1'b1;
      Behind: begin
        descriptor_q.bytes <= descriptor_q.bytes - 32'(mtu);
        {source_carry_q, descriptor_q.source[31:0]} <= 33'(descriptor_q.source[31:0]) + 33'(mtu);
        {destination_carry_q, descriptor_q.destination[31:0]} <= 33'(descriptor_q.destination[31:0]) + 33'(mtu);
      end
      Carry: begin
        descriptor_q.source[47:32] <= descriptor_q.source[47:32] + 16'(source_carry_q);
        descriptor_q.destination[63:32] <= descriptor_q.destination[63:32] + 32'(destination_carry_q);
      end
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      state_q <= Idle;
    end else begin
      unique case (state_q)
        Idle: if (valid_i) state_q <= Cut;
        Cut: if (ready_i) state_q <= last ? Idle : Behind;
        Behind: state_q <= Carry;
        Carry: state_q <= Cut;
      endcase
    end
  end
endmodule
