// SPDX-License-Identifier: Apache-2.0
// Where lists go: what a block has added goes behind what the image's list has. A list that has no room for a block gets no
// more, and is counted on.
module unit_list_places
  import unit_pkg::*;
(
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic          [17:0] list_pages_i,   // room of a list
    input  logic                 push_i,
    input  list_block_t          block_i,
    output logic                 full_o,
    input  logic                 listed_push_i,
    input  listed_block_t        listed_i,
    // bursts that do not cross the border of a page, and the end of a stack behind its own
    output logic                 burst_push_o,
    output list_burst_t          burst_o,
    output logic                 end_push_o,
    input  logic                 burst_full_i,
    output logic                 some_o,         // on the way
    // what lists have
    input  logic                 read_parity_i,
    input  logic          [ 5:0] read_image_i,
    output listed_t              read_o
);
  typedef enum logic [2:0] {
    Wait,
    Add,
    Check,
    Burst,
    Push,
    Finish
  } state_e;

  state_e state_q;
  list_block_t block;
  listed_block_t listed;
  listed_t lists_q[2*MostImages];
  listed_t old_q, new_q;
  logic [6:0] place;
  page_t page_q;
  logic [5:0] at_q;
  logic [7:0] left_q;
  logic [6:0] burst_q, space;
  logic fits_q, enough_q, listed_there, listed_full, push, finish;

  fifo #(
      .Width($bits(list_block_t)),
      .Depth(64)
  ) u_blocks (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .push_i,
      .data_i (block_i),
      .full_o,
      .valid_o(some_o),
      .data_o (block),
      .pop_i  (finish)
  );
  // no more of them than of blocks
  fifo #(
      .Width($bits(listed_block_t)),
      .Depth(64)
  ) u_listed (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .push_i (listed_push_i),
      .data_i (listed_i),
      .full_o (listed_full),
      .valid_o(listed_there),
      .data_o (listed),
      .pop_i  (finish)
  );

  assign push = state_q == Push && enough_q;
  assign finish = state_q == Finish && enough_q;
  assign burst_push_o = push;
  assign end_push_o = finish && block.ends_stack;
  always_comb begin
    burst_o.drop  = !fits_q;
    burst_o.block = block.block;
    burst_o.page  = page_q;
    burst_o.at    = at_q;
    burst_o.beats = 6'(burst_q - 7'd1);
  end
  assign place = {block.parity, block.image};
  assign space = 7'd64 - {1'b0, at_q};
  always_ff @(posedge clk_i) begin
    enough_q <= !burst_full_i && !push && !finish;
    unique case (state_q)
      Wait:    old_q <= block.first ? '0 : lists_q[place];
      Add: begin
        new_q.beats   <= old_q.beats + 24'(listed.beats);
        new_q.entries <= old_q.entries + 28'(listed.entries);
        page_q        <= block.page + 32'(old_q.beats[23:6]);
        at_q          <= old_q.beats[5:0];
        left_q        <= listed.beats;
      end
      Check:   fits_q <= new_q.beats <= {list_pages_i, 6'b0};
      Burst:   burst_q <= left_q < 8'(space) ? left_q[6:0] : space;
      Push:
      if (push) begin
        left_q <= left_q - 8'(burst_q);
        page_q <= page_q + 32'd1;
        at_q   <= '0;
      end
      default: if (finish) lists_q[place] <= new_q;
    endcase
    if (!rst_ni) state_q <= Wait;
    else begin
      unique case (state_q)
        Wait: if (some_o && listed_there) state_q <= Add;
        Add: state_q <= Check;
        Check: state_q <= left_q == '0 ? Finish : Burst;
        Burst: state_q <= Push;
        Push: if (push) state_q <= left_q == 8'(burst_q) ? Finish : Burst;
        default: if (finish) state_q <= Wait;
      endcase
    end
  end
  assign read_o = lists_q[{read_parity_i, read_image_i}];
  wire unused_ok = &{1'b0, listed_full};
endmodule
