// SPDX-License-Identifier: Apache-2.0
// Frames that wait for the check of credits: receivers write the credits of all DTPs one behind the other, and each takes
// some eighty cycles. A frame of two beats is kept whole, if a credit can have its length; of all others that which says
// what they are. They go on a word of two bytes a cycle. A frame for which there is no room is missed, and said.
module credit_queue
  import rashpa_pkg::*;
#(
    parameter int unsigned Frames = 16  // a power of two
) (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic         clear_i,        // what has come is forgotten
    input  logic         s_axis_tvalid,  // taken every cycle
    input  beat_t        s_axis_tdata,
    input  logic  [63:0] s_axis_tkeep,
    input  logic         s_axis_tlast,
    output logic         valid_o,        // in each cycle from a frame's first word to its last
    output logic  [15:0] word_o,         // byte 2n in bits 7 … 0
    output logic         last_o,
    input  logic         next_i,         // one cycle, behind the last word: the next frame may come
    output logic         missed_o        // one cycle
);
  localparam int unsigned Bits = $clog2(Frames);
  localparam logic [5:0] FirstBeat = 6'd31;  // its last word
  if (Frames < 2 || (1 << Bits) != Frames) begin : g_frames
    $fatal(1, "credit_queue: %0d frames are no power of two", Frames);
  end

  // Frames that come
  beat_t beats[2*Frames];
  logic [5:0] lasts[Frames];  // number of the last word that goes on, less one
  logic [1:0] number_q;  // of the beat in its frame; 2: a later one
  logic keeps_q, keeps, ends, unused;
  logic [Bits:0] level_q;
  logic [Bits-1:0] write_q, read_q;
  logic [5:0] last_word;

  assign unused = ^s_axis_tkeep;
  assign keeps  = number_q == 2'd0 ? !level_q[Bits] : keeps_q;
  assign ends   = s_axis_tvalid && s_axis_tlast && keeps;

  // A credit has 82 or 90 bytes, with IPv6 102 or 110.
  function automatic logic ends_at(logic [63:0] keep, int unsigned bytes);
    return keep[bytes-BeatBytes-1] && !keep[bytes-BeatBytes];
  endfunction
  always_comb begin
    last_word = FirstBeat;
    if (number_q == 2'd0) last_word = '0;
    else if (number_q == 2'd1) begin
      if (ends_at(s_axis_tkeep, 82)) last_word = 6'd40;
      if (ends_at(s_axis_tkeep, 90)) last_word = 6'd44;
      if (ends_at(s_axis_tkeep, 102)) last_word = 6'd50;
      if (ends_at(s_axis_tkeep, 110)) last_word = 6'd54;
    end
  end

  always_ff @(posedge clk_i) begin
    if (s_axis_tvalid && keeps && !number_q[1]) beats[{write_q, number_q[0]}] <= s_axis_tdata;
    if (ends) lasts[write_q] <= last_word - 6'd1;
    if (!rst_ni) number_q <= '0;
    else if (s_axis_tvalid) number_q <= s_axis_tlast ? 2'd0 : number_q[1] ? number_q : number_q + 2'd1;
    missed_o <= rst_ni && s_axis_tvalid && s_axis_tlast && !keeps;
    if (!rst_ni || clear_i) keeps_q <= 1'b0;
    else if (s_axis_tvalid) keeps_q <= keeps;
  end

  // Words that go
  typedef enum logic [1:0] {
    Empty,
    Words,
    Taken   // the last word is on its way or being looked at
  } state_e;
  state_e state_q;
  logic [5:0] at_q, before_q;
  logic at_last_q, pop;
  beat_t beat;
  logic [7:0][15:0] fours_q;  // one of each four words
  logic [2:0] four_q;
  logic valid_q, end_q;

  assign beat = beats[{read_q, at_q[5]}];
  assign pop  = state_q == Words && at_last_q;

  always_ff @(posedge clk_i) begin
    for (int f = 0; f < 8; f++) fours_q[f] <= beat[16*(4*f+int'(at_q[1:0]))+:16];
    four_q <= at_q[4:2];
    end_q  <= at_last_q;
    word_o <= fours_q[four_q];
    last_o <= end_q;
    if (state_q != Words) begin
      at_q      <= '0;
      before_q  <= lasts[read_q];
      at_last_q <= lasts[read_q] == '1;
    end else begin
      at_q      <= at_q + 6'd1;
      at_last_q <= at_q == before_q;
    end
    if (!rst_ni || clear_i) begin
      state_q <= Empty;
      valid_q <= 1'b0;
      valid_o <= 1'b0;
      level_q <= '0;
      write_q <= '0;
      read_q  <= '0;
    end else begin
      valid_q <= state_q == Words;
      valid_o <= valid_q;
      level_q <= level_q + (Bits + 1)'(ends) - (Bits + 1)'(pop);
      write_q <= write_q + Bits'(ends);
      read_q  <= read_q + Bits'(pop);
      unique case (state_q)
        Words:   if (at_last_q) state_q <= Taken;
        Taken:   if (next_i) state_q <= Empty;
        default: if (level_q != '0) state_q <= Words;
      endcase
    end
  end
endmodule
