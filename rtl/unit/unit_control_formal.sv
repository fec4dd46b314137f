// SPDX-License-Identifier: Apache-2.0
// Whatever software posts, within the ring, and the blocks say: a stack is taken once, when it is there and known; none is
// done behind an error or in an Abort; the first error stays until the Abort is carried out, which waits until nothing is
// on its way, and leaves nothing posted.
module unit_control_formal
  import unit_pkg::*;
  import unit_registers_pkg::*;
(
    input logic        clk_i,
    input logic        rst_ni,
    input logic        post_i,               // software rings
    input logic [31:0] abort_i,
    input logic        images_good_i,
    input logic [15:0] blocks_i,
    input logic        take_i,
    input logic        done_i,
    input logic        read_error_i,
    input logic        calibration_error_i,
    input logic        write_error_i,
    input logic        quiet_i,
    input logic [ 3:0] counted_i
);
  localparam int unsigned Slots = 4;

  logic [31:0] posted_q = '0, error_stack, abort_done, done;
  logic [31:0] counters[10];
  logic [ 1:0] slot;
  logic posted, stop, clear, interrupt;
  state_e state;
  error_code_e error;
  unit_control dut (
      .clk_i,
      .rst_ni,
      .posted_i(posted_q),
      .abort_i,
      .images_good_i,
      .blocks_i,
      .slot_o(slot),
      .posted_o(posted),
      .take_i,
      .done_i,
      .read_error_i,
      .calibration_error_i,
      .write_error_i,
      .quiet_i,
      .stop_o(stop),
      .clear_o(clear),
      .state_o(state),
      .error_o(error),
      .error_stack_o(error_stack),
      .abort_done_o(abort_done),
      .done_o(done),
      .counted_i,
      .counters_o(counters),
      .interrupt_o(interrupt)
  );

  logic running_q = 1'b0;
  always_ff @(posedge clk_i) begin
    running_q <= 1'b1;
    if (!rst_ni) posted_q <= '0;
    else if (post_i) posted_q <= posted_q + 32'd1;
  end
  logic [31:0] under_way, waiting, posted_and_open;
  assign under_way = dut.taken_q - done;
  assign waiting = posted_q - dut.taken_q;
  assign posted_and_open = posted_q - done;
  always_comb begin
    if (!running_q) assume (!rst_ni);
    // Software keeps to the ring; the sequencer takes what it is offered, and stops when it is told; what is done was taken.
    if (post_i) assume (posted_and_open < 32'(Slots));
    if (take_i) assume (posted && !stop);
    if (done_i) assume (under_way != '0);
  end

  logic good_q, good2_q, stop_q, clear_q, take_q, done_i_q, failed_q;
  logic [31:0] taken_q, taken2_q, done_q, posted_before_q, abort_q, abort_done_q, error_stack_q;
  logic [3:0] quiet_q;
  error_code_e error_q;
  logic says;  // a block has found an error
  logic says_q;
  assign says = read_error_i || calibration_error_i || write_error_i;
  always_ff @(posedge clk_i) begin
    good_q          <= rst_ni;
    good2_q         <= rst_ni && good_q;
    stop_q          <= stop;
    clear_q         <= clear;
    take_q          <= take_i;
    done_i_q        <= done_i;
    failed_q        <= dut.failed_q;
    taken_q         <= dut.taken_q;
    taken2_q        <= taken_q;
    done_q          <= done;
    posted_before_q <= posted_q;
    abort_q         <= abort_i;
    abort_done_q    <= abort_done;
    error_q         <= error;
    error_stack_q   <= error_stack;
    says_q          <= says;
    quiet_q         <= !rst_ni ? '0 : {quiet_q[2:0], quiet_i && state == StateAborting};
  end

  always_ff @(posedge clk_i) begin
    if (running_q && rst_ni && good_q) begin
      // Never more than was posted, never more done than taken.
      assert (waiting <= 32'(Slots) && under_way <= 32'(Slots) && posted_and_open <= 32'(Slots));
      assert (slot == dut.taken_q[1:0]);
      // What is offered is there, and has been the next one for the two cycles in which it was looked at.
      if (posted)
        assert (waiting != '0 && images_good_i && good2_q && dut.taken_q == taken_q && dut.taken_q == taken2_q);
      // A count moves for a reason, by one.
      if (!clear_q) begin
        assert (dut.taken_q == taken_q + 32'(take_q));
        assert (done == done_q || (done == done_q + 32'd1 && done_i_q && !stop_q && !says_q));
        // The first error stays.
        if (error_q != ErrorCodeNone) assert (error == error_q && error_stack == error_stack_q);
        assert (abort_done == abort_done_q);
        if (stop_q) assert (stop && done == done_q);
      end
      if (says_q && !stop_q && !clear_q)
        assert (error inside {ErrorCodeRead, ErrorCodeCalibration, ErrorCodeWrite} && stop);
      // An Abort that is rung is obeyed in the next cycle, ends when nothing has been on its way for four, and leaves
      // nothing.
      if (abort_q != abort_done_q && !clear_q) assert (state == StateAborting);
      if (clear) assert (state == StateAborting && quiet_q == '1);
      if (clear_q) begin
        assert (!stop && error == ErrorCodeNone && abort_done == abort_q);
        assert (dut.taken_q == posted_before_q && done == posted_before_q);
      end
      assert ((state == StateFailed) == (dut.failed_q && !dut.aborting_q));
      assert ((error != ErrorCodeNone) == dut.failed_q);
      // Software is woken for a stack, an error, an Abort; for nothing else.
      assert (interrupt == (clear_q || done != done_q || (dut.failed_q && !failed_q)));
      // what induction has to know
      assert (dut.quiet_q == quiet_q);
      assert (!dut.some_q || dut.taken_q != posted_q);
      assert (!dut.some_q || dut.taken_q == taken_q);
      assert (!dut.fresh_q || (good2_q && dut.taken_q == taken2_q));
      assert (dut.aborting_q || !clear);
    end
    cover (running_q && good_q && clear_q && error_q != ErrorCodeNone);
    cover (running_q && good_q && done == 32'd2 && interrupt);
    cover (running_q && good_q && state == StateFailed && error == ErrorCodeImages);
    cover (running_q && good_q && state == StateFailed && error == ErrorCodeBlocks);
  end
endmodule
