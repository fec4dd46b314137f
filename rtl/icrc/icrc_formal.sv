// SPDX-License-Identifier: Apache-2.0
// Frames come without a gap inside, back to back or not; so they leave: a beat in each cycle from the first to the last,
// full but for the last one, in which as many bytes count as the frame has there.
module icrc_formal
  import rashpa_pkg::*;
(
    input logic        clk_i,
    input logic        rst_ni,
    input frame_beat_t beat_i
);
  logic valid, last;
  beat_t data;
  logic [6:0] bytes;

  icrc dut (
      .clk_i,
      .rst_ni,
      .beat_i,
      .data_i('0),
      .m_valid_o(valid),
      .m_last_o(last),
      .m_data_o(data),
      .m_bytes_o(bytes)
  );

  // Reset first, and never again.
  logic running_q = 1'b0;
  always_ff @(posedge clk_i) running_q <= 1'b1;
  always_comb assume (rst_ni == running_q);

  logic inside_q;  // a frame comes in
  frame_beat_t before_q;
  always_ff @(posedge clk_i) begin
    before_q <= beat_i;
    if (!rst_ni) inside_q <= 1'b0;
    else if (beat_i.valid) inside_q <= !beat_i.last;
  end
  always_comb begin
    if (rst_ni) begin
      if (inside_q) assume (beat_i.valid && beat_i.covered_end == before_q.covered_end);
      if (beat_i.valid) begin
        assume (beat_i.first == !inside_q);
        assume (beat_i.covered_end[1:0] == 2'd2);
        assume (!(beat_i.first && beat_i.last && beat_i.covered_end == 6'd62));  // then the ICRC's end is one more beat
      end
    end else assume (!beat_i.valid);
  end

  logic out_q;  // a frame goes out
  logic [3:0] frames_q;  // that came and have not left
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      out_q <= 1'b0;
      frames_q <= '0;
    end else begin
      if (valid) out_q <= !last;
      frames_q <= frames_q + 4'(beat_i.valid && beat_i.last) - 4'(valid && last);
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni && running_q) begin
      if (out_q) assert (valid);
      if (valid) assert (last ? bytes[1:0] == 2'd2 && bytes <= 7'd62 : bytes == 7'd64);
      cover (valid && last && bytes == 7'd2 && frames_q > 4'd2);
      cover (out_q && frames_q == 4'd0 && inside_q);
    end
  end
endmodule
