// SPDX-License-Identifier: Apache-2.0
// Any bursts, any answers: a lock word leaves when the host has answered every burst that was pushed before it, never
// behind one that was refused, and in its turn. One lock word is looked at, any. Bursts under way are bounded.
module write_order_formal
  import rashpa_pkg::*;
(
    input logic        clk_i,
    input logic        arm_i,
    input logic        push_i,
    input logic [57:0] address_i,
    input logic [ 6:0] beats_i,
    input logic [57:0] second_at_i,
    input logic [ 6:0] second_i,
    input dtp_t        dtp_i,
    input logic        lock_i,       // a lock word comes
    input logic [63:0] lock_at_i,
    input logic [31:0] immediate_i,
    input logic        look_i,       // at this one
    input logic        take_i,
    input logic        awready_i,
    input logic        bvalid_i,
    input logic [ 1:0] bresp_i
);
  localparam int unsigned Bursts = 16, Depth = 4, CountBits = 6;
  logic rst_n = 1'b0;
  logic full, second, idle, error, awvalid, bready, lock_full, lock_ready, locks_idle;
  logic [CountBits-1:0] issued, answered;
  dtp_t error_dtp, lock_dtp;
  logic [63:0] awaddr, lock_at;
  logic [ 7:0] awlen;
  logic [31:0] immediate;
  logic refused_q, takes;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  write_bursts #(
      .Bursts(Bursts)
  ) u_bursts (
      .clk_i,
      .rst_ni(rst_n),
      .push_i(push_i),
      .address_i,
      .beats_i,
      .second_at_i,
      .second_i,
      .dtp_i,
      .second_o(second),
      .full_o(full),
      .issued_o(issued),
      .answered_o(answered),
      .idle_o(idle),
      .error_o(error),
      .error_dtp_o(error_dtp),
      .m_axi_awvalid(awvalid),
      .m_axi_awready(awready_i),
      .m_axi_awaddr(awaddr),
      .m_axi_awlen(awlen),
      .m_axi_bvalid(bvalid_i),
      .m_axi_bready(bready),
      .m_axi_bresp(bresp_i)
  );
  lock_words #(
      .CountBits(CountBits),
      .Depth(Depth)
  ) u_locks (
      .clk_i,
      .rst_ni(rst_n),
      .push_i(lock_i),
      .full_o(lock_full),
      .address_i(lock_at_i),
      .immediate_i,
      .dtp_i,
      .issued_i(issued),
      .answered_i(answered),
      .withhold_i(refused_q),
      .ready_o(lock_ready),
      .taken_i(takes),
      .address_o(lock_at),
      .immediate_o(immediate),
      .dtp_o(lock_dtp),
      .idle_o(locks_idle)
  );
  assign takes = take_i && lock_ready;

  // As the gate does
  always_ff @(posedge clk_i) begin
    if (!rst_n || arm_i) refused_q <= 1'b0;
    else if (error) refused_q <= 1'b1;
  end

  logic full_q;  // the gate looks at it a cycle late
  always_ff @(posedge clk_i) full_q <= rst_n && full;

  // Its surroundings: nothing is pushed that has no room, a lock word comes between packets, its own burst is one.
  logic [CountBits-1:0] open, asked_q;  // pushed, and shown to the host, not answered
  assign open = issued - answered;
  always_comb begin
    assume (!push_i || (!full_q && !second));
    assume (!takes || (push_i && second_i == '0));
    assume (!lock_i || (!lock_full && !second && !refused_q));
    assume (!bvalid_i || asked_q != '0);
    assume (!arm_i || (idle && locks_idle && !error && !push_i && !lock_i));
    assume (beats_i != '0 && beats_i <= 7'd64 && second_i <= 7'd64);
  end
  always_ff @(posedge clk_i) begin
    if (!rst_n) asked_q <= '0;
    else asked_q <= asked_q + CountBits'(awvalid && awready_i) - CountBits'(bvalid_i);
  end

  // The lock word that is looked at
  logic looked_q, held_q, bad_q;  // one was chosen; it is in the queue; a burst before it was refused
  logic [CountBits-1:0] before_q, at_q;  // bursts before it that are not answered; of which number it is
  logic [ 2:0] place_q;  // in the queue
  logic [63:0] lock_at_q;
  logic [31:0] immediate_q;
  logic first, leaves;
  assign first  = held_q && u_locks.u_words.read_q == place_q;
  assign leaves = first && takes;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      looked_q <= 1'b0;
      held_q   <= 1'b0;
    end else if (lock_i && look_i && !looked_q) begin
      looked_q <= 1'b1;
      held_q <= 1'b1;
      bad_q <= (bvalid_i && bresp_i != '0) || error;
      before_q <= open - CountBits'(bvalid_i);
      at_q <= issued;
      place_q <= u_locks.u_words.write_q;
      lock_at_q <= lock_at_i;
      immediate_q <= immediate_i;
    end else begin
      if (bvalid_i && before_q != '0) before_q <= before_q - CountBits'(1);
      if (bvalid_i && before_q != '0 && bresp_i != '0) bad_q <= 1'b1;
      if (first && u_locks.pop) held_q <= 1'b0;
    end
  end

  logic [2:0] level;
  logic [64+32+4+CountBits-1:0] stored;
  assign level  = u_locks.u_words.write_q - u_locks.u_words.read_q;
  assign stored = u_locks.u_words.memory[place_q[1:0]];
  logic [4:0] write_q;  // of the queues of bursts, a cycle before: what they show
  always_ff @(posedge clk_i) write_q <= rst_n ? u_bursts.u_names.write_q : '0;
  logic error_before_q;  // of error: was it of a burst before the lock word
  always_ff @(posedge clk_i) error_before_q <= bvalid_i && bresp_i != '0;

  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      if (leaves) begin
        assert (before_q == '0 && !bad_q);
        assert (lock_at == lock_at_q && immediate == immediate_q);
      end
      assert (open <= CountBits'(Bursts) && bready);
      if (idle && !push_i && !second) assert (open == '0);
      // what induction has to know
      assert (asked_q <= open && u_bursts.u_names.level == 5'(open) && open <= CountBits'(Bursts));
      assert (u_bursts.u_addresses.level == 5'(open - asked_q));
      assert (u_bursts.u_addresses.write_q == u_bursts.u_names.write_q && u_bursts.u_names.write_q - write_q <= 5'd1);
      assert (u_bursts.u_addresses.valid_o == (u_bursts.u_addresses.read_q != write_q));
      assert (u_bursts.u_names.valid_o == (u_bursts.u_names.read_q != write_q));
      assert (write_q - u_bursts.u_addresses.read_q <= 5'(Bursts) && write_q - u_bursts.u_names.read_q <= 5'(Bursts));
      assert (open <= CountBits'(Bursts - 5) && (full || open <= CountBits'(Bursts - 8)));
      assert (full_q || open <= CountBits'(Bursts - 7));
      if (second) assert (open <= CountBits'(Bursts - 6));
      assert (level <= 3'(Depth) && u_locks.held_q == level && (lock_full || level <= 3'(Depth - 2)));
      assert (!u_locks.u_words.valid_o || level != '0);
      if (u_locks.ready_q) assert (u_locks.valid);
      if (u_locks.ready_q && first) assert (before_q == '0);
      if (held_q) begin
        assert (looked_q && place_q - u_locks.u_words.read_q < level);
        assert (stored == {lock_at_q, immediate_q, stored[CountBits+:4], at_q});
        assert (before_q <= CountBits'(Bursts));
        if (before_q != '0) assert (at_q - answered == before_q);
        if (first && u_locks.valid) assert (u_locks.u_words.data_o == stored);
        if (bad_q) assert (refused_q || error || before_q != '0 || error_before_q);
        if (bad_q && !refused_q && !error) assert (error_before_q);
      end
      if (error) assert (error_before_q);
      cover (leaves && looked_q);
      cover (held_q && bad_q && refused_q);
    end
  end
endmodule
