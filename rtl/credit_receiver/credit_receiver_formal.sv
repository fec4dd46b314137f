// SPDX-License-Identifier: Apache-2.0
// Whatever comes from the MAC: no count falls, a count moves only with its pulse, every frame has at most one fate, and
// nothing counts behind Arm that came before it.
module credit_receiver_formal
  import rashpa_pkg::*;
(
    input logic                clk_i,
    input logic                arm,
    input table_write_t        written,
    input logic                tvalid,
    input beat_t               tdata,
    input logic         [63:0] tkeep,
    input logic                tlast
);

  logic rst_n = 1'b0;
  logic past = 1'b0;  // there was a cycle before, without reset and Arm
  dtp_t looked;  // any
  logic [31:0] granted, was;
  logic [2:0] fates;
  logic credit, cnp, ignored, icrc_bad, missed;

  credit_receiver u_dut (
      .clk_i,
      .rst_ni(rst_n),
      .arm_i(arm),
      .table_i(written),
      .s_axis_tvalid(tvalid),
      .s_axis_tdata(tdata),
      .s_axis_tkeep(tkeep),
      .s_axis_tlast(tlast),
      .dtp_i(looked),
      .granted_o(granted),
      .credit_o(credit),
      .cnp_o(cnp),
      .ignored_o(ignored),
      .icrc_bad_o(icrc_bad),
      .missed_o(missed)
  );

  // Since Arm: whether a frame has begun, whether one has come whole, whether one is being looked at
  logic begun, whole, going;
  assign going = u_dut.valid || u_dut.u_queue.valid_q || u_dut.u_queue.state_q == 2'd1;
  always_ff @(posedge clk_i) begin
    if (!rst_n || arm) begin
      begun <= 1'b0;
      whole <= 1'b0;
    end else begin
      if (tvalid && u_dut.u_queue.number_q == 2'd0) begun <= 1'b1;
      if (u_dut.u_queue.ends) whole <= 1'b1;
    end
  end

  assign fates = 3'(credit) + 3'(cnp) + 3'(ignored) + 3'(icrc_bad);

  logic judging;  // a frame whose words are through
  assign judging = u_dut.ended || u_dut.u_search.asks_q || u_dut.u_search.answers_q || u_dut.u_search.judged_q
      || u_dut.searched || u_dut.looked_q || u_dut.compared_q || u_dut.judging_q || u_dut.judged_q;

  // One frame at a time: its words, or one step of its check
  logic [1:0] state;  // of the queue: empty, words, taken
  logic words, searching;
  assign state     = u_dut.u_queue.state_q;
  assign words     = u_dut.u_queue.valid_q || u_dut.valid || u_dut.u_fields.valid_q;
  assign searching = u_dut.u_search.asks_q || u_dut.u_search.answers_q || u_dut.u_search.judged_q;

  always_ff @(posedge clk_i) begin
    rst_n  <= 1'b1;
    past   <= rst_n && !arm;
    was    <= granted;
    looked <= looked;
    if (rst_n && past) begin
      assert (32'(granted - was) < 32'h8000_0000);
      if (granted != was) assert (credit);
      assert (fates <= 3'd1);
    end
    if (rst_n) begin
      // Nothing of what came before Arm
      if (!begun) assert (granted == '0 && fates == 3'd0);
      if (!whole) assert (granted == '0 && fates == 3'd0);
      // what k-induction has to know
      if (whole) assert (begun);
      assert ($onehot0(
          {
            words,
            u_dut.ended,
            searching,
            u_dut.searched,
            u_dut.looked_q,
            u_dut.compared_q,
            u_dut.judging_q,
            u_dut.judged_q,
            u_dut.next
          }
      ));
      if (judging || u_dut.next) assert (state == 2'd2);
      if (state == 2'd0) assert (!words);
      if (u_dut.u_queue.valid_q) assert (state == (u_dut.u_queue.end_q ? 2'd2 : 2'd1));
      if (u_dut.valid) assert (u_dut.last ? state == 2'd2 && !u_dut.u_queue.valid_q : u_dut.u_queue.valid_q);
      if (u_dut.u_fields.valid_q)
        assert (u_dut.u_fields.last_q ? state == 2'd2 && !u_dut.u_queue.valid_q && !u_dut.valid : u_dut.valid);
      if (!begun) assert (!u_dut.u_queue.keeps_q);
      if (!whole)
        assert (u_dut.u_queue.level_q == '0 && u_dut.u_queue.state_q == 2'd0 && !going && !judging
            && !u_dut.u_fields.valid_q && u_dut.counted_q == '0);
    end
  end

endmodule
