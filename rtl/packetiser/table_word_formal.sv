// SPDX-License-Identifier: Apache-2.0
// In proofs, in place of table_word: the table may hold anything, and something else at every look.
// verilog_lint: waive-start module-filename
module table_word #(
    parameter logic [6:0] Word = 7'd0
) (
    input  logic                            clk_i,
    input  rashpa_pkg::table_write_t        write_i,
    input  rashpa_pkg::dtp_t                dtp_i,
    output logic                     [31:0] data_o
);
  (* anyseq *) logic [31:0] any;
  assign data_o = any;
endmodule
