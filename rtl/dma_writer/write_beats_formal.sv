// SPDX-License-Identifier: Apache-2.0
// Any plan: as many beats as it says and as many pops, the first and the last one cut where it says, bursts that end where
// it says, without a gap.
module write_beats_formal (
    input logic       clk_i,
    input logic       begins_i,
    input logic [6:0] beats_in_i,
    input logic [6:0] beats_i,
    input logic       single_i,
    input logic [6:0] first_i,
    input logic       prelude_i,
    input logic [5:0] from_i,
    input logic [6:0] upto_i
);
  logic rst_n = 1'b0;
  logic run, ends, pop, second, beat, burst_end;
  logic [5:0] from;
  logic [6:0] upto;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  write_beats u_dut (
      .clk_i,
      .rst_ni(rst_n),
      .begins_i,
      .beats_in_i,
      .beats_i,
      .single_i,
      .first_i,
      .prelude_i,
      .from_i,
      .upto_i,
      .run_o(run),
      .ends_o(ends),
      .pop_o(pop),
      .second_o(second),
      .beat_o(beat),
      .burst_end_o(burst_end),
      .from_o(from),
      .upto_o(upto)
  );

  // As write_plan makes them: the beats of card memory are as many, one less, or, with a prelude, one more.
  always_comb begin
    assume (!begins_i || !run || ends);
    assume (beats_i != '0 && beats_i <= 7'd65 && single_i == (beats_i == 7'd1));
    assume (first_i != '0 && first_i <= beats_i && first_i <= 7'd64 && beats_i - first_i <= 7'd64);
    assume (upto_i != '0 && upto_i <= 7'd64 && (beats_i != 7'd1 || {1'b0, from_i} < upto_i));
    assume (beats_in_i <= beats_i + 7'(prelude_i));
  end

  logic [6:0] in_q, beats_q, first_q, upto_q;  // of what is in hand
  logic [5:0] from_q;
  logic prelude_q, run_q;
  logic [6:0] popped_q, written_q, cycles_q;  // so far
  always_ff @(posedge clk_i) begin
    run_q <= rst_n && (begins_i || (run_q && !ends));
    if (begins_i) begin
      {in_q, beats_q, first_q, upto_q, from_q, prelude_q} <= {beats_in_i, beats_i, first_i, upto_i, from_i, prelude_i};
      {popped_q, written_q, cycles_q} <= '0;
    end else begin
      popped_q  <= popped_q + 7'(pop);
      written_q <= written_q + 7'(beat);
      cycles_q  <= cycles_q + 7'(run);
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      assert (run == run_q);
      if (run) begin
        assert (beat == (cycles_q != '0 || !prelude_q));
        assert (written_q + 7'(prelude_q && cycles_q != '0) == cycles_q && written_q < beats_q);
        assert (popped_q == (cycles_q < in_q ? cycles_q : in_q) && pop == (cycles_q < in_q));
        if (pop) assert (second == (popped_q != '0));
        assert (!ends || popped_q + 7'(pop) == in_q);
      end
      if (!run) assert (!pop && !beat && !ends);
      if (beat) begin
        assert (ends == (written_q == beats_q - 7'd1));
        assert (burst_end == (ends || written_q == first_q - 7'd1));
        assert (from == (written_q == '0 ? from_q : 6'd0) && upto == (ends ? upto_q : 7'd64));
      end
      // what induction has to know
      if (run) begin
        assert (beats_q != '0 && beats_q <= 7'd65 && in_q <= beats_q + 7'(prelude_q));
        assert (first_q != '0 && first_q <= beats_q && beats_q - first_q <= 7'd64 && first_q <= 7'd64);
        assert (u_dut.last_q == (written_q == beats_q - 7'd1));
        assert (u_dut.left_q == beats_q - written_q && u_dut.in_q == in_q - popped_q);
        assert (u_dut.burst_q == first_q - written_q && u_dut.upto_q == upto_q);
        assert (u_dut.from_q == (written_q == '0 ? from_q : 6'd0));
        assert (u_dut.prelude_q == (prelude_q && cycles_q == '0));
        assert (cycles_q <= 7'd66);
      end
      cover (ends && burst_end && prelude_q && written_q > 7'd1 && first_q == 7'd1);
    end
  end
endmodule
