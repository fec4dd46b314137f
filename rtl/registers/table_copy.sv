// SPDX-License-Identifier: Apache-2.0
// The table of DTPs once more, for software to read and for the check at Arm, which walks it.
module table_copy
  import rashpa_pkg::*;
(
    input  logic                            clk_i,
    input  logic                            rst_ni,
    input  table_write_t                    table_i,
    input  dtp_t                            dtp_i,      // word of software
    input  logic                 [     5:0] word_i,
    output logic                 [    31:0] data_o,     // in the next cycle, while nothing is checked
    input  logic                            check_i,    // one cycle
    input  logic                            pushed_i,
    input  logic                 [Dtps-1:0] enabled_i,
    output sender_pkg::verdict_t            verdict_o
);

  logic [31:0] words[1024];
  logic checking;
  logic [9:0] check_at, at;
  assign at = checking ? check_at : {dtp_i, word_i};
  always_ff @(posedge clk_i) begin
    if (table_i.valid) words[{table_i.dtp, table_i.word[5:0]}] <= table_i.data;
    data_o <= words[at];
  end

  table_check u_check (
      .clk_i,
      .rst_ni,
      .start_i(check_i),
      .pushed_i,
      .enabled_i,
      .read_word_o(check_at),
      .read_data_i(data_o),
      .busy_o(checking),
      .done_o(verdict_o.valid),
      .code_o(verdict_o.code),
      .dtp_o(verdict_o.dtp),
      .word_o(verdict_o.word)
  );

endmodule
