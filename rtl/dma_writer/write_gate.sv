// SPDX-License-Identifier: Apache-2.0
// Says when a packet or a lock word begins: its payload is there, its beats have room, the one before it is out. Behind
// a refused write none is written until Arm.
module write_gate #(
    parameter  int unsigned PayloadDepth = 512,
    parameter  int unsigned BeatDepth    = 256,
    localparam int unsigned MostBeats    = rashpa_pkg::MostPayload / rashpa_pkg::BeatBytes + 1
) (
    input  logic       clk_i,
    input  logic       rst_ni,
    input  logic       arm_i,
    // the next packet
    input  logic       plan_valid_i,
    input  logic       plan_soon_i,      // in the next cycle
    input  logic [6:0] beats_in_i,       // from the payload FIFO
    input  logic [6:0] beats_i,          // to the host
    input  logic       several_i,        // more than one of them
    input  logic       withheld_i,       // it may not be written
    input  logic       complete_i,       // it is a record that is to be completed …
    input  logic       record_ready_i,   // … and this is there
    input  logic       lock_ready_i,     // the next lock word
    // what is in hand
    input  logic       run_i,
    input  logic       ends_i,
    // rooms
    input  logic       beat_i,           // a beat has come into the payload FIFO
    input  logic       written_i,        // a beat has left for the host
    input  logic       bursts_full_i,
    input  logic       withhold_i,
    input  logic       error_i,          // the host has refused a write
    output logic       packet_begins_o,
    output logic       withheld_o,       // it is written nowhere
    output logic       lock_begins_o,
    output logic       refused_o,
    output logic       idle_o            // no beat is on its way, a cycle late
);
  localparam int unsigned InBits = $clog2(PayloadDepth + 1);
  localparam int unsigned RoomBits = $clog2(BeatDepth + 1);
  if (BeatDepth < 2 * MostBeats) begin : g_depth
    $fatal(1, "write_gate: %0d beats have no room for two packets", BeatDepth);
  end
  logic [  InBits-1:0] there_q;
  logic [         6:0] taken_q;  // beats of what began in the cycle before
  logic [RoomBits-1:0] room_q;
  logic enough_q, may_q, refused_q;

  assign refused_o = refused_q || withhold_i;
  assign withheld_o = withheld_i || refused_o;
  // Last beats are two cycles apart, as the CRC needs it.
  assign packet_begins_o = plan_valid_i && enough_q && may_q && !lock_ready_i && (!run_i || (ends_i && several_i)) &&
                           (!complete_i || record_ready_i);
  assign lock_begins_o = lock_ready_i && may_q && !run_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      there_q   <= '0;
      room_q    <= RoomBits'(BeatDepth);
      taken_q   <= '0;
      enough_q  <= 1'b0;
      may_q     <= 1'b0;
      idle_o    <= 1'b1;
      refused_q <= 1'b0;
    end else begin
      there_q <= there_q + InBits'(beat_i) - (packet_begins_o ? InBits'(beats_in_i) : '0);
      taken_q <= packet_begins_o && !withheld_o ? beats_i : {6'd0, lock_begins_o};
      room_q <= room_q + RoomBits'(written_i) - RoomBits'(taken_q);
      enough_q <= (plan_soon_i || plan_valid_i) && !packet_begins_o && there_q >= InBits'(beats_in_i);
      idle_o <= room_q == RoomBits'(BeatDepth);
      // seen two cycles late: room for what has begun since, too
      may_q <= room_q >= RoomBits'(2 * MostBeats) && !bursts_full_i;
      if (arm_i) refused_q <= 1'b0;
      else if (error_i) refused_q <= 1'b1;
    end
  end
endmodule
