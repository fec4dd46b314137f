// SPDX-License-Identifier: Apache-2.0
// Counts the beats of what is being written: when the payload FIFO is popped, which lanes are bytes of it, where a burst
// ends. A beat a cycle; nothing holds it up.
module write_beats (
    input  logic       clk_i,
    input  logic       rst_ni,
    input  logic       begins_i,     // in the next cycle; only when nothing is in hand, or with its last beat
    input  logic [6:0] beats_in_i,   // from the payload FIFO
    input  logic [6:0] beats_i,      // to the host, 1 … 65
    input  logic       single_i,     // there is only one
    input  logic [6:0] first_i,      // of them in the first burst
    input  logic       prelude_i,    // two from the payload FIFO before the first
    input  logic [5:0] from_i,       // first lane of the first beat
    input  logic [6:0] upto_i,       // behind the last lane of the last beat
    output logic       run_o,        // something is in hand
    output logic       ends_o,       // this is its last beat
    output logic       pop_o,        // a beat is taken from the payload FIFO …
    output logic       second_o,     // … it is not the first one
    output logic       beat_o,       // a beat goes to the host
    output logic       burst_end_o,  // it is the last of a burst
    output logic [5:0] from_o,
    output logic [6:0] upto_o
);
  logic prelude_q, last_q;
  logic [6:0] in_q, left_q, burst_q, upto_q;
  logic [5:0] from_q;

  assign beat_o = run_o && !prelude_q;
  assign ends_o = beat_o && last_q;
  assign burst_end_o = ends_o || burst_q == 7'd1;
  assign pop_o = run_o && in_q != '0;
  assign from_o = from_q;
  assign upto_o = last_q ? upto_q : 7'd64;

  always_ff @(posedge clk_i) begin
    if (begins_i) begin
      in_q <= beats_in_i;
      left_q <= beats_i;
      last_q <= single_i;
      burst_q <= first_i;
      upto_q <= upto_i;
      from_q <= from_i;
      second_o <= 1'b0;
    end else begin
      if (pop_o) begin
        in_q <= in_q - 7'd1;
        second_o <= 1'b1;
      end
      if (beat_o) begin
        left_q  <= left_q - 7'd1;
        last_q  <= left_q == 7'd2;
        burst_q <= burst_q - 7'd1;  // wraps behind the first burst: the second ends with the last beat
        from_q  <= '0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      run_o     <= 1'b0;
      prelude_q <= 1'b0;
    end else if (begins_i) begin
      run_o     <= 1'b1;
      prelude_q <= prelude_i;
    end else begin
      if (ends_o) run_o <= 1'b0;
      prelude_q <= 1'b0;
    end
  end
endmodule
