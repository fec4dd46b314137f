// SPDX-License-Identifier: Apache-2.0
// The counts that software rings.
module doorbells
  import rashpa_pkg::*;
(
    input  logic                  clk_i,
    input  logic                  rst_ni,
    input  logic                  write_i,
    input  logic [     5:0]       word_i,              // of the group
    input  logic [    31:0]       data_i,
    output logic [Dtps-1:0][31:0] granted_o,
    output logic [Dtps-1:0][31:0] frames_available_o,
    output logic [     3:0][31:0] single_o             // descriptors_posted, abort, arm, start
);

  localparam logic [5:0] Single = 6'h3C;

  always_ff @(posedge clk_i) begin
    for (int i = 0; i < int'(Dtps); ++i) begin
      if (!rst_ni) begin
        granted_o[i]          <= '0;
        frames_available_o[i] <= '0;
      end else if (write_i) begin
        if (word_i == 6'(i)) granted_o[i] <= data_i;
        if (word_i == 6'(int'(Dtps) + i)) frames_available_o[i] <= data_i;
      end
    end
    for (int i = 0; i < 4; ++i) begin
      if (!rst_ni) single_o[i] <= '0;
      else if (write_i && word_i == Single + 6'(i)) single_o[i] <= data_i;
    end
  end

endmodule
