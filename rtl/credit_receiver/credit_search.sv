// SPDX-License-Identifier: Apache-2.0
// Whose credit words a write goes to: one DTP of the table after the other, in parts of twelve bits.
module credit_search
  import rashpa_pkg::*;
  import card_registers_pkg::*;
(
    input  logic                clk_i,
    input  logic                rst_ni,
    input  logic                clear_i,
    input  table_write_t        table_i,
    input  logic                start_i,    // one cycle; the rest stays
    input  logic         [23:0] qpn_i,
    input  logic         [63:0] address_i,
    input  logic         [31:0] key_i,
    output logic                done_o,     // one cycle, 4 to 19 behind start_i
    output logic                found_o,
    output dtp_t                dtp_o
);
  logic asks_q, answers_q, judged_q, nonzero_q, hit_q, unused;
  dtp_t dtp_q, answer_q, judged_dtp_q;
  logic [9:0] same_q;
  logic [31:0] qpn, low, high, key;

  table_word #(
      .Word(DtpTableCreditQpnWord)
  ) u_qpn (
      .clk_i,
      .write_i(table_i),
      .dtp_i  (dtp_q),
      .data_o (qpn)
  );
  table_word #(
      .Word(DtpTableCreditAddressWord)
  ) u_low (
      .clk_i,
      .write_i(table_i),
      .dtp_i  (dtp_q),
      .data_o (low)
  );
  table_word #(
      .Word(DtpTableCreditAddressWord + 7'd1)
  ) u_high (
      .clk_i,
      .write_i(table_i),
      .dtp_i  (dtp_q),
      .data_o (high)
  );
  table_word #(
      .Word(DtpTableCreditKeyWord)
  ) u_key (
      .clk_i,
      .write_i(table_i),
      .dtp_i  (dtp_q),
      .data_o (key)
  );

  logic done;
  assign done = judged_q && (hit_q || judged_dtp_q == 4'd15);

  logic [9:0][11:0] row, wanted;
  assign row    = {qpn[23:0], key, high, low};
  assign wanted = {qpn_i, key_i, address_i};
  assign unused = ^qpn[31:24];

  always_ff @(posedge clk_i) begin
    for (int p = 0; p < 10; p++) same_q[p] <= row[p] == wanted[p];
    nonzero_q    <= qpn_i != '0;  // queue pair 0: no credits
    answer_q     <= dtp_q;
    hit_q        <= same_q == '1 && nonzero_q;
    judged_dtp_q <= answer_q;
    found_o      <= hit_q;
    dtp_o        <= judged_dtp_q;
    dtp_q        <= asks_q ? dtp_q + 4'd1 : '0;
    if (!rst_ni || clear_i || done) begin
      asks_q    <= 1'b0;
      answers_q <= 1'b0;
      judged_q  <= 1'b0;
    end else begin
      asks_q    <= start_i || (asks_q && dtp_q != 4'd15);
      answers_q <= asks_q;
      judged_q  <= answers_q;
    end
    done_o <= rst_ni && !clear_i && done;
  end
endmodule
