// SPDX-License-Identifier: Apache-2.0
// Fetches the payload of packets from card memory by AXI4 reads that do not cross 4 KiB, in order, and only what the
// payload FIFO has room for: the memory's answers are never held up.
module line_reader
  import rashpa_pkg::*;
#(
    parameter int unsigned Room = 512  // beats of the payload FIFO
) (
    input  logic           clk_i,
    input  logic           rst_ni,
    // packets from the segmenter
    input  logic           valid_i,
    output logic           ready_o,
    input  packet_t        packet_i,
    input  logic    [47:0] source_i,
    // the same packets, with `beats`, to the packetiser
    input  logic           full_i,
    output logic           push_o,
    output packet_t        packet_o,
    // card memory
    output logic           m_axi_arvalid,
    input  logic           m_axi_arready,
    output logic    [47:0] m_axi_araddr,
    output logic    [ 7:0] m_axi_arlen,
    input  logic           m_axi_rvalid,
    output logic           m_axi_rready,
    input  beat_t          m_axi_rdata,
    input  logic    [ 1:0] m_axi_rresp,
    input  logic           m_axi_rlast,
    // payload FIFO
    output logic           beat_o,
    output beat_t          data_o,
    input  logic           popped_i,       // a beat has left the FIFO
    // for registers
    output logic           idle_o,         // nothing asked for is outstanding
    output logic           error_o,        // one cycle: the memory has refused a read …
    output dtp_t           error_dtp_o     // … of this DTP
);
  localparam int unsigned RoomBits = $clog2(Room + 1);

  typedef enum logic [1:0] {
    Idle,
    Sized,  // how many beats, in one burst or two
    First,  // the address is shown
    Second
  } state_e;

  state_e                 state_q;
  packet_t                packet_q;
  logic    [        47:0] address_q;  // of the next burst
  logic    [         6:0] first_q;  // beats of the first burst
  logic    [         6:0] second_q;  // beats behind 4 KiB
  logic    [RoomBits-1:0] room_q;
  logic                   enough_q;
  logic [6:0] beats, until_border;
  logic taken, over;
  logic [6:0] bursts_q;  // under way
  logic some_q;  // are
  logic names_full, named;
  dtp_t name;

  assign beats = 7'((14'(packet_q.bytes) + 14'(packet_q.lead) + 14'd63) >> 6);
  assign until_border = 7'd64 - {1'b0, address_q[11:6]};

  assign ready_o = state_q == Idle;
  assign m_axi_arvalid = (state_q == First && enough_q && !names_full) || (state_q == Second && !names_full);
  assign m_axi_araddr = address_q;
  assign m_axi_arlen = {1'b0, state_q == First ? first_q : second_q} - 8'd1;
  assign taken = m_axi_arvalid && m_axi_arready;
  assign push_o = state_q == First && taken;
  assign packet_o = packet_q;

  // Bursts that are under way: whose they are.
  fifo #(
      .Width(4),
      .Depth(64)
  ) u_names (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .push_i (taken),
      .data_i (packet_q.dtp),
      .full_o (names_full),
      .valid_o(named),
      .data_o (name),
      .pop_i  (over)
  );

  assign m_axi_rready = 1'b1;
  assign beat_o = m_axi_rvalid;
  assign data_o = m_axi_rdata;
  assign error_o = m_axi_rvalid && m_axi_rresp != 2'b00;
  // the queue shows a burst's name a cycle later than memory may answer; it is still here then
  assign error_dtp_o = named ? name : packet_q.dtp;
  assign over = m_axi_rvalid && m_axi_rlast && some_q;
  assign idle_o = state_q == Idle && !some_q;

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      Idle: begin
        packet_q <= packet_i;
        packet_q.lead <= source_i[5:0];
        address_q <= {source_i[47:6], 6'b0};
      end
      Sized: begin
        packet_q.beats <= beats;
        first_q <= beats < until_border ? beats : until_border;
        second_q <= beats - until_border;
      end
      First:  if (taken) address_q <= {address_q[47:44], address_q[43:12] + 32'd1, 12'b0};  // memory of at most 16 TiB
      Second: ;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q  <= Idle;
      room_q   <= RoomBits'(Room);
      enough_q <= 1'b0;
      bursts_q <= '0;
      some_q   <= 1'b0;
    end else begin
      bursts_q <= bursts_q + 7'(taken) - 7'(over);
      some_q   <= taken || bursts_q[6:1] != '0 || (bursts_q[0] && !over);
      room_q   <= room_q - (push_o ? RoomBits'(packet_q.beats) : '0) + RoomBits'(popped_i);
      // The room does not shrink while this packet waits.
      enough_q <= (state_q == Sized || state_q == First) && room_q >= RoomBits'(beats) && !full_i && !push_o;
      unique case (state_q)
        Idle:   if (valid_i) state_q <= Sized;
        Sized:  state_q <= First;
        First:  if (taken) state_q <= packet_q.beats > first_q ? Second : Idle;
        Second: if (taken) state_q <= Idle;
      endcase
    end
  end
endmodule
