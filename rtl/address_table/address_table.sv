// SPDX-License-Identifier: Apache-2.0
// The card's own translation of addresses. A packet that lies inside an entry of its DTP goes on with its address at the
// host; of one that does not, nothing is written, nor of any behind it until Arm. Behind a record comes its lock word.
module address_table
  import rashpa_pkg::*;
#(
    parameter int unsigned Entries = 4  // of each DTP
) (
    input  logic                clk_i,
    input  logic                rst_ni,
    input  logic                arm_i,
    input  table_write_t        addresses_i,     // words of README.md; while nothing is on its way
    // packets, whose destination is an offset
    input  logic                valid_i,
    output logic                ready_o,
    input  packet_t             packet_i,
    // the same, whose destination is an address
    output logic                valid_o,
    input  logic                ready_i,
    output packet_t             packet_o,
    output logic                lock_o,          // it is a lock word: 4 bytes, the immediate
    output logic                withheld_o,      // nothing of it may be written
    // for registers
    output logic                error_o,         // one cycle: a packet was refused …
    output dtp_t                error_dtp_o,     // … of this DTP …
    output logic         [63:0] error_offset_o,  // … that was to go there
    output logic                idle_o
);
  localparam int unsigned Words = 6;  // of an entry: begin, end, shift
  localparam logic [6:0] LockWord = 7'(Words * Entries);

  typedef enum logic [1:0] {
    Idle,
    Sum,      // where the packet ends
    Compare,
    Pick      // the entry
  } front_e;
  typedef enum logic [1:0] {
    Free,
    Add,     // low words
    Finish,  // high words
    Out
  } back_e;

  front_e  front_q;
  back_e   back_q;
  packet_t packet_q;
  logic    lock_q;
  logic [63:0] to;
  logic [32:0] end_low_q, next_high_q, end_high;
  logic [Entries-1:0] hit, first;
  logic hands;  // from front to back

  // The packet behind, with its entry
  packet_t behind_q;
  logic behind_lock_q, hit_q, carry_q, refused_q;
  logic [Entries-1:0] entry_q;
  logic [31:0] shift_low, shift_high;
  logic [31:0] low_of[Entries], high_of[Entries];
  logic [63:0] address_q;

  assign to = packet_q.destination;
  assign end_high = end_low_q[32] ? next_high_q : {1'b0, to[63:32]};

  // The packet in front, beside every entry
  for (genvar e = 0; e < Entries; e++) begin : g_entry
    address_entry #(
        .Word(7'(Words * e))
    ) u_entry (
        .clk_i,
        .addresses_i,
        .dtp_i(packet_q.dtp),
        .sum_i(front_q == Sum),
        .compare_i(front_q == Compare),
        .begin_i(to),
        .end_low_i(end_low_q[31:0]),
        .end_high_i(end_high),
        .hit_o(hit[e]),
        .behind_dtp_i(behind_q.dtp),
        .shift_low_o(low_of[e]),
        .shift_high_o(high_of[e])
    );
    if (e == 0) begin : g_first
      assign first[e] = hit[e];
    end else begin : g_later
      assign first[e] = hit[e] && hit[e-1:0] == '0;
    end
  end

  logic [31:0] lock_low, lock_high;
  table_word #(
      .Word(LockWord)
  ) u_lock_low (
      .clk_i,
      .write_i(addresses_i),
      .dtp_i  (packet_q.dtp),
      .data_o (lock_low)
  );
  table_word #(
      .Word(LockWord + 7'd1)
  ) u_lock_high (
      .clk_i,
      .write_i(addresses_i),
      .dtp_i  (packet_q.dtp),
      .data_o (lock_high)
  );

  assign ready_o = front_q == Idle;
  assign hands   = front_q == Pick && (back_q == Free || (back_q == Out && ready_i));

  always_ff @(posedge clk_i) begin
    unique case (front_q)
      Idle: begin
        packet_q <= packet_i;
        lock_q   <= 1'b0;
      end
      Sum: begin
        end_low_q   <= {1'b0, to[31:0]} + 33'(packet_q.bytes);
        next_high_q <= {1'b0, to[63:32]} + 33'd1;
      end
      Compare: ;
      Pick:
      if (hands) begin
        lock_q <= 1'b1;
        packet_q.destination <= {lock_high, lock_low};
        packet_q.bytes <= 13'd4;
        packet_q.beats <= '0;
      end
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      front_q <= Idle;
    end else begin
      unique case (front_q)
        Idle:    if (valid_i) front_q <= Sum;
        Sum:     front_q <= Compare;
        Compare: front_q <= Pick;
        Pick:    if (hands) front_q <= packet_q.kind == WriteEvent && !lock_q ? Sum : Idle;
      endcase
    end
  end

  always_comb begin
    shift_low  = '0;
    shift_high = '0;
    for (int unsigned e = 0; e < Entries; e++) begin
      shift_low |= low_of[e] & {32{entry_q[e]}};
      shift_high |= high_of[e] & {32{entry_q[e]}};
    end
  end

  always_ff @(posedge clk_i) begin
    if (hands) begin
      behind_q <= packet_q;
      behind_lock_q <= lock_q;
      entry_q <= first;
      hit_q <= hit != '0;
    end
    if (back_q == Add) {carry_q, address_q[31:0]} <= {1'b0, behind_q.destination[31:0]} + {1'b0, shift_low};
    if (back_q == Finish) address_q[63:32] <= behind_q.destination[63:32] + shift_high + 32'(carry_q);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      back_q    <= Free;
      refused_q <= 1'b0;
      error_o   <= 1'b0;
    end else begin
      unique case (back_q)
        Free:   if (hands) back_q <= Add;
        Add:    back_q <= Finish;
        Finish: back_q <= Out;
        Out:    if (ready_i) back_q <= hands ? Add : Free;
      endcase
      error_o <= back_q == Finish && !hit_q;
      if (arm_i) refused_q <= 1'b0;
      else if (back_q == Finish && !hit_q) refused_q <= 1'b1;
    end
  end

  assign valid_o = back_q == Out;
  always_comb begin
    packet_o = behind_q;
    packet_o.destination = address_q;
  end
  assign lock_o = behind_lock_q;
  assign withheld_o = refused_q;
  assign error_dtp_o = behind_q.dtp;  // it stays for this cycle at least
  assign error_offset_o = behind_q.destination;
  assign idle_o = front_q == Idle && back_q == Free;
endmodule
