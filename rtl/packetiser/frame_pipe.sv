// SPDX-License-Identifier: Apache-2.0
// The beats of frames on their way: the payload is turned to its place, the record is completed, the header is put in
// front. Four cycles from the cycle in which the payload FIFO is popped to the beat that comes out; nothing is held up.
module frame_pipe
  import rashpa_pkg::*;
(
    input  logic                            clk_i,
    input  logic                            rst_ni,
    input  frame_stage_t                    stage_i,           // of the beat that is popped
    input  logic         [8*MostHeader-1:0] header_i,          // of its frame; looked at two cycles later
    input  beat_t                           payload_i,
    input  beat_t                           record_first_i,    // XORed to the template of a record
    input  logic         [            31:0] record_crc_i,
    output logic                            sum_valid_o,
    output logic                            sum_last_o,
    output beat_t                           sum_data_o,
    output logic         [             5:0] sum_zeros_o,
    output dtp_t                            sum_dtp_o,
    output logic                            sum_begins_o,
    output logic         [            31:0] sum_factor_o,
    output frame_beat_t                     frame_o,
    output beat_t                           frame_data_o,
    output dtp_t                            frame_dtp_o,
    output logic         [            23:0] frame_psn_o,
    output logic                            frame_withheld_o,
    output logic                            busy_o             // a beat is inside
);
  // 3: the turned beat is there
  frame_stage_t stage_q[5];  // 1 … 4 used

  beat_t template, turned, before_q;
  beat_t header_beat_q;
  always_comb begin
    template = payload_i;
    if (stage_i.record && !stage_i.second) template ^= record_first_i;
    if (stage_i.record && stage_i.second) template[511-:32] ^= record_crc_i;
  end

  rotate u_rotate (
      .clk_i,
      .data_i  (template),
      .amount_i(stage_i.turn),
      .data_o  (turned)
  );

  logic [8*MostHeader-1:512] second_header_q;  // the next frame's header may be shown already
  always_ff @(posedge clk_i) begin
    stage_q[1] <= stage_i;
    for (int s = 2; s < 5; s++) stage_q[s] <= stage_q[s-1];
    stage_q[2].summed <= stage_q[1].summed && stage_q[1].from < stage_q[1].upto;
    unique case (stage_q[2].number)
      2'd0: header_beat_q <= header_i[511:0];
      2'd1: header_beat_q <= 512'(second_header_q);
      default: header_beat_q <= '0;
    endcase
    if (stage_q[2].number == 2'd0) second_header_q <= header_i[8*MostHeader-1:512];
    if (stage_q[3].pop) before_q <= turned;
    if (!rst_ni) begin
      for (int s = 1; s < 5; s++) begin
        stage_q[s].frame.valid <= 1'b0;
        stage_q[s].summed <= 1'b0;
        stage_q[s].pop <= 1'b0;
      end
    end
  end

  lanes u_lanes (
      .clk_i,
      .turn_i(stage_q[2].turn),
      .begin_i(stage_q[2].from),
      .end_i(stage_q[2].upto),
      .turned_i(turned),
      .before_i(before_q),
      .header_i(header_beat_q),
      .payload_o(sum_data_o),
      .frame_o(frame_data_o)
  );

  assign frame_o = stage_q[4].frame;
  assign frame_dtp_o = stage_q[4].dtp;
  assign frame_psn_o = stage_q[4].psn;
  assign frame_withheld_o = stage_q[4].withheld;
  assign sum_valid_o = stage_q[4].summed;
  assign sum_last_o = stage_q[4].payload_last;
  assign sum_zeros_o = 6'(7'd64 - stage_q[4].upto);
  assign sum_dtp_o = stage_q[4].dtp;
  assign sum_begins_o = stage_q[4].begins_image;
  assign sum_factor_o = stage_q[4].factor;

  always_comb begin
    busy_o = 1'b0;
    for (int s = 1; s < 5; s++) busy_o |= stage_q[s].frame.valid;
  end
endmodule
