// SPDX-License-Identifier: Apache-2.0
// Pushed only with room and popped only while valid: the level stays in bounds, and any word that is looked at comes out
// as it went in, behind those before it.
module fifo_formal (
    input logic       clk_i,
    input logic       rst_ni,
    input logic       clear_i,
    input logic       push_i,
    input logic [3:0] data_i,
    input logic       pop_i,
    input logic       look_i    // at the word that is pushed now
);
  logic full, valid;
  logic [3:0] data;

  fifo #(
      .Width(4),
      .Depth(8)
  ) dut (
      .clk_i,
      .rst_ni,
      .clear_i,
      .push_i,
      .data_i,
      .full_o (full),
      .valid_o(valid),
      .data_o (data),
      .pop_i
  );

  logic running_q = 1'b0;
  always_ff @(posedge clk_i) running_q <= 1'b1;
  always_comb begin
    if (!running_q) assume (!rst_ni);
    if (full) assume (!push_i);
    if (!valid) assume (!pop_i);
  end

  logic looks_q;
  logic [3:0] place_q, kept_q, ahead;
  assign ahead = place_q - dut.read_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) looks_q <= 1'b0;
    else if (push_i && look_i && !looks_q) begin
      looks_q <= 1'b1;
      place_q <= dut.write_q;
      kept_q  <= data_i;
    end else if (pop_i && ahead == 4'd0) looks_q <= 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni && running_q) begin
      assert (dut.level <= 4'd8);
      assert (full == (dut.level == 4'd8));
      if (valid) assert (dut.level != 4'd0 && data == dut.memory[dut.read_q[2:0]]);
      if (looks_q) begin
        assert (ahead < dut.level && dut.memory[place_q[2:0]] == kept_q);
        if (valid && ahead == 4'd0) assert (data == kept_q);
      end
      cover (full && looks_q && ahead == 4'd7);
    end
  end
endmodule
