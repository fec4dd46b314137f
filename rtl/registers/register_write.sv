// SPDX-License-Identifier: Apache-2.0
// What software writes: one register, then the groups decide by it. A write that would have no effect, or a wrong one,
// is refused.
module register_write
  import rashpa_pkg::*;
  import card_registers_pkg::*;
#(
    parameter bit Faults = 1'b0
) (
    input  logic                                   clk_i,
    input  logic                                   rst_ni,
    input  logic                                   write_i,        // one cycle
    input  logic                        [    12:0] word_i,
    input  logic                        [    31:0] data_i,
    output logic                                   done_o,         // one cycle, two later; with it
    output logic                                   error_o,
    input  state_e                                 state_i,
    output table_write_t                           table_write_o,
    output sender_pkg::ring_write_t                ring_write_o,
    output sender_pkg::fault_write_t               fault_write_o,
    output sender_pkg::doorbell_write_t            doorbell_o,
    output logic                                   pushed_o,
    output logic                        [Dtps-1:0] enabled_o
);

  logic held_q, enables_q, in_table, in_ring, in_faults, in_doorbells, is_mode, quiet, allowed;
  logic [12:0] word_q;
  logic [31:0] data_q;
  assign in_table         = word_q[12:11] == DtpTableBase[14:13] && !word_q[6];
  assign in_ring          = word_q[12:9] == DescriptorsBase[14:11];
  assign in_faults        = Faults && word_q[12:7] == FaultsBase[14:9];
  assign in_doorbells     = word_q[12:6] == DoorbellsBase[14:8] && (!word_q[5] || word_q[5:2] == 4'hF);
  assign is_mode          = word_q == SettingsModeAddress[14:2];
  assign quiet            = state_i inside {StateIdle, StateArmed, StateDone, StateFailed};
  assign allowed          = in_doorbells || in_ring || in_faults || ((in_table || is_mode) && quiet);
  assign doorbell_o.valid = held_q && in_doorbells;
  assign doorbell_o.word  = word_q[5:0];
  assign doorbell_o.data  = data_q;

  always_ff @(posedge clk_i) begin
    word_q             <= word_i;
    data_q             <= data_i;
    table_write_o.dtp  <= word_q[10:7];
    table_write_o.word <= word_q[6:0];
    table_write_o.data <= data_q;
    ring_write_o.word  <= word_q[8:0];
    ring_write_o.data  <= data_q;
    fault_write_o.word <= word_q[6:0];
    fault_write_o.data <= data_q;
    error_o            <= !allowed;
    if (!rst_ni) begin
      held_q              <= 1'b0;
      done_o              <= 1'b0;
      table_write_o.valid <= 1'b0;
      ring_write_o.valid  <= 1'b0;
      fault_write_o.valid <= 1'b0;
      pushed_o            <= 1'b0;
      enabled_o           <= '0;
      enables_q           <= 1'b0;
    end else begin
      held_q              <= write_i;
      done_o              <= held_q;
      table_write_o.valid <= held_q && in_table && quiet;
      ring_write_o.valid  <= held_q && in_ring;
      fault_write_o.valid <= held_q && in_faults;
      if (held_q && is_mode && quiet) pushed_o <= data_q[0];
      enables_q <= held_q && in_table && quiet && word_q[5:0] == DtpTableDtpWord[5:0];
      if (enables_q) enabled_o[table_write_o.dtp] <= table_write_o.data[DtpTableDtpEnabledLsb];
    end
  end

endmodule
