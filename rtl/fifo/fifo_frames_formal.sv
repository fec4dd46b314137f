// SPDX-License-Identifier: Apache-2.0
// Beats of a frame are pushed in each cycle from its first to its last; then they can be popped so, whenever the first
// one is: the transmit FIFO makes no gap inside a frame.
module fifo_frames_formal (
    input logic clk_i,
    input logic rst_ni,
    input logic push_i,
    input logic last_i,
    input logic pop_i
);
  logic full, valid, last;

  fifo #(
      .Width(1),
      .Depth(8)
  ) dut (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .push_i,
      .data_i (last_i),
      .full_o (full),
      .valid_o(valid),
      .data_o (last),
      .pop_i
  );

  // Reset first, and never again.
  logic running_q = 1'b0;
  always_ff @(posedge clk_i) running_q <= 1'b1;

  logic in_q, out_q;  // a frame comes in; a frame goes out
  logic [3:0] popped_q;  // beats of it
  always_comb begin
    assume (rst_ni == running_q);
    if (full || !running_q) assume (!push_i);
    if (!valid) assume (!pop_i);
    if (running_q && in_q) assume (push_i);
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      in_q <= 1'b0;
      out_q <= 1'b0;
      popped_q <= '0;
    end else begin
      if (push_i) in_q <= !last_i;
      if (pop_i) begin
        out_q <= !last;
        popped_q <= last ? '0 : popped_q + 4'd1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni && running_q) begin
      if (out_q) assert (valid);
      // a frame that leaves as it comes, and one that waits
      cover (pop_i && last && popped_q == 4'd4 && in_q);
      cover (full && !pop_i && out_q);
    end
  end
endmodule
