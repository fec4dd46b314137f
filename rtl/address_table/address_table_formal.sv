// SPDX-License-Identifier: Apache-2.0
// Any table, any packets, whoever takes them: what goes on lies inside an entry of its DTP with all of its bytes, at the
// address that this entry says; all else, and all behind it, is withheld; every record has its lock word behind it.
module address_table_formal
  import rashpa_pkg::*;
(
    input logic    clk_i,
    input logic    arm_i,
    input logic    valid_i,
    input packet_t packet_i,
    input logic    ready_i
);
  localparam logic [1:0] Idle = 2'd0, Sum = 2'd1, Compare = 2'd2, Pick = 2'd3;  // in front
  localparam logic [1:0] Free = 2'd0, Add = 2'd1, Finish = 2'd2, Out = 2'd3;  // behind
  logic rst_n = 1'b0;
  logic ready, valid, lock, withheld, error, idle;
  packet_t packet;
  dtp_t error_dtp;
  logic [63:0] error_offset;
  table_write_t none;
  assign none = '0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  address_table #(
      .Entries(2)
  ) u_dut (
      .clk_i,
      .rst_ni(rst_n),
      .arm_i,
      .addresses_i(none),
      .valid_i,
      .ready_o(ready),
      .packet_i,
      .valid_o(valid),
      .ready_i,
      .packet_o(packet),
      .lock_o(lock),
      .withheld_o(withheld),
      .error_o(error),
      .error_dtp_o(error_dtp),
      .error_offset_o(error_offset),
      .idle_o(idle)
  );

  // A packet has at most 4096 bytes; Arm comes while nothing is on its way.
  always_comb assume (packet_i.bytes != '0 && packet_i.bytes <= 13'd4096);
  always_comb assume (!arm_i || (idle && !valid_i));

  packet_t front, behind;
  assign front  = u_dut.packet_q;
  assign behind = u_dut.behind_q;

  // The table beside the packet in front and the one behind: nobody writes it.
  logic [63:0] front_begin[2], front_stop[2], behind_begin[2], behind_stop[2], shift[2], front_lock, behind_lock;
  assign front_begin[0] = {
    u_dut.g_entry[0].u_entry.u_begin_high.memory[front.dtp], u_dut.g_entry[0].u_entry.u_begin_low.memory[front.dtp]
  };
  assign front_stop[0] = {
    u_dut.g_entry[0].u_entry.u_end_high.memory[front.dtp], u_dut.g_entry[0].u_entry.u_end_low.memory[front.dtp]
  };
  assign behind_begin[0] = {
    u_dut.g_entry[0].u_entry.u_begin_high.memory[behind.dtp], u_dut.g_entry[0].u_entry.u_begin_low.memory[behind.dtp]
  };
  assign behind_stop[0] = {
    u_dut.g_entry[0].u_entry.u_end_high.memory[behind.dtp], u_dut.g_entry[0].u_entry.u_end_low.memory[behind.dtp]
  };
  assign shift[0] = {
    u_dut.g_entry[0].u_entry.u_shift_high.memory[behind.dtp], u_dut.g_entry[0].u_entry.u_shift_low.memory[behind.dtp]
  };
  assign front_begin[1] = {
    u_dut.g_entry[1].u_entry.u_begin_high.memory[front.dtp], u_dut.g_entry[1].u_entry.u_begin_low.memory[front.dtp]
  };
  assign front_stop[1] = {
    u_dut.g_entry[1].u_entry.u_end_high.memory[front.dtp], u_dut.g_entry[1].u_entry.u_end_low.memory[front.dtp]
  };
  assign behind_begin[1] = {
    u_dut.g_entry[1].u_entry.u_begin_high.memory[behind.dtp], u_dut.g_entry[1].u_entry.u_begin_low.memory[behind.dtp]
  };
  assign behind_stop[1] = {
    u_dut.g_entry[1].u_entry.u_end_high.memory[behind.dtp], u_dut.g_entry[1].u_entry.u_end_low.memory[behind.dtp]
  };
  assign shift[1] = {
    u_dut.g_entry[1].u_entry.u_shift_high.memory[behind.dtp], u_dut.g_entry[1].u_entry.u_shift_low.memory[behind.dtp]
  };
  assign front_lock = {u_dut.u_lock_high.memory[front.dtp], u_dut.u_lock_low.memory[front.dtp]};
  assign behind_lock = {u_dut.u_lock_high.memory[behind.dtp], u_dut.u_lock_low.memory[behind.dtp]};

  function automatic logic lies_in(logic [63:0] at, logic [12:0] bytes, logic [63:0] low, logic [63:0] high);
    return at >= low && {1'b0, at} + 65'(bytes) <= {1'b0, high};
  endfunction

  logic [1:0] front_in, behind_in;
  for (genvar e = 0; e < 2; e++) begin : g_in
    assign front_in[e]  = lies_in(front.destination, front.bytes, front_begin[e], front_stop[e]);
    assign behind_in[e] = lies_in(behind.destination, behind.bytes, behind_begin[e], behind_stop[e]);
  end
  logic [64:0] front_end;
  assign front_end = {1'b0, front.destination} + 65'(front.bytes);
  logic [63:0] wanted;
  assign wanted = behind.destination + (behind_in[0] ? shift[0] : shift[1]);

  // What came, in order: the packets in front and behind, and the one that was shown last
  packet_t taken_q;  // the last one
  logic owes_q;  // its lock word has not been shown
  logic refused_q;  // something was since Arm
  logic shown_q, shown_lock_q;
  packet_t shown_packet_q;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      refused_q <= 1'b0;
      shown_q   <= 1'b0;
      owes_q    <= 1'b0;
    end else begin
      if (valid_i && ready) taken_q <= packet_i;
      if (arm_i) refused_q <= 1'b0;
      else if (u_dut.back_q == Finish && behind_in == '0) refused_q <= 1'b1;
      if (valid && ready_i) owes_q <= behind.kind == WriteEvent && !lock;
      shown_q <= valid && !ready_i;
      shown_lock_q <= lock;
      shown_packet_q <= packet;
    end
  end

  logic front_is_lock, front_is_taken, record_before, none_owed;
  logic [32:0] low_sum;
  assign front_is_lock = front.bytes == 13'd4 && front.destination == front_lock && front.kind == WriteEvent;
  assign front_is_taken = front.destination == taken_q.destination && front.bytes == taken_q.bytes;
  assign record_before = u_dut.back_q == Free ? owes_q : !owes_q && behind.kind == WriteEvent;
  assign none_owed = u_dut.back_q == Free ? !owes_q : owes_q || behind.kind != WriteEvent;
  assign low_sum = {1'b0, behind.destination[31:0]} + {1'b0, behind_in[0] ? shift[0][31:0] : shift[1][31:0]};
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      if (valid) begin
        if (!withheld) assert (behind_in != '0 && packet.destination == wanted);
        assert (withheld == refused_q);
        assert (packet.bytes == behind.bytes && packet.dtp == behind.dtp && packet.kind == behind.kind);
        assert (lock ? owes_q && packet.bytes == 13'd4 && behind.destination == behind_lock : !owes_q);
      end
      if (shown_q) assert (valid && packet == shown_packet_q && lock == shown_lock_q);
      if (error) assert (behind_in == '0 && error_dtp == behind.dtp && error_offset == behind.destination);
      if (idle) assert (!valid && !owes_q);
      // what induction has to know
      assert (u_dut.refused_q == refused_q);
      if (u_dut.front_q != Idle) begin
        assert (front.bytes != '0 && front.bytes <= 13'd4096);
        assert (front.dtp == taken_q.dtp && front.kind == taken_q.kind);
        assert (u_dut.lock_q ? front_is_lock : front_is_taken);
      end
      if (u_dut.front_q == Compare || u_dut.front_q == Pick) begin
        assert (u_dut.end_low_q == {1'b0, front.destination[31:0]} + 33'(front.bytes));
        assert (u_dut.next_high_q == {1'b0, front.destination[63:32]} + 33'd1);
        assert ({u_dut.end_high, u_dut.end_low_q[31:0]} == front_end);
      end
      if (u_dut.front_q == Compare) begin
        assert (u_dut.g_entry[0].u_entry.above_low_q == (front.destination[31:0] >= front_begin[0][31:0]));
        assert (u_dut.g_entry[0].u_entry.above_high_q == (front.destination[63:32] > front_begin[0][63:32]));
        assert (u_dut.g_entry[0].u_entry.same_begin_q == (front.destination[63:32] == front_begin[0][63:32]));
        assert (u_dut.g_entry[1].u_entry.above_low_q == (front.destination[31:0] >= front_begin[1][31:0]));
        assert (u_dut.g_entry[1].u_entry.above_high_q == (front.destination[63:32] > front_begin[1][63:32]));
        assert (u_dut.g_entry[1].u_entry.same_begin_q == (front.destination[63:32] == front_begin[1][63:32]));
      end
      if (u_dut.front_q == Pick) assert (u_dut.hit == front_in);
      if (u_dut.back_q != Free) begin
        assert (behind.bytes != '0 && behind.bytes <= 13'd4096);
        assert (u_dut.hit_q == (behind_in != '0));
        if (behind_in != '0) assert (u_dut.entry_q == (behind_in[0] ? 2'b01 : 2'b10));
        assert (u_dut.behind_lock_q == owes_q);
        if (owes_q) assert (behind.bytes == 13'd4 && behind.destination == behind_lock && behind.kind == WriteEvent);
      end
      if (u_dut.back_q == Finish && behind_in != '0) begin
        assert ({u_dut.carry_q, u_dut.address_q[31:0]} == low_sum);
      end
      if (u_dut.back_q == Out && behind_in != '0) assert (u_dut.address_q == wanted);
      if (u_dut.back_q == Out && behind_in == '0) assert (refused_q);
      // the lock word is in front as long as its record is behind or has gone
      if (u_dut.front_q != Idle) begin
        assert (u_dut.lock_q ? record_before : none_owed);
      end else begin
        assert (none_owed);
      end
      cover (valid && lock && !withheld && ready_i);
      cover (valid && withheld && lock);
    end
  end
endmodule
