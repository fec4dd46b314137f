// SPDX-License-Identifier: Apache-2.0
// Whatever software rings, the check finds and the blocks say: only what is armed and started runs, a run is done when its
// DTPs are and the blocks have been idle, Abort is obeyed at once and ends when they are; each ring is carried out once at
// most; the first error stays until the next check.
module run_control_formal
  import card_registers_pkg::*;
(
    input logic                        clk_i,
    input logic                        rst_ni,
    input logic                 [31:0] arm_i,
    input logic                 [31:0] start_i,
    input logic                 [31:0] abort_i,
    input logic                        reading_i,
    input sender_pkg::verdict_t        verdict_i,
    input logic                        pushed_i,
    input logic                 [15:0] enabled_i,
    input logic                 [15:0] dtps_done_i,
    input logic                        idle_i,
    input sender_pkg::error_t          error_i
);
  localparam int unsigned Quiet = 8;  // idle cycles that are believed

  logic table_taken, check, interrupt;
  sender_pkg::run_status_t status;
  run_control dut (
      .clk_i,
      .rst_ni,
      .arm_i,
      .start_i,
      .abort_i,
      .reading_i,
      .table_taken_o(table_taken),
      .check_o(check),
      .verdict_i,
      .pushed_i,
      .enabled_i,
      .dtps_done_i,
      .idle_i,
      .error_i,
      .status_o(status),
      .interrupt_o(interrupt)
  );

  logic running_q = 1'b0;
  always_ff @(posedge clk_i) running_q <= 1'b1;
  always_comb begin
    if (!running_q) assume (!rst_ni);
    // what blocks and check say, if they say it
    if (error_i.valid) assume (error_i.code != ErrorCodeNone);
  end

  function automatic logic rests(state_e state);
    return state inside {StateIdle, StateArmed, StateDone, StateFailed};
  endfunction
  function automatic logic leads(state_e from, state_e to);
    unique case (from)
      StateChecking: return to inside {StateArmed, StateFailed};
      StateRunning: return to inside {StateAborting, StateDone};
      StateAborting: return to inside {StateIdle, StateFailed};
      default:
      return to inside {StateChecking, StateAborting, StateFailed} || (from == StateArmed && to == StateRunning);
    endcase
  endfunction

  // The first cycle back, the second, the third
  logic [2:0] good_q, asked_q, done_q, failing_q;
  state_e state_q, state2_q;
  sender_pkg::run_status_t status_q;
  logic [1:0][31:0] arm_q, start_q, abort_q;
  logic reading_q, verdict_good_q, check_q;
  logic [3:0] idle_q, done_for_q;  // cycles for which the blocks have been idle in this state, the DTPs done
  logic [2:0][3:0] idles_q;
  logic why_q;  // what aborts is an error
  logic changed;
  assign changed = good_q[0] && status.state != state_q;
  always_ff @(posedge clk_i) begin
    good_q         <= rst_ni ? {good_q[1:0], 1'b1} : '0;
    asked_q        <= {asked_q[1:0], abort_i != status.abort_done};
    done_q         <= {done_q[1:0], (enabled_i & ~dtps_done_i) == '0 && !pushed_i};
    failing_q      <= {failing_q[1:0], error_i.valid};
    state_q        <= status.state;
    state2_q       <= state_q;
    status_q       <= status;
    arm_q          <= {arm_q[0], arm_i};
    start_q        <= {start_q[0], start_i};
    abort_q        <= {abort_q[0], abort_i};
    reading_q      <= reading_i;
    verdict_good_q <= verdict_i.valid && verdict_i.code == ErrorCodeNone;
    check_q        <= check;
    idles_q        <= {idles_q[1:0], idle_q};
    if (!rst_ni || !idle_i || changed) idle_q <= '0;
    else if (idle_q != 4'd15) idle_q <= idle_q + 4'd1;
    if (!rst_ni || pushed_i || (enabled_i & ~dtps_done_i) != '0 || changed) done_for_q <= '0;
    else if (done_for_q != 4'd15) done_for_q <= done_for_q + 4'd1;
    why_q <= state_q == StateRunning && status.state == StateAborting ? failing_q[0] :
        why_q && status.state == StateAborting;
  end
  logic why;
  assign why = changed ? state_q == StateRunning && failing_q[0] : why_q;

  card_registers_pkg::error_code_e code;
  assign code = error_code_e'(status.error[3:0]);
  always_ff @(posedge clk_i) begin
    if (running_q && rst_ni && good_q[0]) begin
      assert (status.state <= StateFailed);
      if (changed) begin
        assert (leads(state_q, status.state));
        if (status.state == StateChecking) assert (!reading_q && good_q[1] && arm_q[1] != status_q.arm_done);
        if (status.state == StateArmed) assert (verdict_good_q);
        if (status.state == StateRunning) assert (status.start_done != status_q.start_done);
        if (status.state == StateDone) assert (good_q[2] && done_q[2] && idles_q[1] >= 4'(Quiet));
        if (state_q == StateAborting) begin
          assert (good_q[1] && idles_q[0] >= 4'(Quiet));
          assert ((status.state == StateFailed) == why_q);
        end
      end
      // An Abort that is rung, and an error, end a run at once; nothing else aborts it. It ends when all is done.
      if (state_q == StateRunning && good_q[1]) begin
        assert ((status.state == StateAborting) == (asked_q[1] || failing_q[0]));
      end
      assert (changed || !(status.state == StateAborting && idle_q > 4'(Quiet)));
      assert (changed || !(status.state == StateRunning && idle_q > 4'(Quiet + 2) && done_for_q > 4'(Quiet + 2)));
      // A count of done is one that was rung.
      if (status.arm_done != status_q.arm_done) assert (good_q[1] && status.arm_done == arm_q[1]);
      if (status.start_done != status_q.start_done) assert (good_q[1] && status.start_done == start_q[1]);
      if (status.abort_done != status_q.abort_done) assert (good_q[1] && status.abort_done == abort_q[1]);
      // The first error stays until the next check; what has failed says why.
      if (status_q.error[3:0] != ErrorCodeNone && !check_q) begin
        assert (status.error == status_q.error && status.error_line == status_q.error_line);
      end
      if (status.state == StateFailed && state_q == StateFailed) assert (code != ErrorCodeNone);
      assert (check == (changed && status.state == StateChecking));
      assert (interrupt == (good_q[1] && state_q != state2_q && rests(state_q)));
      // what induction has to know
      assert (dut.state_q == status.state && dut.before_q == state_q);
      assert (dut.all_quiet_q == (idle_q >= 4'(Quiet)) && dut.quiet_q == (idle_q > 4'd7 ? 3'd7 : idle_q[2:0]));
      if (status.state == StateAborting) begin
        assert (dut.failing_q == why && (!why || dut.news_q.valid || dut.error_q.valid));
      end
      if (status.state == StateFailed) assert (dut.news_q.valid || dut.error_q.valid);
      if (dut.news_q.valid) assert (dut.news_q.code != ErrorCodeNone);
      assert (dut.error_q.valid == (code != ErrorCodeNone));
      assert (dut.arm_q == arm_q[0] && dut.start_q == start_q[0] && dut.abort_q == abort_q[0]);
      assert (!dut.arm_new_q || arm_q[0] != status.arm_done);
      assert (!dut.start_new_q || start_q[0] != status.start_done);
      assert (!dut.abort_new_q || abort_q[0] != status.abort_done);
      if (dut.ends_q) assert (good_q[2] && state_q == StateRunning && done_q[1] && idles_q[0] >= 4'(Quiet));
      if (good_q[1]) assert (dut.all_done_q == done_q[0]);
    end
    cover (running_q && good_q[1] && changed && status.state == StateDone);
    cover (running_q && good_q[1] && changed && status.state == StateIdle);
    cover (running_q && good_q[1] && changed && state_q == StateAborting && status.state == StateFailed);
    cover (running_q && good_q[1] && status.state == StateFailed && code == ErrorCodeNotArmed);
  end
endmodule
