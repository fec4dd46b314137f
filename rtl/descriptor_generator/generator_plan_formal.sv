// SPDX-License-Identifier: Apache-2.0
// In proofs that count, in place of generator_plan: the words of one DTP, any, stay as they are; those of others are anything
// at every look.
// verilog_lint: waive-start module-filename
module generator_plan
  import rashpa_pkg::*;
  import generator_pkg::*;
(
    input  logic         clk_i,
    input  table_write_t table_i,
    input  dtp_t         dtp_i,
    output plan_t        plan_o
);
  plan_t plan_q;
  dtp_t  counted_q;
  always_ff @(posedge clk_i) begin
    plan_q    <= plan_q;
    counted_q <= counted_q;
  end
  assign plan_o = dtp_i == counted_q ? plan_q : {$bits(plan_t) / 32{table_i.data}};
endmodule
