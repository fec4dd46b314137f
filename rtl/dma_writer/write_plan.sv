// SPDX-License-Identifier: Apache-2.0
// What becomes of a packet at the host: where its beats begin and end, by how much its bytes are turned, and its bursts,
// one or two, since none crosses 4 KiB. Four cycles a packet; the one before is written meanwhile.
module write_plan
  import rashpa_pkg::*;
(
    input  logic           clk_i,
    input  logic           rst_ni,
    input  logic           valid_i,
    output logic           ready_o,
    input  packet_t        packet_i,     // its destination is an address
    input  logic           withheld_i,
    // the plan
    output logic           valid_o,      // until it is taken
    output logic           soon_o,       // it is there in the next cycle; its packet is already
    input  logic           taken_i,
    output packet_t        packet_o,
    output logic           withheld_o,
    output logic    [57:0] address_o,    // of the first burst, in beats
    output logic    [57:0] second_at_o,  // of the second
    output logic    [ 6:0] first_o,      // beats of the first burst, 1 … 64
    output logic    [ 6:0] second_o,     // of the second, 0 … 64
    output logic    [ 6:0] beats_o,      // of both
    output logic    [ 5:0] turn_o,       // lane of the byte that has lane 0 in card memory
    output logic           prelude_o,    // its first beat needs two from card memory
    output logic    [ 5:0] from_o,       // first lane of the first beat
    output logic    [ 6:0] upto_o,       // behind the last lane of the last beat, 1 … 64
    output logic           several_o     // more than one beat
);
  typedef enum logic [1:0] {
    Idle,
    Sized,
    Cut,
    Ready
  } state_e;

  state_e         state_q;
  packet_t        packet_q;
  logic           withheld_q;
  logic    [12:0] span_q;  // from the beginning of the first beat to the packet's end
  logic    [ 6:0] turn_q;
  logic    [ 6:0] border_q;  // beats until 4 KiB end
  logic    [26:0] page_low_q;  // of the next 4 KiB
  logic    [ 6:0] beats;
  logic    [63:0] to;

  assign to = packet_q.destination;
  assign beats = 7'((span_q + 13'd63) >> 6);

  assign ready_o = state_q == Idle;
  assign valid_o = state_q == Ready;
  assign soon_o = state_q == Cut;
  assign packet_o = packet_q;
  assign withheld_o = withheld_q;
  assign address_o = to[63:6];
  assign turn_o = turn_q[5:0];
  assign prelude_o = turn_q[6];
  assign from_o = to[5:0];

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      Idle: begin
        packet_q   <= packet_i;
        withheld_q <= withheld_i;
      end
      Sized: begin
        span_q <= 13'(to[5:0]) + packet_q.bytes;
        turn_q <= {1'b0, to[5:0]} - {1'b0, packet_q.lead};
        border_q <= 7'd64 - {1'b0, to[11:6]};
        page_low_q <= {1'b0, to[37:12]} + 27'd1;
      end
      Cut: begin
        beats_o <= beats;
        several_o <= beats != 7'd1;
        first_o <= beats < border_q ? beats : border_q;
        second_o <= beats < border_q ? 7'd0 : beats - border_q;
        upto_o <= {span_q[5:0] == '0, span_q[5:0]};
        second_at_o <= {to[63:38] + 26'(page_low_q[26]), page_low_q[25:0], 6'd0};
      end
      Ready: ;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Idle;
    end else begin
      unique case (state_q)
        Idle:  if (valid_i) state_q <= Sized;
        Sized: state_q <= Cut;
        Cut:   state_q <= Ready;
        Ready: if (taken_i) state_q <= Idle;
      endcase
    end
  end
endmodule
