// SPDX-License-Identifier: Apache-2.0
// At Arm: walks the table of DTPs and refuses the first word that would make the blocks do nonsense.
module table_check
  import rashpa_pkg::*;
  import card_registers_pkg::*;
(
    input  logic                   clk_i,
    input  logic                   rst_ni,
    input  logic                   start_i,      // one cycle
    input  logic                   pushed_i,     // descriptors come from software: only how packets are made matters
    input  logic        [Dtps-1:0] enabled_i,
    output logic        [     9:0] read_word_o,  // 64 · DTP + word; its data comes in the next cycle
    input  logic        [    31:0] read_data_i,
    output logic                   busy_o,
    output logic                   done_o,       // one cycle; with it the verdict
    output error_code_e            code_o,
    output dtp_t                   dtp_o,
    output logic        [     6:0] word_o
);

  typedef struct packed {
    logic nonzero;
    logic pair;     // the second word of one value
    logic by_64;
    logic mtu;
  } rule_t;

  // What is asked of each word.
  function automatic rule_t rule_of(logic [6:0] word);
    rule_of = '0;
    case (word)
      DtpTableMtuWord: rule_of.mtu = 1'b1;
      DtpTableRecordSourceWord, DtpTableFrameStepWord, DtpTableFrameRingWord, DtpTableFrameOffsetWord:
      rule_of.by_64 = 1'b1;
      DtpTableOuterCountWord, DtpTableInnerCountWord, DtpTableSlotsWord, DtpTableLinesWord, DtpTableLinesPerRunWord,
      DtpTableFramesBetweenWord, DtpTablePieceBytesWord, DtpTableRestBytesWord, DtpTableLastBytesWord:
      rule_of.nonzero = 1'b1;
      DtpTableFrameRingWord + 7'd1, DtpTableImagesWord + 7'd1, DtpTablePayloadBytesWord + 7'd1: begin
        rule_of.nonzero = 1'b1;
        rule_of.pair    = 1'b1;
      end
      default: ;
    endcase
  endfunction

  logic asking_q, answered_q, judged_q, last_q;
  logic [9:0] ask_q, answer_q, judge_q;
  rule_t rule_q;
  logic zero_q, before_zero_q, not_64_q, not_mtu_q, concerns_q;
  error_code_e found;

  assign read_word_o = ask_q;
  assign busy_o      = asking_q || answered_q || judged_q;

  always_comb begin
    found = ErrorCodeNone;
    if (concerns_q) begin
      if (rule_q.nonzero && zero_q && (!rule_q.pair || before_zero_q)) found = ErrorCodeWordZero;
      else if (rule_q.by_64 && not_64_q) found = ErrorCodeWordUnaligned;
      else if (rule_q.mtu && not_mtu_q) found = ErrorCodeMtu;
    end
  end

  always_ff @(posedge clk_i) begin
    answer_q      <= ask_q;
    judge_q       <= answer_q;
    rule_q        <= rule_of({1'b0, answer_q[5:0]});
    concerns_q    <= enabled_i[answer_q[9:6]] && (!pushed_i || answer_q[5:0] == DtpTableMtuWord[5:0]);
    zero_q        <= read_data_i == '0;
    before_zero_q <= zero_q;
    not_64_q      <= read_data_i[5:0] != '0;
    not_mtu_q     <= !(read_data_i[12:0] inside {13'd256, 13'd512, 13'd1024, 13'd2048, 13'd4096});
    if (start_i) ask_q <= '0;
    else if (asking_q) ask_q <= ask_q + 10'd1;
    code_o <= enabled_i == '0 ? ErrorCodeNoDtp : found;
    dtp_o  <= judge_q[9:6];
    word_o <= {1'b0, judge_q[5:0]};
    if (!rst_ni) begin
      asking_q   <= 1'b0;
      answered_q <= 1'b0;
      judged_q   <= 1'b0;
      last_q     <= 1'b0;
      done_o     <= 1'b0;
    end else begin
      asking_q   <= start_i || (asking_q && ask_q != '1 && !done_o);
      answered_q <= asking_q && !done_o;
      judged_q   <= answered_q && !done_o;
      last_q     <= answered_q && answer_q == '1;
      done_o     <= judged_q && !done_o && (last_q || found != ErrorCodeNone || enabled_i == '0);
      if (done_o) begin
        asking_q   <= start_i;
        answered_q <= 1'b0;
        judged_q   <= 1'b0;
      end
    end
  end

endmodule
