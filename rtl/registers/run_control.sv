// SPDX-License-Identifier: Apache-2.0
// What the card does, by the counts that software rings: Arm, Start, Abort. A command is carried out when its doorbell
// differs from its count of done; several rings are one command.
module run_control
  import card_registers_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,

    input logic [31:0] arm_i,
    input logic [31:0] start_i,
    input logic [31:0] abort_i,

    // The check of the table.
    input  logic                 reading_i,      // its memory is being read by software
    output logic                 table_taken_o,  // it is on, or about to begin
    output logic                 check_o,        // one cycle
    input  sender_pkg::verdict_t verdict_i,

    // The blocks.
    input  logic                           pushed_i,
    input  logic                    [15:0] enabled_i,
    input  logic                    [15:0] dtps_done_i,
    input  logic                           idle_i,       // nothing is on its way in any block
    input  sender_pkg::error_t             error_i,
    output sender_pkg::run_status_t        status_o,
    output logic                           interrupt_o   // one cycle, when a command or a run has ended
);

  localparam int unsigned QuietCycles = 8;  // that all blocks say idle, before it is believed

  state_e state_d, state_q, before_q;
  logic [31:0] arm_q, start_q, abort_q, arm_done_q, start_done_q, abort_done_q;
  logic arm_new_q, start_new_q, abort_new_q;
  logic arm_taken, start_taken, abort_taken, quiet, all_quiet_q, entered, all_done_q, ends_q, failing_q;
  logic [2:0] quiet_q;
  sender_pkg::error_t error_q, news, news_q;
  logic [6:0] word_q, news_word, news_word_q;

  assign quiet = all_quiet_q && !entered;
  assign status_o = '{
          state: state_q,
          error: {word_q, 4'b0, error_q.dtp, 4'b0, error_q.code},
          error_line: error_q.line,
          arm_done: arm_done_q,
          start_done: start_done_q,
          abort_done: abort_done_q
      };
  assign entered = state_q != before_q;
  assign check_o = entered && state_q == StateChecking;
  assign table_taken_o = arm_new_q || state_q == StateChecking;

  always_comb begin
    state_d     = state_q;
    arm_taken   = 1'b0;
    start_taken = 1'b0;
    abort_taken = 1'b0;
    // What stands beside `valid` needs not wait for it.
    news        = error_i;
    news.valid  = 1'b0;
    if (state_q != StateRunning || !error_i.valid) begin
      news.dtp  = state_q == StateChecking ? verdict_i.dtp : '0;
      news.line = '0;
    end
    news_word = state_q == StateChecking ? verdict_i.word : '0;
    case (state_q)
      StateChecking: begin
        if (verdict_i.valid) begin
          arm_taken  = 1'b1;
          state_d    = verdict_i.code == ErrorCodeNone ? StateArmed : StateFailed;
          news.valid = verdict_i.code != ErrorCodeNone;
          news.code  = verdict_i.code;
          news.dtp   = verdict_i.dtp;
          news_word  = verdict_i.word;
        end
      end
      StateRunning: begin
        news        = error_i;
        start_taken = start_new_q;
        if (error_i.valid || abort_new_q) begin
          state_d = StateAborting;
        end else if (ends_q) begin
          state_d = StateDone;
        end else if (arm_new_q) begin
          arm_taken  = 1'b1;
          news.valid = 1'b1;
          news.code  = ErrorCodeBusy;
        end
      end
      StateAborting: begin
        if (quiet) begin
          state_d     = failing_q ? StateFailed : StateIdle;
          abort_taken = abort_new_q;
        end
      end
      default: begin
        if (abort_new_q) begin
          state_d = StateAborting;
        end else if (arm_new_q) begin
          if (!reading_i) state_d = StateChecking;
        end else if (start_new_q) begin
          start_taken = 1'b1;
          if (state_q == StateArmed) begin
            state_d = StateRunning;
          end else begin
            state_d    = StateFailed;
            news.valid = 1'b1;
            news.code  = ErrorCodeNotArmed;
          end
        end
      end
    endcase
  end

  always_ff @(posedge clk_i) begin
    arm_q       <= arm_i;
    start_q     <= start_i;
    abort_q     <= abort_i;
    all_done_q  <= (enabled_i & ~dtps_done_i) == '0 && !pushed_i;
    ends_q      <= state_q == StateRunning && all_done_q && quiet;
    news_q      <= news;
    news_word_q <= news_word;
    if (arm_taken) arm_done_q <= arm_q;
    if (start_taken) start_done_q <= start_q;
    if (abort_taken) abort_done_q <= abort_q;
    if (check_o) begin
      error_q.valid <= 1'b0;
      error_q.code  <= ErrorCodeNone;
    end else if (news_q.valid && !error_q.valid) begin
      error_q <= news_q;
      word_q  <= news_word_q;
    end
    if (!rst_ni) begin
      state_q      <= StateIdle;
      before_q     <= StateIdle;
      arm_done_q   <= '0;
      start_done_q <= '0;
      abort_done_q <= '0;
      error_q      <= '0;
      news_q.valid <= 1'b0;
      word_q       <= '0;
      arm_new_q    <= 1'b0;
      start_new_q  <= 1'b0;
      abort_new_q  <= 1'b0;
      failing_q    <= 1'b0;
      quiet_q      <= '0;
      all_quiet_q  <= 1'b0;
      interrupt_o  <= 1'b0;
    end else begin
      state_q     <= state_d;
      before_q    <= state_q;
      arm_new_q   <= arm_i != arm_done_q && !arm_taken;
      start_new_q <= start_i != start_done_q && !start_taken;
      abort_new_q <= abort_i != abort_done_q && !abort_taken;
      if (state_q == StateRunning) failing_q <= error_i.valid;
      else if (state_q != StateAborting) failing_q <= 1'b0;
      if (!idle_i || entered) begin
        quiet_q     <= '0;
        all_quiet_q <= 1'b0;
      end else begin
        if (quiet_q != 3'(QuietCycles - 1)) quiet_q <= quiet_q + 3'd1;
        else all_quiet_q <= 1'b1;
      end
      interrupt_o <= entered && !(state_q inside {StateChecking, StateRunning, StateAborting});
    end
  end

endmodule
