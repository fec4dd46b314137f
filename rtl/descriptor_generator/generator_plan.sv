// SPDX-License-Identifier: Apache-2.0
// The words of the table that descriptors are made of, of one DTP at a time.
module generator_plan
  import rashpa_pkg::*;
  import card_registers_pkg::*;
  import generator_pkg::*;
(
    input  logic         clk_i,
    input  table_write_t table_i,
    input  dtp_t         dtp_i,
    output plan_t        plan_o
);
  localparam int unsigned Count = $bits(plan_t) / 32;
  // From the last member of plan_t to its first; low words come first.
  localparam logic [6:0] Words[Count] = '{
      DtpTableDtpWord,
      DtpTableFramesBetweenWord,
      DtpTableFirstFrameWord,
      DtpTableImagesWord,
      DtpTableImagesWord + 7'd1,
      DtpTableRecordsWord,
      DtpTableRecordsWord + 7'd1,
      DtpTableSlotBytesWord,
      DtpTableSlotBytesWord + 7'd1,
      DtpTableDestinationWord,
      DtpTableDestinationWord + 7'd1,
      DtpTableSlotsWord,
      DtpTableFactorLastWord,
      DtpTableFactorRestWord,
      DtpTableFactorPieceWord,
      DtpTableLastBytesWord,
      DtpTableRestBytesWord,
      DtpTablePieceBytesWord,
      DtpTableOuterDestinationStepWord,
      DtpTableOuterSourceStepWord,
      DtpTableInnerCountWord,
      DtpTableOuterCountWord,
      DtpTableFrameOffsetWord,
      DtpTableFrameOffsetWord + 7'd1,
      DtpTableFrameRingWord,
      DtpTableFrameRingWord + 7'd1,
      DtpTableFrameStepWord,
      DtpTableFrameStepWord + 7'd1,
      DtpTableRecordSourceWord,
      DtpTableRecordSourceWord + 7'd1,
      DtpTableSourceWord,
      DtpTableSourceWord + 7'd1
  };
  logic [Count-1:0][31:0] words;
  for (genvar w = 0; w < int'(Count); w++) begin : g_word
    table_word #(
        .Word(Words[w])
    ) u_word (
        .clk_i,
        .write_i(table_i),
        .dtp_i,
        .data_o (words[w])
    );
  end
  assign plan_o = words;
endmodule
