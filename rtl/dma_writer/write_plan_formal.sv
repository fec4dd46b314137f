// SPDX-License-Identifier: Apache-2.0
// Any packet at any address: its bursts are one behind the other, cross no 4 KiB, and have all of its bytes and no other.
module write_plan_formal
  import rashpa_pkg::*;
(
    input logic    clk_i,
    input logic    valid_i,
    input packet_t packet_i,
    input logic    withheld_i,
    input logic    taken_i
);
  localparam logic [1:0] Idle = 2'd0, Sized = 2'd1, Cut = 2'd2, Ready = 2'd3;
  logic rst_n = 1'b0;
  logic ready, valid, soon, soon_q, withheld, prelude, several;
  packet_t packet;
  logic [57:0] address, second_at;
  logic [6:0] first, second, beats, upto;
  logic [5:0] turn, from;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  write_plan u_dut (
      .clk_i,
      .rst_ni(rst_n),
      .valid_i,
      .ready_o(ready),
      .packet_i,
      .withheld_i,
      .valid_o(valid),
      .soon_o(soon),
      .taken_i,
      .packet_o(packet),
      .withheld_o(withheld),
      .address_o(address),
      .second_at_o(second_at),
      .first_o(first),
      .second_o(second),
      .beats_o(beats),
      .turn_o(turn),
      .prelude_o(prelude),
      .from_o(from),
      .upto_o(upto),
      .several_o(several)
  );

  // No packet ends behind the last address: the table of addresses has none.
  always_comb begin
    assume (packet_i.bytes != '0 && packet_i.bytes <= 13'd4096);
    assume ({1'b0, packet_i.destination} + 65'(packet_i.bytes) <= {1'b0, 64'hFFFF_FFFF_FFFF_0000});
    assume (!taken_i || valid);
  end

  packet_t last_q;  // the packet that was taken
  logic last_withheld_q;
  logic [63:0] to, behind;
  logic [12:0] span;
  logic [ 6:0] border;
  assign to = last_q.destination;
  assign behind = to + 64'(last_q.bytes);
  assign span = 13'(to[5:0]) + last_q.bytes;
  assign border = 7'd64 - {1'b0, to[11:6]};
  always_ff @(posedge clk_i) begin
    soon_q <= rst_n && soon;
    if (valid_i && ready) begin
      last_q <= packet_i;
      last_withheld_q <= withheld_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      assert (ready == (u_dut.state_q == Idle));
      if (soon) assert (packet == last_q);
      if (soon_q) assert (valid);
      if (valid) begin
        assert (packet == last_q && withheld == last_withheld_q);
        // all of its bytes and no other
        assert ({address, 6'd0} + 64'(from) == to);
        assert ({address + 58'(beats) - 58'd1, 6'd0} + 64'(upto) == behind);
        assert (upto != '0 && upto <= 7'd64 && (beats != 7'd1 || {1'b0, from} < upto));
        assert (several == (beats != 7'd1));
        // bursts
        assert (first != '0 && first <= 7'd64 && second <= 7'd64);
        assert (8'(first) + 8'(second) == {1'b0, beats});
        assert (8'(address[5:0]) + 8'(first) <= 8'd64);
        if (second != '0) begin
          assert (second_at == address + 58'(first) && second_at[5:0] == '0);
        end
        // where byte 0 of card memory's beat goes
        assert ({prelude, turn} == {1'b0, to[5:0]} - {1'b0, last_q.lead});
      end
      // what induction has to know
      if (u_dut.state_q != Idle) begin
        assert (u_dut.packet_q == last_q && u_dut.withheld_q == last_withheld_q);
        assert (last_q.bytes != '0 && last_q.bytes <= 13'd4096);
        assert ({1'b0, to} + 65'(last_q.bytes) <= {1'b0, 64'hFFFF_FFFF_FFFF_0000});
      end
      if (u_dut.state_q == Cut || u_dut.state_q == Ready) begin
        assert (u_dut.span_q == span && u_dut.border_q == border);
        assert (u_dut.turn_q == {1'b0, to[5:0]} - {1'b0, last_q.lead});
        assert (u_dut.page_low_q == {1'b0, to[37:12]} + 27'd1);
      end
      if (u_dut.state_q == Ready) begin
        assert (beats == 7'((span + 13'd63) >> 6));
        assert (first == (beats < border ? beats : border) && second == (beats < border ? 7'd0 : beats - border));
        assert (upto == {span[5:0] == '0, span[5:0]});
        assert (second_at == {to[63:12] + 52'd1, 6'd0});
      end
      cover (valid && second != '0 && prelude);
    end
  end
endmodule
