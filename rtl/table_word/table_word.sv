// SPDX-License-Identifier: Apache-2.0
// One word of the table of DTPs, kept where it is used: sixteen entries of distributed memory.
module table_word #(
    parameter logic [6:0] Word = 7'd0
) (
    input  logic                            clk_i,
    input  rashpa_pkg::table_write_t        write_i,
    input  rashpa_pkg::dtp_t                dtp_i,
    output logic                     [31:0] data_o    // in the same cycle
);
  logic [31:0] memory[rashpa_pkg::Dtps];
  always_ff @(posedge clk_i) begin
    if (write_i.valid && write_i.word == Word) memory[write_i.dtp] <= write_i.data;
  end
  assign data_o = memory[dtp_i];
endmodule
