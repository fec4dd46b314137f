// SPDX-License-Identifier: Apache-2.0
// Says what is read and written: of each stack block after block, of each block image after image, so that calibration is
// read once a stack. Nothing is asked for that has no room: memory's answers are never held up.
module unit_sequencer
  import unit_pkg::*;
#(
    parameter int unsigned Room = 512  // beats of raw words that may wait for the lanes
) (
    input  logic                clk_i,
    input  logic                rst_ni,
    input  logic                stop_i,         // no burst begins
    input  logic                clear_i,        // behind it, when nothing is on its way
    input  logic         [15:0] blocks_i,
    input  logic         [ 5:0] last_beats_i,
    input  page_t               image_pages_i,
    input  logic         [17:0] list_pages_i,
    // stacks
    input  logic                posted_i,       // there is one
    input  stack_t              stack_i,
    output logic                take_o,
    input  logic                done_i,         // one is
    // where it goes
    output logic                raw_push_o,
    output raw_burst_t          raw_o,
    input  logic                raw_full_i,     // or the one of counts, or of lists
    output logic                list_push_o,
    output list_block_t         list_o,
    output logic                count_push_o,
    output count_burst_t        count_o,
    output logic                write_push_o,
    output write_burst_t        write_o,
    input  logic                write_full_i,
    input  logic                popped_i,       // the lanes have taken a beat
    output logic                m_axi_arvalid,
    input  logic                m_axi_arready,
    output address_t            m_axi_araddr,
    output logic         [ 7:0] m_axi_arlen,
    output logic                idle_o
);
  localparam int unsigned RoomBits = $clog2(Room + 1);

  typedef enum logic [2:0] {
    Idle,
    Look,     // at what the burst needs
    Push,     // it is told to everybody
    Address,
    Next,
    Results
  } state_e;

  state_e state_q;
  page_t results_q;
  logic [6:0] images_q;
  logic [15:0] block_q;
  logic [6:0] image_q;
  page_t block_raw_q, block_photons_q, raw_q, photons_q, lists_q, list_q;
  logic bank_q, parity_q, last_image_q, last_block_q, enough_q;
  logic [1:0] under_way_q;
  logic [5:0] beats_q;
  logic [RoomBits-1:0] room_q;

  assign take_o = state_q == Idle && posted_i && !stop_i && under_way_q != 2'(UnderWay);
  assign raw_push_o = state_q == Push;
  assign count_push_o = state_q == Push;
  assign list_push_o = state_q == Push;
  assign write_push_o = state_q == Push || (state_q == Results && !write_full_i && !stop_i);
  always_comb begin
    raw_o.bank = bank_q;
    raw_o.frees = last_image_q;
    raw_o.ends_image = last_block_q;
    count_o.parity = parity_q;
    count_o.image = image_q[5:0];
    count_o.first = block_q == '0;
    count_o.ends_stack = last_block_q && last_image_q;
    list_o.page = list_q;
    list_o.block = block_q;
    list_o.parity = parity_q;
    list_o.image = image_q[5:0];
    list_o.first = block_q == '0;
    list_o.ends_stack = last_block_q && last_image_q;
    write_o.results = state_q == Results;
    write_o.page = state_q == Results ? results_q : photons_q;
    write_o.beats = state_q == Results ? 6'(images_q - 7'd1) : beats_q;
  end
  assign m_axi_arvalid = state_q == Address;
  assign m_axi_araddr = {4'b0, raw_q, 12'b0};
  assign m_axi_arlen = {2'b0, beats_q};
  assign idle_o = state_q == Idle;

  always_ff @(posedge clk_i) begin
    last_image_q <= image_q + 7'd1 == images_q;
    last_block_q <= block_q + 16'd1 == blocks_i;
    unique case (state_q)
      Idle: begin
        results_q       <= stack_i.results;
        images_q        <= stack_i.images;
        block_raw_q     <= stack_i.raw;
        block_photons_q <= stack_i.photons;
        raw_q           <= stack_i.raw;
        photons_q       <= stack_i.photons;
        lists_q         <= stack_i.lists;
        list_q          <= stack_i.lists;
        block_q         <= '0;
        image_q         <= '0;
      end
      Look:    beats_q <= last_block_q ? last_beats_i : 6'd63;
      Next: begin
        image_q   <= last_image_q ? '0 : image_q + 7'd1;
        raw_q     <= last_image_q ? block_raw_q + 32'd1 : raw_q + image_pages_i;
        photons_q <= last_image_q ? block_photons_q + 32'd1 : photons_q + image_pages_i;
        list_q    <= last_image_q ? lists_q : list_q + 32'(list_pages_i);
        if (last_image_q) begin
          block_q         <= block_q + 16'd1;
          block_raw_q     <= block_raw_q + 32'd1;
          block_photons_q <= block_photons_q + 32'd1;
        end
      end
      default: ;
    endcase
  end

  always_ff @(posedge clk_i) begin
    enough_q <= room_q >= RoomBits'(BlockBeats) && !raw_full_i && !write_full_i && state_q == Look;
    if (!rst_ni || clear_i) begin
      state_q     <= Idle;
      bank_q      <= 1'b0;
      parity_q    <= 1'b0;
      under_way_q <= '0;
      room_q      <= RoomBits'(Room);
    end else begin
      under_way_q <= under_way_q + 2'(take_o) - 2'(done_i);
      room_q <= room_q - (state_q == Push ? RoomBits'(beats_q) + RoomBits'(1) : '0) + RoomBits'(popped_i);
      unique case (state_q)
        Idle: if (take_o) state_q <= Look;
        Look:
        if (stop_i) state_q <= Idle;
        else if (enough_q) state_q <= Push;
        Push: state_q <= Address;
        Address: if (m_axi_arready) state_q <= Next;
        Next: begin
          state_q <= last_image_q && last_block_q ? Results : Look;
          if (last_image_q) begin
            bank_q <= !bank_q;
          end
        end
        Results:
        if (stop_i) state_q <= Idle;
        else if (!write_full_i) begin
          parity_q <= !parity_q;
          state_q  <= Idle;
        end
        default: state_q <= Idle;
      endcase
    end
  end
endmodule
