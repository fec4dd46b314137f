// SPDX-License-Identifier: Apache-2.0
// What receivers write back: RDMA WRITE of 8 or 16 bytes, Unreliable Connected, to the credit words of a DTP: images
// granted, and bytes received, which the card does not need. Frames wait in a queue and are checked one at a time. The
// count never falls; nothing that came before Arm counts behind it.
module credit_receiver
  import rashpa_pkg::*;
(
    input  logic                clk_i,
    input  logic                rst_ni,
    input  logic                arm_i,          // nothing is granted
    input  table_write_t        table_i,
    input  logic                s_axis_tvalid,  // taken every cycle
    input  beat_t               s_axis_tdata,
    input  logic         [63:0] s_axis_tkeep,
    input  logic                s_axis_tlast,
    input  dtp_t                dtp_i,
    output logic         [31:0] granted_o,      // images of dtp_i, modulo 2^32; in the same cycle
    // one cycle each
    output logic                credit_o,
    output logic                cnp_o,
    output logic                ignored_o,      // no credit of ours
    output logic                icrc_bad_o,
    output logic                missed_o        // came while the queue was full
);
  logic valid, last, next;
  logic [15:0] word;
  logic ended, known, cnp, sum_good, searched, found;
  logic [23:0] qpn;
  logic [63:0] address;
  logic [31:0] key, images;
  dtp_t dtp;

  credit_queue u_queue (
      .clk_i,
      .rst_ni,
      .clear_i(arm_i),
      .s_axis_tvalid,
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .valid_o(valid),
      .word_o (word),
      .last_o (last),
      .next_i (next),
      .missed_o
  );
  credit_fields u_fields (
      .clk_i,
      .rst_ni,
      .clear_i(arm_i),
      .valid_i(valid),
      .word_i(word),
      .last_i(last),
      .ended_o(ended),
      .known_o(known),
      .cnp_o(cnp),
      .qpn_o(qpn),
      .address_o(address),
      .key_o(key),
      .images_o(images),
      .sum_good_o(sum_good)
  );
  credit_search u_search (
      .clk_i,
      .rst_ni,
      .clear_i  (arm_i),
      .table_i,
      .start_i  (ended && known),
      .qpn_i    (qpn),
      .address_i(address),
      .key_i    (key),
      .done_o   (searched),
      .found_o  (found),
      .dtp_o    (dtp)
  );

  // Counts, valid once something has come since Arm
  logic [31:0] counts[Dtps];
  logic [Dtps-1:0] counted_q;
  dtp_t dtp_q;
  logic [31:0] known_q, ahead_q;
  logic looked_q, compared_q, judging_q, judged_q, found_q, counts_now, forward_q;

  assign granted_o  = counted_q[dtp_i] ? counts[dtp_i] : '0;
  assign counts_now = judged_q && sum_good && found_q && forward_q;

  always_ff @(posedge clk_i) begin
    if (searched) begin
      found_q <= found;
      dtp_q   <= dtp;
    end
    known_q   <= counted_q[dtp_q] ? counts[dtp_q] : '0;
    ahead_q   <= images - known_q;
    forward_q <= ahead_q != '0 && !ahead_q[31];
    if (counts_now && !arm_i) counts[dtp_q] <= images;
    if (!rst_ni || arm_i) begin
      counted_q  <= '0;
      looked_q   <= 1'b0;
      compared_q <= 1'b0;
      judging_q  <= 1'b0;
      judged_q   <= 1'b0;
      credit_o   <= 1'b0;
      cnp_o      <= 1'b0;
      ignored_o  <= 1'b0;
      icrc_bad_o <= 1'b0;
      next       <= 1'b0;
    end else begin
      looked_q   <= searched;
      compared_q <= looked_q;
      judging_q  <= compared_q;
      judged_q   <= judging_q;
      credit_o   <= counts_now;
      cnp_o      <= ended && cnp;
      ignored_o  <= (ended && !known && !cnp) || (judged_q && sum_good && !found_q);
      icrc_bad_o <= judged_q && !sum_good;
      next       <= (ended && !known) || judged_q;
      if (counts_now) counted_q[dtp_q] <= 1'b1;
    end
  end
endmodule
