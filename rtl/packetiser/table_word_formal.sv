// SPDX-License-Identifier: Apache-2.0
// In proofs, in place of table_word: the table holds what is on the wires of a write just now, so anything at every look.
// verilog_lint: waive-start module-filename
module table_word #(
    parameter logic [6:0] Word = 7'd0
) (
    input  logic                            clk_i,
    input  rashpa_pkg::table_write_t        write_i,
    input  rashpa_pkg::dtp_t                dtp_i,
    output logic                     [31:0] data_o
);
  assign data_o = write_i.data;
endmodule
