// SPDX-License-Identifier: Apache-2.0
// Brings the calibration of half of the lanes from card memory, block after block, into two banks in turn: while one is used the
// other is filled. A block is 24 KiB: gain 0, 1, 2; of each 64 beats; of each 16 lanes; of each pedestal and factor.
module unit_calibration
  import unit_pkg::*;
(
    input  logic            clk_i,
    input  logic            rst_ni,
    input  logic            stop_i,         // no burst begins; banks are emptied
    input  logic     [ 2:0] posted_i,       // stacks: no more than Slots ahead
    input  logic     [ 2:0] dropped_i,      // of these, by the last Abort: taken over while stop_i
    input  logic     [15:0] blocks_i,
    input  page_t           page_i,
    output logic     [ 1:0] loaded_o,       // blocks, modulo 4
    input  logic            free_i,         // a bank has been used for the last time
    input  logic            free_bank_i,
    output logic            idle_o,
    output logic            error_o,        // one cycle: memory has refused a read
    output logic            m_axi_arvalid,
    input  logic            m_axi_arready,
    output address_t        m_axi_araddr,
    output logic     [ 7:0] m_axi_arlen,
    input  logic            m_axi_rvalid,
    output logic            m_axi_rready,
    input  logic     [ 1:0] m_axi_rresp,
    // into the tables: eight lanes at a time
    output logic            write_o,
    output logic            write_half_o,   // which eight of the sixteen
    output logic     [ 8:0] write_place_o   // bank, gain, beat
);
  localparam logic [2:0] Bursts = 3'd6;

  // asked for
  logic [2:0] stack_q;
  logic [15:0] block_q;
  page_t page_q;
  logic [2:0] burst_q;
  logic bank_q, arvalid_q, wanted_q, fresh_q, last_block_q, begins, asked;
  logic [1:0] claimed_q;  // banks that are filled, or full
  logic [1:0] pending_q;  // blocks that are asked for and have not come
  // come
  logic [8:0] beat_q;
  logic come_bank_q, taken, ends;
  logic [1:0] loaded_q;

  assign taken = arvalid_q && m_axi_arready;
  assign asked = taken && burst_q + 3'd1 == Bursts;
  assign begins = !arvalid_q && !stop_i && wanted_q && fresh_q && !claimed_q[bank_q];
  assign ends = m_axi_rvalid && beat_q == 9'd383;
  assign m_axi_arvalid = arvalid_q;
  assign m_axi_araddr = {4'b0, page_q, 12'b0};
  assign m_axi_arlen = 8'd63;
  assign m_axi_rready = 1'b1;
  assign loaded_o = loaded_q;
  assign idle_o = !arvalid_q && pending_q == '0;
  assign error_o = m_axi_rvalid && m_axi_rresp != 2'b00;
  assign write_o = m_axi_rvalid;
  assign write_half_o = beat_q[0];
  assign write_place_o = {come_bank_q, beat_q[8:7], beat_q[6:1]};

  always_ff @(posedge clk_i) begin
    wanted_q <= stack_q != posted_i;
    fresh_q <= !taken && !stop_i;  // wanted_q knows of the block before
    last_block_q <= block_q + 16'd1 == blocks_i;
    if (!rst_ni) begin
      stack_q     <= '0;
      block_q     <= '0;
      page_q      <= '0;
      burst_q     <= '0;
      bank_q      <= 1'b0;
      arvalid_q   <= 1'b0;
      claimed_q   <= '0;
      pending_q   <= '0;
      beat_q      <= '0;
      come_bank_q <= 1'b0;
      loaded_q    <= '0;
    end else begin
      if (free_i) claimed_q[free_bank_i] <= 1'b0;
      pending_q <= pending_q + 2'(begins) - 2'(ends);
      if (begins) begin
        arvalid_q         <= 1'b1;
        burst_q           <= '0;
        claimed_q[bank_q] <= 1'b1;
        if (block_q == '0) page_q <= page_i;
      end
      if (taken) begin
        page_q  <= page_q + 32'd1;
        burst_q <= burst_q + 3'd1;
      end
      if (asked) begin
        arvalid_q <= 1'b0;
        bank_q    <= !bank_q;
        block_q   <= last_block_q ? '0 : block_q + 16'd1;
        if (last_block_q) stack_q <= stack_q + 3'd1;
      end
      if (m_axi_rvalid) beat_q <= ends ? '0 : beat_q + 9'd1;
      if (ends) begin
        come_bank_q <= !come_bank_q;
        loaded_q    <= loaded_q + 2'd1;
      end
      if (stop_i && idle_o) begin
        stack_q     <= dropped_i;
        block_q     <= '0;
        bank_q      <= 1'b0;
        claimed_q   <= '0;
        come_bank_q <= 1'b0;
        loaded_q    <= '0;
      end
    end
  end
endmodule
