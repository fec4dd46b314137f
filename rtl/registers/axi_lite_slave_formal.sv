// SPDX-License-Identifier: Apache-2.0
// Any master that keeps to AXI: no answer without a question, none lost, none changed before it is taken.
module axi_lite_slave_formal (
    input logic        clk_i,
    input logic        awvalid,
    input logic [14:0] awaddr,
    input logic        wvalid,
    input logic [31:0] wdata,
    input logic [ 3:0] wstrb,
    input logic        bready,
    input logic        arvalid,
    input logic [14:0] araddr,
    input logic        rready,
    input logic        write_soon,
    input logic        write_error,
    input logic        read_soon,
    input logic        read_error,
    input logic [31:0] read_data
);

  logic rst_n = 1'b0;
  logic past = 1'b0;  // there was a cycle before, without reset
  logic awready, wready, bvalid, arready, rvalid, write, read, write_done, read_done;
  logic [1:0] bresp, rresp;
  logic [31:0] rdata, write_data;
  logic [12:0] write_word, read_word;

  axi_lite_slave u_dut (
      .clk_i,
      .rst_ni(rst_n),
      .s_axil_awvalid(awvalid),
      .s_axil_awready(awready),
      .s_axil_awaddr(awaddr),
      .s_axil_wvalid(wvalid),
      .s_axil_wready(wready),
      .s_axil_wdata(wdata),
      .s_axil_wstrb(wstrb),
      .s_axil_bvalid(bvalid),
      .s_axil_bready(bready),
      .s_axil_bresp(bresp),
      .s_axil_arvalid(arvalid),
      .s_axil_arready(arready),
      .s_axil_araddr(araddr),
      .s_axil_rvalid(rvalid),
      .s_axil_rready(rready),
      .s_axil_rdata(rdata),
      .s_axil_rresp(rresp),
      .write_o(write),
      .write_word_o(write_word),
      .write_data_o(write_data),
      .write_done_i(write_done),
      .write_error_i(write_error),
      .read_o(read),
      .read_word_o(read_word),
      .read_done_i(read_done),
      .read_error_i(read_error),
      .read_data_i(read_data)
  );

  always_ff @(posedge clk_i) begin
    rst_n <= 1'b1;
    past  <= rst_n;
  end

  // Questions that have no answer yet: at most one of each kind.
  logic [1:0] addresses = 2'd0, words = 2'd0, reads = 2'd0;
  logic writing = 1'b0;  // given to the registers, not done
  logic [14:0] address;
  logic [31:0] data;
  logic [3:0] strobes;
  always_ff @(posedge clk_i) begin
    if (awvalid && awready) address <= awaddr;
    if (wvalid && wready) begin
      data    <= wdata;
      strobes <= wstrb;
    end
    if (!rst_n) begin
      addresses <= 2'd0;
      words     <= 2'd0;
      reads     <= 2'd0;
      writing   <= 1'b0;
    end else begin
      addresses <= addresses + 2'(awvalid && awready) - 2'(bvalid && bready);
      words     <= words + 2'(wvalid && wready) - 2'(bvalid && bready);
      reads     <= reads + 2'(arvalid && arready) - 2'(rvalid && rready);
      if (write) writing <= 1'b1;
      else if (write_done) writing <= 1'b0;
    end
  end

  // The registers answer what they were asked.
  logic asked = 1'b0;
  always_ff @(posedge clk_i) asked <= rst_n && (read || (asked && !read_done));
  assign write_done = writing && write_soon;
  assign read_done  = asked && read_soon;

  logic b_wait = 1'b0, r_wait = 1'b0;
  logic [1:0] bresp_before, rresp_before;
  logic [31:0] rdata_before;
  always_ff @(posedge clk_i) begin
    b_wait       <= rst_n && bvalid && !bready;
    r_wait       <= rst_n && rvalid && !rready;
    bresp_before <= bresp;
    rresp_before <= rresp;
    rdata_before <= rdata;
    if (rst_n && past) begin
      // An answer stays until it is taken.
      if (b_wait) assert (bvalid && bresp == bresp_before);
      if (r_wait) assert (rvalid && rresp == rresp_before && rdata == rdata_before);
      // No answer without both parts of the question; no more than one open.
      assert (addresses <= 2'd1 && words <= 2'd1 && reads <= 2'd1);
      if (bvalid) assert (addresses == 2'd1 && words == 2'd1 && !writing);
      if (rvalid) assert (reads == 2'd1);
      if (addresses == 2'd1) assert (!awready);
      if (words == 2'd1) assert (!wready);
      if (reads == 2'd1) assert (!arready);
      // What the registers see is what the master said: whole words only.
      if (write) assert (addresses == 2'd1 && words == 2'd1 && strobes == 4'hF && address == {write_word, 2'b00});
      if (write) assert (write_data == data && !writing && !bvalid);
      if (read) assert (reads == 2'd1 && !rvalid);
      // Nothing hangs: an open question is with the registers, or answered, or about to be.
      if (addresses == 2'd1 && words == 2'd1) assert (writing || bvalid || u_dut.address_held_q && u_dut.data_held_q);
      // what k-induction has to know
      assert (u_dut.address_held_q == (addresses == 2'd1 && !writing && !bvalid));
      assert (u_dut.data_held_q == (words == 2'd1 && !writing && !bvalid));
      assert (u_dut.writing_q == writing);
      if (writing) assert (addresses == 2'd1 && words == 2'd1 && !bvalid);
      assert (u_dut.reading_q == (reads == 2'd1 && !rvalid));
      assert (!(u_dut.ask_q && asked));
      if (u_dut.ask_q || asked) assert (u_dut.reading_q);
      if (u_dut.address_held_q) assert (u_dut.awaddr_q == address);
      if (u_dut.data_held_q) assert (u_dut.wdata_q == data && u_dut.whole_q == (strobes == 4'hF));
      cover (bvalid && bresp == 2'b00);
      cover (rvalid && rresp == 2'b10);
    end
  end

endmodule
