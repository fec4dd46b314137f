// SPDX-License-Identifier: Apache-2.0
// Whatever comes from the MAC: every frame either goes on or is missed and said; what goes on comes out as it came in,
// behind those before it, all of its words in consecutive cycles, and no word before the one before it was dealt with.
// One word of one frame is looked at, both any.
module credit_queue_formal
  import rashpa_pkg::*;
(
    input logic         clk_i,
    input logic         clear_i,
    input logic         tvalid_i,
    input beat_t        tdata_i,
    input logic  [63:0] tkeep_i,
    input logic         tlast_i,
    input logic         next_i,
    input logic         look_i     // at the frame that begins now
);
  localparam int unsigned Frames = 2;
  localparam logic [1:0] Words = 2'd1, Taken = 2'd2;  // states

  logic rst_n = 1'b0;
  logic valid, last, missed;
  logic [15:0] word;
  logic [ 5:0] number_q;  // of the word that is looked at: any
  credit_queue #(
      .Frames(Frames)
  ) u_dut (
      .clk_i,
      .rst_ni(rst_n),
      .clear_i,
      .s_axis_tvalid(tvalid_i),
      .s_axis_tdata(tdata_i),
      .s_axis_tkeep(tkeep_i),
      .s_axis_tlast(tlast_i),
      .valid_o(valid),
      .word_o(word),
      .last_o(last),
      .next_i,
      .missed_o(missed)
  );
  always_ff @(posedge clk_i) begin
    rst_n    <= 1'b1;
    number_q <= number_q;
  end

  // Who takes the words says so behind the last one, once.
  logic waits_q;  // the last word is out
  always_comb assume (!next_i || waits_q);
  logic [5:0] out_q;  // number of the next word
  always_ff @(posedge clk_i) begin
    if (!rst_n || clear_i) begin
      waits_q <= 1'b0;
      out_q   <= '0;
    end else begin
      waits_q <= (waits_q && !next_i) || (valid && last);
      if (valid) out_q <= last ? '0 : out_q + 6'd1;
    end
  end

  // The frame that is looked at: how many are before it, and its word
  logic begins, looks_q, whole_q, kept_q;
  logic [ 1:0] ahead_q;  // frames that have to go before it
  logic [15:0] word_q;
  assign begins = u_dut.number_q == 2'd0;
  logic goes;  // a frame's last word is on its way
  assign goes = u_dut.pop;
  always_ff @(posedge clk_i) begin
    if (!rst_n || clear_i) looks_q <= 1'b0;
    else if (!looks_q && tvalid_i && begins && look_i && u_dut.keeps) begin
      looks_q <= 1'b1;
      whole_q <= tlast_i;
      ahead_q <= u_dut.level_q - 2'(goes);
      kept_q  <= !number_q[5];
      word_q  <= tdata_i[16*number_q[4:0]+:16];
    end else if (looks_q) begin
      if (goes) begin
        if (ahead_q == '0) looks_q <= 1'b0;
        else ahead_q <= ahead_q - 2'd1;
      end
      if (!whole_q && tvalid_i) begin
        whole_q <= tlast_i;
        if (u_dut.number_q == 2'd1 && number_q[5]) begin
          kept_q <= 1'b1;
          word_q <= tdata_i[16*number_q[4:0]+:16];
        end
      end
    end
  end

  // A frame that had begun before the queue was emptied does not go on.
  logic stale_q;
  always_ff @(posedge clk_i) begin
    if (!rst_n) stale_q <= 1'b0;
    else if (tvalid_i && tlast_i) stale_q <= 1'b0;
    else if (clear_i) stale_q <= stale_q || tvalid_i || !begins;
  end

  // Its place
  logic place, said_q;
  assign place = u_dut.read_q + ahead_q[0];
  logic now1, now_q, now2_q;  // its word is in the first register, the second one
  assign now1 = looks_q && whole_q && ahead_q == '0 && u_dut.state_q == Words && u_dut.at_q == number_q;
  always_ff @(posedge clk_i) begin
    now_q  <= now1 && rst_n && !clear_i;
    now2_q <= now_q && rst_n && !clear_i;
    said_q <= rst_n && tvalid_i && tlast_i && !u_dut.keeps;
  end
  logic [15:0] wanted_q, wanted2_q;
  always_ff @(posedge clk_i) begin
    wanted_q  <= word_q;
    wanted2_q <= wanted_q;
  end

  // Lengths that there are: the last word less one
  function automatic logic length(logic [5:0] last_less_one);
    return last_less_one inside {6'h3F, 6'd30, 6'd39, 6'd43, 6'd49, 6'd53};
  endfunction
  logic [5:0] ends_at;
  assign ends_at = u_dut.before_q + 6'd1;

  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      assert (u_dut.level_q <= 2'(Frames));
      assert (u_dut.write_q == 1'(u_dut.read_q + u_dut.level_q[0]));
      assert (missed == said_q);
      // nothing is out but the words of one frame
      if (waits_q) assert (!valid && !u_dut.valid_q && u_dut.state_q == Taken && out_q == '0);
      if (now2_q) assert (valid && word == wanted2_q && out_q == number_q);
      if (valid && !last) assert (u_dut.valid_q);
      if (stale_q) assert (!begins && !u_dut.ends);
      // what k-induction has to know
      if (stale_q) assert (!u_dut.keeps_q);
      if (looks_q) begin
        assert (3'(ahead_q) + 3'(whole_q) <= 3'(u_dut.level_q));
        if (!whole_q) assert (!begins && u_dut.keeps_q && ahead_q == u_dut.level_q);
        if (kept_q) assert (u_dut.beats[{place, number_q[5]}][16*number_q[4:0]+:16] == word_q);
        if (whole_q && !kept_q) assert (u_dut.lasts[place] inside {6'h3F, 6'd30});
        if (!number_q[5] || (!whole_q && u_dut.number_q[1])) assert (kept_q);
      end
      if (u_dut.state_q == Words) begin
        assert (u_dut.level_q != '0 && !waits_q && length(
            u_dut.before_q
        ) && u_dut.before_q == u_dut.lasts[u_dut.read_q]);
        assert (u_dut.at_last_q == (u_dut.at_q == ends_at) && u_dut.at_q <= ends_at);
        assert (u_dut.valid_q == (u_dut.at_q != '0) && valid == (u_dut.at_q > 6'd1));
        assert (out_q == (valid ? u_dut.at_q - 6'd2 : '0) && !(u_dut.valid_q && u_dut.end_q) && !(valid && last));
      end else begin
        if (u_dut.valid_q) assert (u_dut.state_q == Taken && u_dut.end_q && u_dut.at_q == ends_at + 6'd1);
        if (u_dut.valid_q) assert (valid == (u_dut.at_q > 6'd1) && out_q == (valid ? u_dut.at_q - 6'd2 : '0));
        if (u_dut.valid_q) assert (!waits_q && !(valid && last));
        if (valid && !u_dut.valid_q) assert (u_dut.state_q == Taken && last && !waits_q);
        if (u_dut.state_q == Taken)
          assert (u_dut.valid_q || valid || waits_q);
          else assert (!u_dut.valid_q && !valid && out_q == '0);
      end
      if (u_dut.level_q != '0) assert (length(u_dut.lasts[u_dut.read_q]));
      if (u_dut.level_q[1]) assert (length(u_dut.lasts[!u_dut.read_q]));
      assert (u_dut.number_q != 2'd3);
      if (!begins && u_dut.keeps_q) assert (u_dut.level_q < 2'(Frames));
    end
    cover (rst_n && stale_q && tvalid_i && tlast_i);
    cover (rst_n && looks_q && now2_q && number_q == 6'd54);
  end
endmodule
