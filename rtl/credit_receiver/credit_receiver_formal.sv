// SPDX-License-Identifier: Apache-2.0
// Whatever comes from the MAC: no count falls, a count moves only with its pulse, and only one at a time; every frame
// has at most one fate.
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
  logic [Dtps-1:0][31:0] granted, was;
  logic [Dtps-1:0] moved;
  logic [2:0] fates;
  logic ready, credit, cnp, ignored, icrc_bad, missed;

  credit_receiver u_dut (
      .clk_i,
      .rst_ni(rst_n),
      .arm_i(arm),
      .table_i(written),
      .s_axis_tvalid(tvalid),
      .s_axis_tdata(tdata),
      .s_axis_tkeep(tkeep),
      .s_axis_tlast(tlast),
      .ready_o(ready),
      .granted_o(granted),
      .credit_o(credit),
      .cnp_o(cnp),
      .ignored_o(ignored),
      .icrc_bad_o(icrc_bad),
      .missed_o(missed)
  );

  always_comb begin
    for (int d = 0; d < int'(Dtps); ++d) moved[d] = granted[d] != was[d];
    fates = 3'(credit) + 3'(cnp) + 3'(ignored) + 3'(icrc_bad);
  end

  always_ff @(posedge clk_i) begin
    rst_n <= 1'b1;
    past  <= rst_n && !arm;
    was   <= granted;
    if (rst_n && past) begin
      for (int d = 0; d < int'(Dtps); ++d) assert (32'(granted[d] - was[d]) < 32'h8000_0000);
      assert ($onehot0(moved));
      assert ((moved != '0) == credit);
      assert (fates <= 3'd1);
    end
  end

endmodule
