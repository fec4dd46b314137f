// SPDX-License-Identifier: Apache-2.0
// Puts the ICRC of RoCEv2 into frames, Latency cycles behind them. README.md has the layout of the last beats.
module icrc
  import rashpa_pkg::*;
#(
    localparam int unsigned Latency = 8
) (
    input  logic                clk_i,
    input  logic                rst_ni,
    input  frame_beat_t         beat_i,
    input  logic        [511:0] data_i,     // 0 in the ICRC's place and behind it
    output logic                m_valid_o,
    output logic                m_last_o,
    output logic        [511:0] m_data_o,
    output logic        [  6:0] m_bytes_o   // of the frame in this beat
);

  // The state before the Ethernet header, which counts as 14 zeros: behind them it is that of eight bytes of ones.
  localparam logic [31:0] Start = 32'hAE0B_ACAE;
  localparam logic [5:0] Spill = 6'd62;  // two of the ICRC's bytes are in a beat of their own

  logic second_d, second_q;
  logic [511:0] masked;

  assign second_d = beat_i.valid ? beat_i.first : second_q;

  logic [8*2*BeatBytes-1:0] ones;
  assign ones = icrc_ones(beat_i.ipv6);
  always_comb begin
    masked = data_i;
    if (beat_i.first) begin
      masked |= ones[511:0];
      masked[8*14-1:0] = '0;  // Ethernet
    end else if (second_q) begin
      masked |= ones[1023:512];
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) second_q <= 1'b0;
    else second_q <= second_d;
  end

  // The beat behind a spill is not covered: the state stays.
  logic [31:0] state, taken_back;
  logic unused;

  crc512 #(
      .Poly(crc_pkg::Crc32),
      .Back(2)
  ) u_crc (
      .clk_i,
      .rst_ni,
      .valid_i(beat_i.valid && !(beat_i.last && beat_i.covered_end == Spill)),
      .first_i(beat_i.first),
      .last_i (1'b0),
      .start_i(Start),
      .data_i (masked),
      .valid_o(unused),
      .state_o(state)
  );

  // What goes along: the frame as it came, and what is said of its beats.
  logic [511:0] data_q[Latency-1];
  logic [  5:0] end_q [Latency-1];
  logic [Latency-2:0] valid_q, last_q;

  always_ff @(posedge clk_i) begin
    data_q[0] <= data_i;
    end_q[0]  <= beat_i.covered_end;
    for (int unsigned i = 1; i < Latency - 1; i++) begin
      data_q[i] <= data_q[i-1];
      end_q[i]  <= end_q[i-1];
    end
    last_q <= {last_q[Latency-3:0], beat_i.last};
    if (!rst_ni) valid_q <= '0;
    else valid_q <= {valid_q[Latency-3:0], beat_i.valid};
  end

  crc_takeback #(
      .Poly   (crc_pkg::Crc32),
      .Granule(4)
  ) u_takeback (
      .clk_i,
      .state_i(state),
      .zeros_i(Spill - end_q[2]),
      .state_o(taken_back)
  );

  // One bit for each place that the ICRC begins at, 2 + 4·p, of the beat that it begins in; made a cycle ahead.
  localparam int unsigned Now = Latency - 3;
  logic [15:0] place_d, place_q;
  logic rest_d, rest_q, spills;

  assign spills = end_q[Now] == Spill;
  assign rest_d = last_q[Now] && spills;
  always_comb begin
    place_d = '0;
    if (spills) place_d[15] = !last_q[Now] && valid_q[Now-1] && last_q[Now-1];
    else place_d[end_q[Now][5:2]] = last_q[Now];
  end

  always_ff @(posedge clk_i) begin
    place_q <= place_d;
    rest_q  <= rest_d;
  end

  logic [511:0] data_d;

  always_comb begin
    data_d = data_q[Latency-2];
    for (int unsigned p = 0; p < 15; p++) data_d[16+32*p+:32] |= {32{place_q[p]}} & ~taken_back;
    data_d[16+32*15+:16] |= {16{place_q[15]}} & ~taken_back[15:0];
    data_d[15:0] |= {16{rest_q}} & ~taken_back[31:16];
  end

  always_ff @(posedge clk_i) begin
    m_data_o <= data_d;
    m_last_o <= last_q[Latency-2];
    if (!last_q[Latency-2]) m_bytes_o <= 7'd64;
    else m_bytes_o <= rest_q ? 7'd2 : {1'b0, end_q[Latency-2]} + 7'd4;
    if (!rst_ni) m_valid_o <= 1'b0;
    else m_valid_o <= valid_q[Latency-2];
  end

endmodule
