// SPDX-License-Identifier: Apache-2.0
// AXI-Lite to one write and one read at a time. Address and data of a write come in any order; nothing is lost while
// the master does not take its answers.
module axi_lite_slave #(
    parameter int unsigned AddressBits = 15
) (
    input logic clk_i,
    input logic rst_ni,

    input  logic                   s_axil_awvalid,
    output logic                   s_axil_awready,
    input  logic [AddressBits-1:0] s_axil_awaddr,
    input  logic                   s_axil_wvalid,
    output logic                   s_axil_wready,
    input  logic [           31:0] s_axil_wdata,
    input  logic [            3:0] s_axil_wstrb,
    output logic                   s_axil_bvalid,
    input  logic                   s_axil_bready,
    output logic [            1:0] s_axil_bresp,
    input  logic                   s_axil_arvalid,
    output logic                   s_axil_arready,
    input  logic [AddressBits-1:0] s_axil_araddr,
    output logic                   s_axil_rvalid,
    input  logic                   s_axil_rready,
    output logic [           31:0] s_axil_rdata,
    output logic [            1:0] s_axil_rresp,

    // A write lasts one cycle; its answer comes with write_done_i. Words only.
    output logic                   write_o,
    output logic [AddressBits-3:0] write_word_o,
    output logic [           31:0] write_data_o,
    input  logic                   write_done_i,
    input  logic                   write_error_i,
    // The same for reads.
    output logic                   read_o,
    output logic [AddressBits-3:0] read_word_o,
    input  logic                   read_done_i,
    input  logic                   read_error_i,
    input  logic [           31:0] read_data_i
);

  localparam logic [1:0] Okay = 2'b00;
  localparam logic [1:0] SlaveError = 2'b10;

  logic address_held_q, data_held_q, writing_q, whole_q;
  logic bvalid_q, reading_q, ask_q, rvalid_q;
  logic [AddressBits-1:0] awaddr_q, araddr_q;
  logic [31:0] wdata_q, rdata_q;
  logic [1:0] bresp_q, rresp_q;
  logic both, write_bad, read_bad;

  assign s_axil_awready = !address_held_q && !writing_q && !bvalid_q;
  assign s_axil_wready  = !data_held_q && !writing_q && !bvalid_q;
  assign both           = address_held_q && data_held_q;
  assign write_bad      = !whole_q || awaddr_q[1:0] != 2'b00;
  assign write_o        = both && !write_bad;
  assign write_word_o   = awaddr_q[AddressBits-1:2];
  assign write_data_o   = wdata_q;
  assign s_axil_bvalid  = bvalid_q;
  assign s_axil_bresp   = bresp_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      address_held_q <= 1'b0;
      data_held_q    <= 1'b0;
      writing_q      <= 1'b0;
      bvalid_q       <= 1'b0;
    end else begin
      if (s_axil_awvalid && s_axil_awready) address_held_q <= 1'b1;
      if (s_axil_wvalid && s_axil_wready) data_held_q <= 1'b1;
      if (both) begin
        address_held_q <= 1'b0;
        data_held_q    <= 1'b0;
        writing_q      <= !write_bad;
        bvalid_q       <= write_bad;
      end
      if (writing_q && write_done_i) begin
        writing_q <= 1'b0;
        bvalid_q  <= 1'b1;
      end
      if (bvalid_q && s_axil_bready) bvalid_q <= 1'b0;
    end
    if (s_axil_awready) awaddr_q <= s_axil_awaddr;
    if (s_axil_wready) begin
      wdata_q <= s_axil_wdata;
      whole_q <= s_axil_wstrb == 4'hF;
    end
    if (both) bresp_q <= SlaveError;
    else if (writing_q && write_done_i) bresp_q <= write_error_i ? SlaveError : Okay;
  end

  assign s_axil_arready = !reading_q && !rvalid_q;
  assign read_bad       = araddr_q[1:0] != 2'b00;
  assign read_o         = ask_q && !read_bad;
  assign read_word_o    = araddr_q[AddressBits-1:2];
  assign s_axil_rvalid  = rvalid_q;
  assign s_axil_rdata   = rdata_q;
  assign s_axil_rresp   = rresp_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      reading_q <= 1'b0;
      ask_q     <= 1'b0;
      rvalid_q  <= 1'b0;
    end else begin
      ask_q <= s_axil_arvalid && s_axil_arready;
      if (s_axil_arvalid && s_axil_arready) reading_q <= 1'b1;
      if (reading_q && (read_done_i || (ask_q && read_bad))) begin
        reading_q <= 1'b0;
        rvalid_q  <= 1'b1;
      end
      if (rvalid_q && s_axil_rready) rvalid_q <= 1'b0;
    end
    if (s_axil_arready) araddr_q <= s_axil_araddr;
    if (reading_q) begin
      rdata_q <= read_done_i && !read_error_i ? read_data_i : '0;
      rresp_q <= read_done_i && !read_error_i ? Okay : SlaveError;
    end
  end

endmodule
