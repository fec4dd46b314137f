// SPDX-License-Identifier: Apache-2.0
// Entries of a block as beats of sixteen; only the last beat of a block may have less.
module unit_pack
  import unit_pkg::*;
(
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic                 some_i,
    input  logic          [ 4:0] count_i,
    input  entry_t        [15:0] entries_i,
    input  logic                 end_i,      // of the block, without entries
    output logic                 beat_o,
    output logic          [ 4:0] count_o,
    output entry_t        [15:0] entries_o,
    output logic                 block_o,    // it has been all of it
    output listed_block_t        listed_o
);
  localparam int unsigned Stages = 3;

  logic [3:0] held_q;  // entries that wait for more of them
  logic [4:0] sum;
  logic [3:0] from_q[2], to_q[2];
  logic [4:0] added_q[Stages];
  logic [Stages-1:0] full_q, rest_q, end_q;
  logic [3:0] rest_count_q[Stages];
  entry_t [15:0] coming_q, by_ones_q, turned_q, hold_q;
  logic [15:0] here_q, next_q;  // which of them belong to this beat, to the one behind it

  assign sum = {1'b0, held_q} + (some_i ? count_i : 5'd0);
  always_ff @(posedge clk_i) begin
    from_q[0]       <= held_q;
    to_q[0]         <= sum[3:0];
    added_q[0]      <= some_i ? count_i : '0;
    rest_count_q[0] <= held_q;
    coming_q        <= entries_i;
    from_q[1]       <= from_q[0];
    to_q[1]         <= to_q[0];
    for (int unsigned i = 1; i < Stages; ++i) begin
      added_q[i]      <= added_q[i-1];
      rest_count_q[i] <= rest_count_q[i-1];
    end
    for (int unsigned i = 0; i < Entries; ++i) begin
      unique case (from_q[0][1:0])
        2'd0: by_ones_q[i] <= coming_q[i];
        2'd1: by_ones_q[i] <= coming_q[(i+15)%16];
        2'd2: by_ones_q[i] <= coming_q[(i+14)%16];
        2'd3: by_ones_q[i] <= coming_q[(i+13)%16];
      endcase
      unique case (from_q[1][3:2])
        2'd0: turned_q[i] <= by_ones_q[i];
        2'd1: turned_q[i] <= by_ones_q[(i+12)%16];
        2'd2: turned_q[i] <= by_ones_q[(i+8)%16];
        2'd3: turned_q[i] <= by_ones_q[(i+4)%16];
      endcase
      here_q[i] <= 4'(i) >= from_q[1] && (full_q[1] || 4'(i) < to_q[1]);
      next_q[i] <= full_q[1] && 4'(i) < to_q[1];
      if (here_q[i] || next_q[i]) hold_q[i] <= turned_q[i];
      entries_o[i] <= here_q[i] ? turned_q[i] : hold_q[i];
    end
    count_o <= full_q[2] ? 5'(Entries) : {1'b0, rest_count_q[2]};
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      held_q   <= '0;
      full_q   <= '0;
      rest_q   <= '0;
      end_q    <= '0;
      beat_o   <= 1'b0;
      block_o  <= 1'b0;
      listed_o <= '0;
    end else begin
      held_q <= end_i ? '0 : sum[3:0];
      full_q <= {full_q[Stages-2:0], sum[4]};
      rest_q <= {rest_q[Stages-2:0], end_i && held_q != '0};
      end_q <= {end_q[Stages-2:0], end_i};
      beat_o <= full_q[2] || rest_q[2];
      block_o <= end_q[2];
      listed_o.beats <= (block_o ? '0 : listed_o.beats) + 8'(full_q[2] || rest_q[2]);
      listed_o.entries <= (block_o ? '0 : listed_o.entries) + 12'(added_q[2]);
    end
  end
endmodule
