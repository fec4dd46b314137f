// SPDX-License-Identifier: Apache-2.0
// Last beats at least two cycles apart, but for one that comes alone behind a packet of five beats: the queue never
// overflows, every packet is written once, and busy_o says the truth. Data are whatever they are.
module payload_crc_formal
  import rashpa_pkg::*;
(
    input logic         clk_i,
    input logic         rst_ni,
    input logic         valid_i,
    input logic         last_i,
    input logic [511:0] data_i,
    input logic [  5:0] zeros_i,
    input dtp_t         dtp_i,
    input logic         begins_image_i,
    input logic [ 31:0] factor_i
);

  logic busy;

  payload_crc dut (
      .clk_i,
      .rst_ni,
      .valid_i,
      .last_i,
      .data_i,
      .zeros_i,
      .dtp_i,
      .begins_image_i,
      .factor_i,
      .read_dtp_i('0),
      .crc_o(),
      .busy_o(busy)
  );

  // Reset first, and never again.
  logic running_q = 1'b0;
  always_ff @(posedge clk_i) running_q <= 1'b1;
  always_comb assume (rst_ni == running_q);

  // What the sender may do: cycles since the last beat before, and beats of the packet that ended with it.
  logic [2:0] since_q, beats_q, before_q;
  logic ends;
  assign ends = valid_i && last_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      since_q  <= '1;
      beats_q  <= '0;
      before_q <= '1;
    end else begin
      since_q <= ends ? '0 : since_q == '1 ? '1 : since_q + 1'b1;
      if (valid_i) beats_q <= last_i ? '0 : beats_q == '1 ? '1 : beats_q + 1'b1;
      if (ends) before_q <= beats_q;  // beats before its last one
    end
  end
  // Such a packet is one beat alone, and the next last beat is two cycles away again.
  always_comb begin
    if (rst_ni && ends && since_q == '0) assume (before_q >= 3'd4 && beats_q == '0);
  end

  // Packets that are open, counted where they are.
  logic [3:0] counted;
  logic [1:0] waiting;
  logic [2:0] whole;  // in the stages of crc512
  assign waiting = dut.put_q - dut.get_q;
  assign whole   = dut.u_crc.valid_q & dut.u_crc.last_q;
  always_comb begin
    counted = 4'(!dut.first_q) + 4'(waiting) + 4'(dut.odd_q) + 4'(dut.write_q[0]) + 4'(dut.write_q[1]);
    for (int i = 0; i < 3; i++) counted += 4'(whole[i]);
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni && running_q) begin
      assert (!(dut.line_valid && waiting == 2'd3));
      assert (dut.open_q == counted);
      assert (busy == (counted != '0));
      assert (!(dut.write_q[0] && dut.write_q[1]) && !(dut.odd_q && dut.write_q[0]));
    end
  end

endmodule
