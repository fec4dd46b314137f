// SPDX-License-Identifier: Apache-2.0
// Whatever software rings and receivers grant: the single counts are the last ones that were rung; of any DTP, what counts is
// what software rang, or the later one of what it and the receiver granted, once both have stayed for 34 cycles; and when
// neither ever falls, what counts does not.
module doorbells_formal
  import rashpa_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,
    input sender_pkg::doorbell_write_t write_i,
    input logic [31:0] credit_granted_i,
    input logic grants_i,  // the receiver of the DTP that is looked at grants something else:
    input logic [31:0] receiver_i,  // so many
    input dtp_t status_dtp_i
);
  localparam logic [5:0] Late = 6'd34;  // the turn comes once in 32 cycles and takes three

  dtp_t looked_at_q;  // any
  dtp_t credit_dtp;
  logic [31:0] granted, frames, status_granted;
  logic [3:0][31:0] single;
  doorbells dut (
      .clk_i,
      .rst_ni,
      .write_i,
      .credit_dtp_o(credit_dtp),
      .credit_granted_i,
      .dtp_i(looked_at_q),
      .granted_o(granted),
      .frames_available_o(frames),
      .status_dtp_i,
      .status_granted_o(status_granted),
      .single_o(single)
  );

  logic running_q = 1'b0;
  always_ff @(posedge clk_i) begin
    running_q   <= 1'b1;
    looked_at_q <= looked_at_q;
  end

  // What was rung and granted, and for how long it has stayed
  logic [3:0][31:0] single_q;
  logic [31:0] software_q, available_q, receiver_q, granted_q;
  logic [5:0] granted_for_q, frames_for_q;
  logic rings, announces, good_q;
  assign rings = write_i.valid && write_i.word == {2'd0, looked_at_q};
  assign announces = write_i.valid && write_i.word == {2'd1, looked_at_q};
  always_ff @(posedge clk_i) begin
    good_q    <= rst_ni;
    granted_q <= granted;
    if (!rst_ni) begin
      single_q      <= '0;
      software_q    <= '0;
      available_q   <= '0;
      receiver_q    <= '0;
      granted_for_q <= '0;
      frames_for_q  <= '0;
    end else begin
      if (write_i.valid && write_i.word[5:2] == 4'hF) single_q[write_i.word[1:0]] <= write_i.data;
      if (rings) software_q <= write_i.data;
      if (announces) available_q <= write_i.data;
      if (grants_i) receiver_q <= receiver_i;
      if (rings || grants_i) granted_for_q <= '0;
      else if (granted_for_q != Late) granted_for_q <= granted_for_q + 6'd1;
      if (announces) frames_for_q <= '0;
      else if (frames_for_q != Late) frames_for_q <= frames_for_q + 6'd1;
    end
  end
  always_comb begin
    if (!running_q) assume (!rst_ni);
    if (credit_dtp == looked_at_q) assume (credit_granted_i == receiver_q);
  end

  // Cycles since its turn
  logic [4:0] of_granted, of_frames;
  logic [1:0] since_q;  // two cycles of it behind the reset: what is on its way is no longer from before it
  assign of_granted = dut.turn_q - {1'b0, looked_at_q};
  assign of_frames  = dut.turn_q - {1'b1, looked_at_q};
  always_ff @(posedge clk_i) since_q <= rst_ni ? {since_q[0], 1'b1} : '0;

  // As if they never fell: until one does. They are compared as numbers that do not turn over.
  logic falls_q, known_q, known_before_q;  // there is a count since the reset
  function automatic logic is_low(logic [31:0] count);
    return count < 32'h4000_0000;
  endfunction
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      falls_q <= 1'b0;
      known_q <= 1'b0;
      known_before_q <= 1'b0;
    end else begin
      if (rings && (write_i.data < software_q || !is_low(write_i.data))) falls_q <= 1'b1;
      if (grants_i && (receiver_i < receiver_q || !is_low(receiver_i))) falls_q <= 1'b1;
      known_q <= known_q || (of_granted == 5'd2 && since_q[1]);
      known_before_q <= known_q;
    end
  end
  function automatic logic [31:0] later(logic [31:0] a, logic [31:0] b);
    return a < b ? b : a;
  endfunction

  logic [31:0] later_one;
  assign later_one = 32'(receiver_q - software_q) < 32'h8000_0000 ? receiver_q : software_q;
  always_ff @(posedge clk_i) begin
    if (rst_ni && running_q && good_q) begin
      assert (single == single_q);
      if (status_dtp_i == looked_at_q) assert (status_granted == granted);
      if (frames_for_q == Late) assert (frames == available_q);
      if (granted_for_q == Late) assert (granted == later_one);
      if (!falls_q && known_before_q) assert (granted >= granted_q);
      // what induction has to know
      assert ((dut.rung_q[{1'b0, looked_at_q}] ? dut.rung[{1'b0, looked_at_q}] : '0) == software_q);
      assert ((dut.rung_q[{1'b1, looked_at_q}] ? dut.rung[{1'b1, looked_at_q}] : '0) == available_q);
      if (since_q[0]) assert (dut.turn1_q == dut.turn_q - 5'd1);
      if (since_q[1]) assert (dut.turn2_q == dut.turn_q - 5'd2);
      // the frames that the turn's last look saw
      if (frames_for_q >= 6'(of_frames)) begin
        if (of_frames == 5'd1) assert (dut.software1_q == available_q);
        if (of_frames == 5'd2) assert (dut.software2_q == available_q);
        if (of_frames >= 5'd3) assert (frames == available_q);
      end
      if (granted_for_q >= 6'(of_granted)) begin
        if (of_granted == 5'd1) assert (dut.software1_q == software_q && dut.receiver1_q == receiver_q);
        if (of_granted == 5'd2) assert (dut.software2_q == software_q && dut.receiver2_q == receiver_q);
        if (of_granted == 5'd2) assert (dut.receiver_later_q == (32'(receiver_q - software_q) < 32'h8000_0000));
        if (of_granted >= 5'd3) assert (granted == later_one);
      end
      // … and the look before it
      if (frames_for_q >= 6'd32 + 6'(of_frames)) assert (frames == available_q);
      if (granted_for_q >= 6'd32 + 6'(of_granted)) assert (granted == later_one);
      // if nothing falls
      if (!falls_q) begin
        assert (is_low(software_q) && is_low(receiver_q));
        if (known_q) assert (granted <= later(software_q, receiver_q));
        if (of_granted == 5'd1 && since_q[0]) begin
          assert (dut.software1_q <= software_q && dut.receiver1_q <= receiver_q);
          if (known_q) assert (granted <= later(dut.software1_q, dut.receiver1_q));
        end
        if (of_granted == 5'd2 && since_q[1]) begin
          assert (dut.software2_q <= software_q && dut.receiver2_q <= receiver_q);
          assert (dut.receiver_later_q == (32'(dut.receiver2_q - dut.software2_q) < 32'h8000_0000));
          if (known_q) assert (granted <= later(dut.software2_q, dut.receiver2_q));
        end
      end
      if (known_q) assert (since_q[1]);
      if (known_before_q) assert (known_q);
      cover (
          granted_for_q >= 6'(of_granted) && of_granted == 5'd3 && granted == receiver_q && software_q != '0
              && receiver_q != software_q
      );
      cover (!falls_q && known_before_q && granted == software_q && granted != '0 && receiver_q != '0);
      cover (frames_for_q >= 6'(of_frames) && of_frames == 5'd3 && frames != '0);
    end
  end
endmodule
