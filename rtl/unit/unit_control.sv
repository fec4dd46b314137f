// SPDX-License-Identifier: Apache-2.0
// What the unit is doing, as software sees it: stacks taken and done, the first error, Abort, counters.
module unit_control
  import unit_pkg::*;
  import unit_registers_pkg::*;
(
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic        [31:0] posted_i,
    input  logic        [31:0] abort_i,
    input  logic               images_good_i,            // of the stack that is next
    input  logic        [15:0] blocks_i,
    output logic        [ 1:0] slot_o,
    output logic               posted_o,                 // a stack is there, and can be taken
    input  logic               take_i,
    input  logic               done_i,
    input  logic               read_error_i,
    input  logic               calibration_error_i,
    input  logic               write_error_i,
    input  logic               quiet_i,                  // nothing is on its way
    output logic               stop_o,
    output logic               clear_o,
    // for registers
    output state_e             state_o,
    output error_code_e        error_o,
    output logic        [31:0] error_stack_o,
    output logic        [31:0] abort_done_o,
    output logic        [31:0] done_o,
    input  logic        [ 3:0] counted_i,                // beats, wait_calibration, wait_room, wait_address
    output logic        [31:0] counters_o         [10],
    output logic               interrupt_o
);
  logic [31:0] taken_q;
  logic some_q, fresh_q, blocks_good_q, working_q, error, aborting_q, failed_q, caught_up_q;
  logic [4:0] carry_q, count;
  logic [3:0] quiet_q;

  assign slot_o = taken_q[1:0];
  assign posted_o = some_q && fresh_q && images_good_i && blocks_good_q;
  assign stop_o = aborting_q || failed_q;
  assign error = read_error_i || calibration_error_i || write_error_i ||
                 (some_q && fresh_q && !(images_good_i && blocks_good_q) && caught_up_q && !stop_o);
  assign clear_o = aborting_q && quiet_q == '1;
  assign state_o = aborting_q ? StateAborting : failed_q ? StateFailed : working_q ? StateWorking : StateIdle;

  always_ff @(posedge clk_i) begin
    blocks_good_q <= blocks_i != '0;
    if (!rst_ni) begin
      taken_q       <= '0;
      some_q        <= 1'b0;
      fresh_q       <= 1'b0;
      caught_up_q   <= 1'b0;
      working_q     <= 1'b0;
      aborting_q    <= 1'b0;
      failed_q      <= 1'b0;
      quiet_q       <= '0;
      error_o       <= ErrorCodeNone;
      error_stack_o <= '0;
      abort_done_o  <= '0;
      done_o        <= '0;
      interrupt_o   <= 1'b0;
    end else begin
      // What is known of the next stack is two cycles old.
      some_q <= taken_q[2:0] != posted_i[2:0] && !take_i && !clear_o;
      fresh_q <= some_q && !take_i && !clear_o;
      caught_up_q <= taken_q == done_o && !take_i;
      working_q <= done_o != posted_i;
      quiet_q <= {quiet_q[2:0], quiet_i && aborting_q};
      interrupt_o <= clear_o || (done_i && !stop_o && !error) || (error && !stop_o);
      if (take_i) taken_q <= taken_q + 32'd1;
      if (done_i && !stop_o && !error) done_o <= done_o + 32'd1;
      if (error && !stop_o) begin
        failed_q <= 1'b1;
        error_o <= read_error_i ? ErrorCodeRead : calibration_error_i ? ErrorCodeCalibration :
                   write_error_i ? ErrorCodeWrite : images_good_i ? ErrorCodeBlocks : ErrorCodeImages;
        error_stack_o <= read_error_i || calibration_error_i || write_error_i ? done_o : taken_q;
      end
      if (abort_i != abort_done_o && !clear_o) aborting_q <= 1'b1;
      if (clear_o) begin
        aborting_q   <= 1'b0;
        failed_q     <= 1'b0;
        error_o      <= ErrorCodeNone;
        taken_q      <= posted_i;
        done_o       <= posted_i;
        abort_done_o <= abort_i;
      end
    end
  end

  assign count = {counted_i[3:0], working_q && !stop_o};
  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < 5; ++i) begin
      if (!rst_ni || clear_o) begin
        counters_o[2*i]   <= '0;
        counters_o[2*i+1] <= '0;
        carry_q[i]        <= 1'b0;
      end else begin
        counters_o[2*i]   <= counters_o[2*i] + 32'(count[i]);
        carry_q[i]        <= count[i] && counters_o[2*i] == '1;
        counters_o[2*i+1] <= counters_o[2*i+1] + 32'(carry_q[i]);
      end
    end
  end
endmodule
