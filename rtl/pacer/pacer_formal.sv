// SPDX-License-Identifier: Apache-2.0
// Any DTP, any rate and burst, written while nothing goes. Every sixteen cycles its bucket gets exactly sixteen cycles of
// rate, or is full: so it never gets more than burst and rate allow, and nobody starves. Who may go has a bucket that is
// not below zero, with everything taken off that has gone; who has such a bucket and has not gone for some cycles may.
module pacer_formal
  import rashpa_pkg::*;
(
    input logic        clk_i,
    input logic        arm_i,
    input logic        spend_i,
    input dtp_t        dtp_i,
    input logic [31:0] bytes_i
);
  logic rst_n = 1'b0;
  dtp_t d_q;  // any; it stays
  logic [Dtps-1:0] may_go;
  logic spends;

  pacer u_dut (
      .clk_i,
      .rst_ni  (rst_n),
      .arm_i,
      .table_i ('0),
      .spend_i,
      .dtp_i,
      .bytes_i,
      .may_go_o(may_go)
  );
  assign spends = spend_i && dtp_i == d_q;

  always_ff @(posedge clk_i) begin
    rst_n <= 1'b1;
    d_q   <= d_q;
  end

  // The words of its table: they stay, too.
  logic [31:0] rate, burst;
  assign rate  = u_dut.u_rate.memory[d_q];
  assign burst = u_dut.u_burst.memory[d_q] >= 32'h4000_0000 ? 32'h4000_0000 : u_dut.u_burst.memory[d_q];
  logic [3:0] on_way;  // the look that ends in so many cycles
  always_comb begin
    for (int i = 0; i < 4; i++) on_way[i] = u_dut.looks_q[i] && u_dut.turns_q[i] == d_q;
  end

  // The bucket: what is allowed less what is spent. It is `keeps` in which a look at it ends.
  logic [31:0] allowed, spent, level;
  logic [11:0] rest;
  logic keeps, looked_q;
  logic [3:0] since;  // cycles since then
  assign allowed = u_dut.allowed[d_q];
  assign rest    = u_dut.rest[d_q];
  assign spent   = u_dut.spent[d_q] + (u_dut.spend_q && u_dut.dtp_q == d_q ? u_dut.bytes_q : '0);
  assign level   = allowed - spent;
  assign keeps   = on_way[3];
  assign since   = u_dut.turn_q - d_q - 4'd5;

  always_comb begin
    assume (u_dut.limited_q[d_q] == (rate != '0));
    // Only who may go goes, and long behind Arm; a descriptor has 1 … 2^31 bytes.
    assume (!spends || (may_go[d_q] && looked_q && !arm_i && bytes_i != '0 && bytes_i <= 32'h8000_0000));
  end

  // At the last look
  logic [31:0] allowed_q, seen_q;
  logic [11:0] rest_q;
  logic kept_q, first_q;
  logic [2:0] calm_q;  // cycles without a descriptor
  always_ff @(posedge clk_i) begin
    if (!rst_n || arm_i) begin
      looked_q <= 1'b0;
      kept_q   <= 1'b0;
      calm_q   <= '0;
    end else begin
      if (keeps) looked_q <= 1'b1;
      kept_q <= keeps;
      calm_q <= spends ? '0 : calm_q == '1 ? calm_q : calm_q + 3'd1;
    end
    if (u_dut.turn_q == d_q) seen_q <= u_dut.spent[d_q];
    allowed_q <= allowed;
    rest_q    <= rest;
    first_q   <= !looked_q;
  end

  // The look on its way
  logic [32:0] now;
  logic [31:0] had, left;
  logic late;  // it does not know what was spent
  assign now  = 33'(rate) + 33'(rest);
  assign had  = allowed - seen_q;
  assign left = had + 32'(now[32:12]);
  assign late = u_dut.stale_q[d_q] || (u_dut.spend_q && u_dut.dtp_q == d_q);

  logic [32:0] sum;
  logic [31:0] more;
  logic exact, full;
  assign sum   = 33'(rate) + 33'(rest_q);
  assign more  = allowed_q + 32'(sum[32:12]);
  assign exact = allowed == more && rest == sum[11:0];
  assign full  = allowed == seen_q + burst;

  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      if (rate != '0 && looked_q) begin
        if (may_go[d_q]) assert (!level[31]);
        assert ($signed(level) <= $signed(burst));
      end
      if (kept_q) begin
        assert (first_q ? full : exact || (full && $signed(more - seen_q) > $signed(burst)));
        if (calm_q >= 3'd6) assert (may_go[d_q] == (rate == '0 || $signed(allowed - seen_q) >= 0));
      end
      if (looked_q) assert (kept_q == (since == '0));
      // what k-induction has to know
      if (looked_q) assert (u_dut.looks_q == '1 && !u_dut.fresh_q[d_q]);
      if (!looked_q) assert (u_dut.fresh_q[d_q] || on_way != '0);
      for (int i = 0; i < 4; i++) if (u_dut.looks_q[i]) assert (u_dut.turns_q[i] == u_dut.turn_q - 4'(i) - 4'd1);
      for (int i = 0; i < 3; i++) if (u_dut.looks_q[i+1]) assert (u_dut.looks_q[i]);
      if (!u_dut.looks_q[3]) assert (!looked_q);
      if (on_way[0])
        assert (u_dut.rate1_q == rate && u_dut.burst1_q == burst && u_dut.allowed1_q == allowed && u_dut.rest1_q == rest
            && u_dut.spent_seen_q == seen_q);
      if (on_way[1])
        assert (u_dut.filled_q == now && u_dut.left_q == allowed - seen_q && u_dut.full2_q == seen_q + burst
            && u_dut.allowed2_q == allowed && u_dut.burst2_q == burst && u_dut.unlimited2_q == (rate == '0));
      if (on_way[2])
        assert (u_dut.level_q == left && u_dut.allowed3_q == allowed + 32'(now[32:12]) && u_dut.rest3_q == now[11:0]
            && u_dut.full3_q == seen_q + burst && u_dut.burst3_q == burst && u_dut.unlimited3_q == (rate == '0));
      if (on_way[3])
        assert (u_dut.fills_q == (!looked_q || $signed(
            left
        ) > $signed(
            burst
        )) && u_dut.below_q == (looked_q && left[31]) && u_dut.allowed4_q == allowed + 32'(now[32:12]) && u_dut.rest4_q
            == (looked_q ? now[11:0] : '0) && u_dut.full4_q == seen_q + burst && u_dut.unlimited4_q == (rate == '0));
      for (int i = 0; i < 3; i++) if (on_way[i]) assert (u_dut.fresh1_q[i] == !looked_q);
      assert ($onehot0(on_way));
      if (on_way != '0) assert (!u_dut.fresh_q[d_q]);
      if (!looked_q) assert (!u_dut.spend_q || u_dut.dtp_q != d_q);
      if (looked_q && on_way != '0 && rate != '0) begin
        if (seen_q != spent)
          assert (late && !may_go[d_q] && spent - seen_q <= 32'h8000_0000 && !had[31] && $signed(
              had
          ) <= $signed(
              burst
          ));
      end
      if (!looked_q && on_way != '0) assert (seen_q == spent && !late);
      for (int i = 0; i < 4; i++) if (looked_q && late && on_way[i]) assert (calm_q <= 3'(i) + 3'd1);
    end
  end
endmodule
