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
  localparam int unsigned Words[Count] = '{
      WordDtp, WordFramesBetween, WordFirstFrame, WordImages, WordImages + 1, WordRecords, WordRecords + 1,
      WordSlotBytes, WordSlotBytes + 1, WordDestination, WordDestination + 1, WordSlots,
      WordFactorLast, WordFactorRest, WordFactorPiece, WordLastBytes, WordRestBytes, WordPieceBytes,
      WordOuterDestinationStep, WordOuterSourceStep, WordInnerCount, WordOuterCount,
      WordFrameOffset, WordFrameOffset + 1, WordFrameRing, WordFrameRing + 1, WordFrameStep, WordFrameStep + 1,
      WordRecordSource, WordRecordSource + 1, WordSource, WordSource + 1};
  logic [Count-1:0][31:0] words;
  for (genvar w = 0; w < int'(Count); w++) begin : g_word
    table_word #(.Word(Words[w])) u_word (.clk_i, .write_i(table_i), .dtp_i, .data_o(words[w]));
  end
  assign plan_o = words;
endmodule
