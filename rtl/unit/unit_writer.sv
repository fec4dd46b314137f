// SPDX-License-Identifier: Apache-2.0
// Photons into card memory, burst behind burst, and behind those of a stack its records. A stack is done when memory has
// acknowledged the last of them: acknowledgements come in order.
module unit_writer
  import unit_pkg::*;
#(
    parameter int unsigned Room = 512  // beats of photons
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic               clear_i,        // nothing is on its way
    input  logic               push_i,
    input  write_burst_t       burst_i,
    output logic               full_o,
    input  logic               beat_i,
    input  logic               last_i,         // of its burst
    input  beat_t              photons_i,
    output logic               popped_o,       // a beat of photons
    input  logic               counted_i,      // the counts of a stack are whole
    input  logic               listed_i,       // and its lists are in card memory
    output logic               read_parity_o,
    output logic         [5:0] read_image_o,
    input  counts_t            read_i,
    input  listed_t            read_list_i,
    output logic               done_o,         // a stack is
    output logic               idle_o,
    output logic               error_o,        // one cycle: memory has refused a write
    output logic               m_axi_awvalid,
    input  logic               m_axi_awready,
    output address_t           m_axi_awaddr,
    output logic         [7:0] m_axi_awlen,
    output logic               m_axi_wvalid,
    input  logic               m_axi_wready,
    output beat_t              m_axi_wdata,
    output logic               m_axi_wlast,
    input  logic               m_axi_bvalid,
    output logic               m_axi_bready,
    input  logic         [1:0] m_axi_bresp
);
  logic photons_full, address_full, data_full, sent_full, address_there, data_there, sent_there, beat_there;
  write_burst_t address, burst;
  logic burst_taken, sent_results, taken, last, photons_last;
  // a record of the results
  logic record_there_q, record_last_q, counted_there_q;
  counts_t record_q;
  listed_t list_q;
  beat_t photons;
  logic [5:0] count_q;
  logic parity_q;
  logic [1:0] counted_q, listed_q;
  logic [5:0] open_q;  // bursts pushed and not acknowledged

  assign full_o = address_full || data_full || open_q[5];

  fifo #(
      .Width(513),
      .Depth(Room)
  ) u_photons (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .push_i (beat_i),
      .data_i ({last_i, photons_i}),
      .full_o (photons_full),
      .valid_o(beat_there),
      .data_o ({photons_last, photons}),
      .pop_i  (popped_o)
  );
  fifo #(
      .Width($bits(write_burst_t)),
      .Depth(16)
  ) u_addresses (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .push_i,
      .data_i (burst_i),
      .full_o (address_full),
      .valid_o(address_there),
      .data_o (address),
      .pop_i  (m_axi_awvalid && m_axi_awready)
  );
  fifo #(
      .Width($bits(write_burst_t)),
      .Depth(16)
  ) u_bursts (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .push_i,
      .data_i (burst_i),
      .full_o (data_full),
      .valid_o(data_there),
      .data_o (burst),
      .pop_i  (burst_taken)
  );
  fifo #(
      .Width(1),
      .Depth(64)
  ) u_sent (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .push_i,
      .data_i (burst_i.results),
      .full_o (sent_full),
      .valid_o(sent_there),
      .data_o (sent_results),
      .pop_i  (m_axi_bvalid)
  );

  assign m_axi_awvalid = address_there;
  assign m_axi_awaddr = {4'b0, address.page, 12'b0};
  assign m_axi_awlen = {2'b0, address.beats};
  assign m_axi_wvalid = data_there && (burst.results ? record_there_q : beat_there);
  assign m_axi_wdata = burst.results ? {352'b0, 8'b0, list_q.beats, 4'b0, list_q.entries, record_q} : photons;
  assign last = burst.results ? record_last_q : photons_last;
  assign m_axi_wlast = last;
  assign taken = m_axi_wvalid && m_axi_wready;
  assign popped_o = data_there && !burst.results && beat_there && m_axi_wready;
  assign burst_taken = burst.results ? data_there && record_there_q && m_axi_wready && record_last_q :
                                       popped_o && photons_last;
  assign m_axi_bready = 1'b1;
  assign read_parity_o = parity_q;
  assign read_image_o = count_q;

  always_ff @(posedge clk_i) begin
    if (!record_there_q) begin
      record_q      <= read_i;
      list_q        <= read_list_i;
      record_last_q <= count_q == burst.beats;
    end
    if (!rst_ni || clear_i) begin
      count_q   <= '0;
      parity_q  <= 1'b0;
      counted_q <= '0;
      listed_q  <= '0;
      record_there_q <= 1'b0;
      counted_there_q <= 1'b0;
      open_q    <= '0;
      done_o    <= 1'b0;
      idle_o    <= 1'b1;
      error_o   <= 1'b0;
    end else begin
      if (taken && burst.results) count_q <= record_last_q ? '0 : count_q + 6'd1;
      record_there_q  <= data_there && burst.results && counted_there_q && !record_there_q || record_there_q && !taken;
      counted_there_q <= counted_q != '0 && listed_q != '0 && !taken;
      if (burst_taken && burst.results) parity_q <= !parity_q;
      counted_q <= counted_q + 2'(counted_i) - 2'(burst_taken && burst.results);
      listed_q  <= listed_q + 2'(listed_i) - 2'(burst_taken && burst.results);
      open_q    <= open_q + 6'(push_i) - 6'(m_axi_bvalid);
      idle_o    <= open_q == '0 && !push_i;
      done_o    <= m_axi_bvalid && sent_results;
      error_o   <= m_axi_bvalid && m_axi_bresp != 2'b00;
    end
  end
  wire unused_ok = &{1'b0, photons_full, sent_full, sent_there, address.results, burst.page};
endmodule
