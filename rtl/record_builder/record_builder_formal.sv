// SPDX-License-Identifier: Apache-2.0
// Whoever wants a record gets it within 36 cycles, and nobody gets one that is not wanted; then what is to be XORed stays,
// and for four cycles behind the event's begin, whatever is wanted in them. Of the data, the event's index stands for all.
module record_builder_formal
  import rashpa_pkg::*;
(
    input logic                clk_i,
    input logic                rst_ni,
    input table_write_t        table_i,
    input logic                wanted_i,
    input logic         [63:0] index_i
);
  localparam int unsigned Most = 36;  // cycles
  localparam int unsigned Stays = 4;
  localparam int unsigned IndexAt = 32;  // schema/frame_record.md

  logic ready;
  beat_t first;
  logic [31:0] crc;

  record_builder dut (
      .clk_i,
      .rst_ni,
      .table_i,
      .wanted_i,
      .dtp_i('0),
      .last_of_run_i(1'b0),
      .index_i,
      .slot_i('0),
      .crc_i('0),
      .ready_o(ready),
      .first_o(first),
      .crc_o(crc)
  );

  logic wanted_q, ready_q, kept_q;
  logic [63:0] index_q, asked_q;
  logic [5:0] held_q;  // cycles that it has been wanted for
  logic [2:0] behind_q;  // cycles behind the event's begin
  logic running_q = 1'b0;
  always_ff @(posedge clk_i) running_q <= 1'b1;
  always_comb begin
    if (!running_q) assume (!rst_ni);
    if (wanted_q) assume (!wanted_i || index_i == index_q);  // an event does not change while it is wanted
  end

  always_ff @(posedge clk_i) begin
    index_q <= index_i;
    if (!rst_ni) begin
      wanted_q <= 1'b0;
      ready_q  <= 1'b0;
      kept_q   <= 1'b0;
      held_q   <= '0;
      behind_q <= '0;
    end else begin
      wanted_q <= wanted_i;
      ready_q  <= ready;
      held_q   <= !wanted_i ? '0 : held_q == 6'(Most) ? held_q : held_q + 6'd1;
      if (ready) begin
        asked_q  <= index_q;
        kept_q   <= 1'b1;
        behind_q <= '0;
      end else begin
        behind_q <= behind_q == 3'(Stays) ? behind_q : behind_q + 3'd1;
        if (behind_q == 3'(Stays)) kept_q <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni && running_q) begin
      if (!wanted_q) assert (!ready);
      if (held_q == 6'(Most)) assert (ready);
      if (ready_q && wanted_q) assert (ready);
      if (kept_q && behind_q < 3'(Stays)) assert (first[8*IndexAt+:64] == asked_q);
      cover (ready && wanted_q && ready_q);
      cover (kept_q && !ready && ready_q && wanted_i);
    end
  end
endmodule
