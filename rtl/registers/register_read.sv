// SPDX-License-Identifier: Apache-2.0
// What software reads: every group by itself, then one of the groups. An answer takes four cycles.
module register_read
  import rashpa_pkg::*;
  import card_registers_pkg::*;
#(
    parameter logic        [31:0] GitHash       = 32'h0,
    parameter logic        [31:0] Clock         = 32'h0,
    parameter int unsigned        MemoryMiB     = 1024,
    parameter logic        [15:0] PayloadBeats  = 16'd512,
    parameter logic        [15:0] TransmitBeats = 16'd512,
    parameter bit                 Faults        = 1'b0
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        read_i,   // one cycle; word_i stays
    input  logic [12:0] word_i,
    output logic        done_o,
    output logic        error_o,
    output logic [31:0] data_o,

    input sender_pkg::run_status_t                  status_i,
    input logic                    [    31:0]       descriptors_taken_i,
    input logic                    [    31:0]       descriptors_done_i,
    input logic                    [Dtps-1:0]       dtps_done_i,
    input logic                    [Dtps-1:0]       dtps_waiting_i,
    input logic                    [    31:0]       granted_i,            // of the DTP in word_i
    input logic                                     pushed_i,
    input logic                    [     3:0][31:0] single_i,
    input logic                    [    31:0]       table_i,

    // To be counted
    input logic                clear_i,
    input sender_pkg::counts_t counts_i
);

  localparam logic [31:0] Magic = 32'h4350_5352;
  localparam logic [31:0] Version = 32'd1;
  localparam logic [15:0] DescriptorSlots = 16'd64;

  logic [7:0][31:0] identity;
  logic [9:0][31:0] status;
  logic [31:0] identity_q, status_q, sender_q, dtp_q, granted_q, single_q;
  logic [2:0] step_q;
  logic [3:0] index_q;  // of a counter
  logic in_identity_q, in_status_q, in_counters_q, in_dtp_q, in_granted_q, in_table_q, is_single_q;
  logic is_mode;
  logic [63:0] sender_count;
  logic [3:0][63:0] dtp_count;

  run_counters u_counters (
      .clk_i,
      .rst_ni,
      .clear_i,
      .running_i(status_i.state == StateRunning),
      .counts_i,
      .read_index_i(index_q),
      .sender_o(sender_count),
      .dtp_o(dtp_count)
  );

  assign identity = {
    {12'h0, MemoryMiB[31:12]},
    {MemoryMiB[11:0], 20'h0},
    Clock,
    {TransmitBeats, PayloadBeats},
    {Faults, 7'h0, DescriptorSlots, 8'(Dtps)},
    GitHash,
    Version,
    Magic
  };
  assign status = {
    {16'h0, dtps_waiting_i},
    {16'h0, dtps_done_i},
    descriptors_done_i,
    descriptors_taken_i,
    status_i.abort_done,
    status_i.start_done,
    status_i.arm_done,
    status_i.error_line,
    {9'h0, status_i.error},
    {29'h0, status_i.state}
  };

  assign is_mode = word_i == SettingsModeAddress[14:2];

  always_ff @(posedge clk_i) begin
    // Words of 13 bits: where each group lies.
    in_identity_q <= word_i[12:3] == IdentityBase[14:5];
    in_status_q <= word_i[12:4] == StatusBase[14:6] && word_i[3:0] < 4'd10;
    in_counters_q <= word_i[12:5] == CountersBase[14:7] && word_i[4:0] < 5'd28;
    in_dtp_q <= word_i[12:8] == DtpStatusBase[14:10] && !word_i[3];
    in_granted_q <= word_i[12:8] == DtpStatusBase[14:10] && word_i[3:0] == DtpStatusGrantedWord;
    in_table_q <= word_i[12:11] == DtpTableBase[14:13] && !word_i[6];
    is_single_q <= is_mode || word_i[12:2] == DoorbellsDescriptorsPostedAddress[14:4];
    index_q <= word_i[12:8] == DtpStatusBase[14:10] ? word_i[7:4] : word_i[4:1];
    identity_q <= identity[word_i[2:0]];
    status_q <= word_i[3:0] < 4'd10 ? status[word_i[3:0]] : '0;
    sender_q <= word_i[0] ? sender_count[63:32] : sender_count[31:0];
    dtp_q <= word_i[0] ? dtp_count[word_i[2:1]][63:32] : dtp_count[word_i[2:1]][31:0];
    granted_q <= granted_i;
    single_q <= is_mode ? {31'h0, pushed_i} : single_i[word_i[1:0]];
    case (1'b1)
      in_identity_q: data_o <= identity_q;
      in_status_q:   data_o <= status_q;
      in_counters_q: data_o <= sender_q;
      in_dtp_q:      data_o <= dtp_q;
      in_granted_q:  data_o <= granted_q;
      in_table_q:    data_o <= table_i;
      default:       data_o <= single_q;
    endcase
    error_o <= {in_identity_q, in_status_q, in_counters_q, in_dtp_q, in_granted_q, in_table_q, is_single_q} == '0;
    if (!rst_ni) begin
      step_q <= '0;
      done_o <= 1'b0;
    end else begin
      step_q <= {step_q[1:0], read_i};
      done_o <= step_q[2];
    end
  end

endmodule
