// SPDX-License-Identifier: Apache-2.0
// Frames that wait for the credit receiver: receivers write the credits of all DTPs one behind the other, and each takes
// some seventy cycles to check. What credits can be is kept whole, of anything longer three beats. A frame for which there
// is no room is missed, and said.
module credit_queue
  import rashpa_pkg::*;
#(
    parameter int unsigned Depth = 64  // beats; a credit has two
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        s_axis_tvalid,  // taken every cycle
    input  beat_t       s_axis_tdata,
    input  logic [63:0] s_axis_tkeep,
    input  logic        s_axis_tlast,
    output logic        m_axis_tvalid,
    input  logic        m_axis_tready,
    output beat_t       m_axis_tdata,
    output logic [63:0] m_axis_tkeep,
    output logic        m_axis_tlast,
    output logic        missed_o        // one cycle
);
  localparam int unsigned Most = 3;
  localparam int unsigned Bits = $clog2(Depth + 1);

  logic [1:0] number_q;      // of the beat in its frame; 3: it is not kept any more
  logic keeps_q, keeps, push, pop, unused_full;
  logic [Bits-1:0] level_q;  // beats kept

  assign keeps = number_q == 2'd0 ? level_q <= Bits'(Depth - Most) : keeps_q;
  assign push = s_axis_tvalid && keeps && number_q != 2'd3;
  assign pop = m_axis_tvalid && m_axis_tready;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      number_q <= '0;
      keeps_q <= 1'b0;
      level_q <= '0;
      missed_o <= 1'b0;
    end else begin
      level_q <= level_q + Bits'(push) - Bits'(pop);
      missed_o <= s_axis_tvalid && s_axis_tlast && !keeps;
      if (s_axis_tvalid) begin
        keeps_q <= keeps;
        if (s_axis_tlast) number_q <= '0;
        else if (number_q != 2'd3) number_q <= number_q + 2'd1;
      end
    end
  end

  // The third beat stands for all behind it.
  fifo #(.Width(512 + 64 + 1), .Depth(Depth)) u_beats (
      .clk_i, .rst_ni, .clear_i(1'b0), .push_i(push),
      .data_i({s_axis_tlast || number_q == 2'd2, s_axis_tkeep, s_axis_tdata}), .full_o(unused_full),
      .valid_o(m_axis_tvalid), .data_o({m_axis_tlast, m_axis_tkeep, m_axis_tdata}), .pop_i(pop)
  );
endmodule
