// SPDX-License-Identifier: Apache-2.0
// Any packets, any memory that answers what it was asked: addresses stay until they are taken, bursts do not cross 4 KiB,
// what is asked for has room in the payload FIFO, packets come out once each, in order, with their beats.
module line_reader_formal
  import rashpa_pkg::*;
(
    input logic           clk_i,
    input logic           rst_ni,
    input logic           valid_i,
    input packet_t        packet_i,
    input logic    [47:0] source_i,
    input logic           full_i,
    input logic           arready_i,
    input logic           rvalid_i,
    input logic           rlast_i,
    input logic           popped_i
);
  localparam int unsigned Room = 128;
  logic ready, push, arvalid, rready, beat, idle, error;
  packet_t packet;
  logic [47:0] araddr;
  logic [7:0] arlen;
  beat_t data;
  dtp_t dtp;

  line_reader #(
      .Room(Room)
  ) dut (
      .clk_i,
      .rst_ni,
      .valid_i,
      .ready_o(ready),
      .packet_i,
      .source_i,
      .full_i,
      .push_o(push),
      .packet_o(packet),
      .m_axi_arvalid(arvalid),
      .m_axi_arready(arready_i),
      .m_axi_araddr(araddr),
      .m_axi_arlen(arlen),
      .m_axi_rvalid(rvalid_i),
      .m_axi_rready(rready),
      .m_axi_rdata('0),
      .m_axi_rresp('0),
      .m_axi_rlast(rlast_i),
      .beat_o(beat),
      .data_o(data),
      .popped_i,
      .idle_o(idle),
      .error_o(error),
      .error_dtp_o(dtp)
  );

  logic running_q = 1'b0;
  always_ff @(posedge clk_i) running_q <= 1'b1;

  // The memory and the FIFO: beats asked for, and those that are in the FIFO
  logic [8:0] asked_q, held_q;
  logic [6:0] bursts_q;
  logic taken, full_q, push_q;
  assign taken = arvalid && arready_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      asked_q  <= '0;
      held_q   <= '0;
      bursts_q <= '0;
    end else begin
      asked_q  <= asked_q + (taken ? 9'(arlen) + 9'd1 : 9'd0) - 9'(rvalid_i);
      held_q   <= held_q + 9'(rvalid_i) - 9'(popped_i);
      bursts_q <= bursts_q + 7'(taken) - 7'(rvalid_i && rlast_i);
    end
  end
  always_comb begin
    if (!running_q) assume (!rst_ni);
    if (packet_i.bytes == '0 || packet_i.bytes > 13'd4096) assume (!valid_i);
    if (asked_q == '0) assume (!rvalid_i);
    if (held_q == '0) assume (!popped_i);
    // only this block fills the packet FIFO
    if (!full_q && !push_q) assume (!full_i);
    // the last beat of a burst, and there is one for each
    if (asked_q == 9'(bursts_q)) assume (rlast_i);
    if (bursts_q == 7'd1 && asked_q != 9'd1) assume (!rlast_i);
  end

  // The packet in hand
  logic inside_q, pushed_q, held_address_q;
  logic [63:0] tag_q;
  logic [13:0] span_q;  // bytes from the first beat's begin to the packet's end
  logic [47:0] page_q, address_before_q;
  logic [7:0] length_before_q;
  logic [6:0] left;  // of a packet that is pushed: beats that are not asked for yet
  assign left = dut.state_q == 2'd3 ? dut.second_q : 7'd0;
  always_ff @(posedge clk_i) begin
    full_q <= full_i;
    push_q <= push;
    held_address_q <= rst_ni && arvalid && !arready_i;
    address_before_q <= araddr;
    length_before_q <= arlen;
    if (!rst_ni) inside_q <= 1'b0;
    else if (valid_i && ready) begin
      inside_q <= 1'b1;
      tag_q <= packet_i.destination;
      span_q <= 14'(packet_i.bytes) + 14'(source_i[5:0]);
    end else if (push) inside_q <= 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni && running_q) begin
      assert (rready);
      if (held_address_q) assert (arvalid && araddr == address_before_q && arlen == length_before_q);
      if (arvalid) begin
        assert (araddr[5:0] == '0 && arlen < 8'd64);
        assert (8'(araddr[11:6]) + arlen < 8'd64);
      end
      assert (12'(asked_q) + 12'(held_q) + 12'(left) + 12'(dut.room_q) == 12'(Room));
      if (push) assert (inside_q && packet.destination == tag_q && packet.beats == 7'((span_q + 14'd63) >> 6));
      // what induction has to know
      assert (dut.u_names.level == bursts_q && bursts_q <= 7'd64 && 9'(bursts_q) <= asked_q);
      assert (dut.bursts_q == bursts_q && dut.some_q == (bursts_q != '0));
      assert ((bursts_q == '0) == (asked_q == '0));
      assert (inside_q == (dut.state_q == 2'd1 || dut.state_q == 2'd2));
      if (inside_q) begin
        assert (dut.packet_q.destination == tag_q && dut.beats == 7'((span_q + 14'd63) >> 6));
        assert (span_q != '0 && span_q <= 14'd4159);
      end
      if (dut.state_q == 2'd2) begin
        assert (dut.packet_q.beats == dut.beats);
        assert (dut.first_q != '0 && dut.first_q <= dut.packet_q.beats && dut.first_q <= 7'd64 - 7'(araddr[11:6]));
        assert (dut.first_q == dut.packet_q.beats || dut.second_q == dut.packet_q.beats - dut.first_q);
        if (dut.enough_q) assert (dut.room_q >= 8'(dut.packet_q.beats) && !full_q && !push_q);
      end
      assert (araddr[5:0] == '0 || dut.state_q == 2'd0);
      if (dut.state_q == 2'd3) assert (araddr[11:6] == '0 && dut.second_q != '0 && dut.second_q <= 7'd64);
      if (idle) assert (asked_q == '0 && !inside_q);
      cover (dut.state_q == 2'd3 && taken && held_q > 9'd2);
    end
  end
endmodule
