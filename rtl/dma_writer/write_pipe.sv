// SPDX-License-Identifier: Apache-2.0
// Beats on their way to the host: a record is completed, bytes are turned to their lanes, strobes say which are written.
// Four cycles from the pop of the payload FIFO to the FIFO in front of the host; nothing is held up.
module write_pipe
  import rashpa_pkg::*;
#(
    parameter int unsigned BeatDepth = 256  // beats that may wait for the host
) (
    input  logic         clk_i,
    input  logic         rst_ni,
    // this cycle
    input  logic         pop_i,           // payload_i is taken …
    input  beat_t        payload_i,
    input  logic         record_i,        // … of a record that is to be completed …
    input  logic         second_i,        // … its second beat
    input  beat_t        record_first_i,
    input  logic  [31:0] record_crc_i,
    input  logic         beat_i,          // a beat goes to the host …
    input  logic         withheld_i,      // … no, it goes nowhere
    input  logic         burst_end_i,
    input  logic         packet_end_i,
    input  logic         summed_i,        // its payload is summed up
    input  logic         lock_i,          // it is a lock word: the immediate
    input  logic  [31:0] immediate_i,
    input  logic  [ 5:0] turn_i,
    input  logic  [ 5:0] from_i,
    input  logic  [ 6:0] upto_i,
    // of its packet, with its last beat
    input  dtp_t         dtp_i,
    input  logic         begins_image_i,
    input  logic  [31:0] factor_i,
    // to the host
    output logic         m_axi_wvalid,
    input  logic         m_axi_wready,
    output beat_t        m_axi_wdata,
    output logic  [63:0] m_axi_wstrb,
    output logic         m_axi_wlast,
    output logic         written_o,       // a beat has left
    // four cycles later
    output logic         sum_valid_o,
    output logic         sum_last_o,
    output beat_t        sum_data_o,
    output logic  [ 5:0] sum_zeros_o,
    output dtp_t         sum_dtp_o,
    output logic         sum_begins_o,
    output logic  [31:0] sum_factor_o,
    output logic         busy_o           // a beat is inside
);
  localparam int unsigned Stages = 4;
  typedef struct packed {
    logic             beat;
    logic             write;
    logic             summed;
    logic             pop;
    logic             burst_end;
    logic             packet_end;
    logic             lock;
    logic             begins_image;
    dtp_t             dtp;
    logic [31:0]      word;          // factor, or immediate of a lock word
    logic [5:0]       turn;
    logic [5:0] from;
    logic [6:0]       upto;
  } stage_t;
  stage_t stage, stage_q[Stages+1];  // 1 … 4 used

  beat_t template, turned, before_q, payload;
  always_comb begin
    template = payload_i;
    if (record_i && !second_i) template ^= record_first_i;
    if (record_i && second_i) template[511-:32] ^= record_crc_i;
  end
  always_comb begin
    stage = '0;
    stage.beat = beat_i;
    stage.write = beat_i && !withheld_i;
    stage.summed = beat_i && summed_i;
    stage.pop = pop_i;
    stage.burst_end = burst_end_i;
    stage.packet_end = packet_end_i;
    stage.lock = lock_i;
    stage.begins_image = begins_image_i;
    stage.dtp = dtp_i;
    stage.word = lock_i ? immediate_i : factor_i;
    stage.turn = turn_i;
    stage.from = from_i;
    stage.upto = upto_i;
  end

  rotate u_rotate (
      .clk_i,
      .data_i  (template),
      .amount_i(turn_i),
      .data_o  (turned)
  );

  logic [63:0] inside_q, fresh_q, strobe_q;
  logic [7:0] above_q, first_q, below_q, last_q, begun_q, left_q;
  always_ff @(posedge clk_i) begin
    stage_q[1] <= stage;
    for (int s = 2; s <= int'(Stages); s++) stage_q[s] <= stage_q[s-1];
    if (stage_q[3].pop) before_q <= turned;
    // Lanes in rows of eight: which rows, then which lanes of the row.
    for (int row = 0; row < 8; row++) begin
      above_q[row] <= 3'(row) > stage_q[1].from[5:3];
      first_q[row] <= 3'(row) == stage_q[1].from[5:3];
      below_q[row] <= 4'(row) < stage_q[1].upto[6:3];
      last_q[row]  <= 4'(row) == stage_q[1].upto[6:3];
      begun_q[row] <= 3'(row) >= stage_q[1].from[2:0];
      left_q[row]  <= 3'(row) < stage_q[1].upto[2:0];
    end
    for (int lane = 0; lane < int'(BeatBytes); lane++) begin
      inside_q[lane] <= (above_q[lane/8] || (first_q[lane/8] && begun_q[lane%8])) &&
                        (below_q[lane/8] || (last_q[lane/8] && left_q[lane%8]));
    end
    strobe_q <= inside_q;
    if (!rst_ni) begin
      for (int s = 1; s <= int'(Stages); s++) begin
        stage_q[s].beat <= 1'b0;
        stage_q[s].write <= 1'b0;
        stage_q[s].summed <= 1'b0;
        stage_q[s].pop <= 1'b0;
      end
    end
  end

  // Lanes from `turn` on come from the beat that has just been turned, those below from the one before it.
  always_ff @(posedge clk_i) begin
    for (int lane = 0; lane < int'(BeatBytes); lane++) begin
      fresh_q[lane] <= 6'(lane) >= stage_q[2].turn;
      payload[8*lane+:8] <= inside_q[lane] ? (fresh_q[lane] ? turned[8*lane+:8] : before_q[8*lane+:8]) : 8'h0;
    end
  end

  logic unused_full;
  assign written_o = m_axi_wvalid && m_axi_wready;
  fifo #(
      .Width(512 + 64 + 1),
      .Depth(BeatDepth)
  ) u_write (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .push_i (stage_q[Stages].write),
      .data_i ({stage_q[Stages].burst_end, strobe_q, stage_q[Stages].lock ? {16{stage_q[Stages].word}} : payload}),
      .full_o (unused_full),
      .valid_o(m_axi_wvalid),
      .data_o ({m_axi_wlast, m_axi_wstrb, m_axi_wdata}),
      .pop_i  (written_o)
  );

  assign sum_valid_o = stage_q[Stages].summed;
  assign sum_last_o = stage_q[Stages].packet_end;
  assign sum_data_o = payload;
  assign sum_zeros_o = 6'(7'd64 - stage_q[Stages].upto);
  assign sum_dtp_o = stage_q[Stages].dtp;
  assign sum_begins_o = stage_q[Stages].begins_image;
  assign sum_factor_o = stage_q[Stages].word;
  always_comb begin
    busy_o = 1'b0;
    for (int s = 1; s <= int'(Stages); s++) busy_o |= stage_q[s].beat;
  end
  wire unused_ok = &{1'b0, unused_full};
endmodule
