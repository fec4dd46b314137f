// SPDX-License-Identifier: Apache-2.0
// Whatever frames come: what is granted to a DTP never falls but by Arm, changes for one DTP at a time and only with
// credit_o, and every frame that ends is said to be one thing.
module credit_receiver_formal
  import rashpa_pkg::*;
(
    input logic                clk_i,
    input logic                rst_ni,
    input logic                arm_i,
    input table_write_t        table_i,
    input logic                valid_i,
    input beat_t               data_i,
    input logic         [63:0] keep_i,
    input logic                last_i
);
  logic [Dtps-1:0][31:0] granted;
  logic credit, cnp, ignored, icrc_bad, missed;

  credit_receiver dut (
      .clk_i,
      .rst_ni,
      .arm_i,
      .table_i,
      .s_axis_tvalid(valid_i),
      .s_axis_tdata(data_i),
      .s_axis_tkeep(keep_i),
      .s_axis_tlast(last_i),
      .granted_o(granted),
      .credit_o(credit),
      .cnp_o(cnp),
      .ignored_o(ignored),
      .icrc_bad_o(icrc_bad),
      .missed_o(missed)
  );

  logic running_q = 1'b0;
  logic before_q, armed_q;
  logic [Dtps-1:0][31:0] granted_q;
  logic [Dtps-1:0] changed;
  always_ff @(posedge clk_i) begin
    running_q <= 1'b1;
    before_q  <= rst_ni;
    armed_q   <= arm_i;
    granted_q <= granted;
  end
  always_comb begin
    if (!running_q) assume (!rst_ni);
    for (int d = 0; d < int'(Dtps); d++) changed[d] = granted[d] != granted_q[d];
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni && running_q && before_q) begin
      if (armed_q)
        assert (granted == '0);
        else begin
          assert ((changed & (changed - 1'b1)) == '0);
          assert (credit == (changed != '0));
          for (int d = 0; d < int'(Dtps); d++) begin
            if (changed[d]) assert (32'(granted[d] - granted_q[d]) < 32'h8000_0000);
          end
        end
      assert (3'(credit) + 3'(cnp) + 3'(ignored) + 3'(icrc_bad) <= 3'd1);
      assert (dut.steps_q <= 6'd46 || dut.state_q != 3'd4);
      if (dut.state_q == 3'd5 || dut.state_q == 3'd6) assert (dut.steps_q == '0);
    end
  end
endmodule
