// SPDX-License-Identifier: Apache-2.0
// Bursts on their way to the host: their addresses, whose they are, how many have been answered. Answers come in order.
module write_bursts
  import rashpa_pkg::*;
#(
    parameter  int unsigned Bursts    = 128,                // that may be under way
    localparam int unsigned CountBits = $clog2(Bursts) + 2
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic                 push_i,
    input  logic [         57:0] address_i,      // in beats
    input  logic [          6:0] beats_i,        // 1 … 64
    input  logic [         57:0] second_at_i,    // another one behind it …
    input  logic [          6:0] second_i,       // … of so many beats; 0: none
    output logic                 second_o,       // it is pushed in this cycle: none may come
    input  dtp_t                 dtp_i,
    output logic                 full_o,         // perhaps no room for eight more
    output logic [CountBits-1:0] issued_o,       // bursts pushed, modulo 2^CountBits
    output logic [CountBits-1:0] answered_o,
    output logic                 idle_o,
    output logic                 error_o,        // one cycle: the host has refused a write, answered_o counts it …
    output dtp_t                 error_dtp_o,    // … of this DTP
    output logic                 m_axi_awvalid,
    input  logic                 m_axi_awready,
    output logic [         63:0] m_axi_awaddr,
    output logic [          7:0] m_axi_awlen,
    input  logic                 m_axi_bvalid,
    output logic                 m_axi_bready,
    input  logic [          1:0] m_axi_bresp
);
  logic address_full, names_full, named;
  logic [57:0] address;
  logic [ 6:0] beats;
  dtp_t        name;
  logic [CountBits-1:0] issued_q, answered_q, open;
  logic second_q, push;
  logic [57:0] second_at_q;
  logic [ 6:0] second_beats_q;
  dtp_t        second_dtp_q;

  assign second_o = second_q;
  assign push = push_i || second_q;

  fifo #(
      .Width(58 + 7),
      .Depth(Bursts)
  ) u_addresses (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .push_i (push),
      .data_i (second_q ? {second_at_q, second_beats_q} : {address_i, beats_i}),
      .full_o (address_full),
      .valid_o(m_axi_awvalid),
      .data_o ({address, beats}),
      .pop_i  (m_axi_awvalid && m_axi_awready)
  );
  fifo #(
      .Width(4),
      .Depth(Bursts)
  ) u_names (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .push_i (push),
      .data_i (second_q ? second_dtp_q : dtp_i),
      .full_o (names_full),
      .valid_o(named),
      .data_o (name),
      .pop_i  (m_axi_bvalid && named)
  );
  assign m_axi_awaddr = {address, 6'b0};
  assign m_axi_awlen = {1'b0, beats} - 8'd1;
  assign m_axi_bready = 1'b1;
  assign issued_o = issued_q;
  assign answered_o = answered_q;
  assign open = issued_q - answered_q;

  always_ff @(posedge clk_i) begin
    error_dtp_o <= name;
    second_at_q <= second_at_i;
    second_beats_q <= second_i;
    second_dtp_q <= dtp_i;
    if (!rst_ni) begin
      second_q   <= 1'b0;
      issued_q   <= '0;
      answered_q <= '0;
      full_o     <= 1'b0;
      idle_o     <= 1'b1;
      error_o    <= 1'b0;
    end else begin
      second_q   <= push_i && second_i != '0;
      issued_q   <= issued_q + CountBits'(push);
      answered_q <= answered_q + CountBits'(m_axi_bvalid && named);
      full_o     <= open >= CountBits'(Bursts - 8);
      idle_o     <= open == '0 && !push;
      error_o    <= m_axi_bvalid && named && m_axi_bresp != 2'b00;
    end
  end
  wire unused_ok = &{1'b0, address_full, names_full};
endmodule
