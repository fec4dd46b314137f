// SPDX-License-Identifier: Apache-2.0
// What a frame says, two bytes a cycle: whether it is a credit by its form, to which queue pair, key and address it goes,
// how many images it grants, and whether its ICRC is right.
module credit_fields
  import rashpa_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        clear_i,    // the next word is a frame's first
    input  logic        valid_i,
    input  logic [15:0] word_i,
    input  logic        last_i,
    output logic        ended_o,    // one cycle, two behind the last word. With it:
    output logic        known_o,    // a WRITE_ONLY of 8 or 16 bytes that says so itself, without IP options
    output logic        cnp_o,      // a congestion notification
    // until the next frame
    output logic [23:0] qpn_o,
    output logic [63:0] address_o,
    output logic [31:0] key_o,
    output logic [31:0] images_o,
    output logic        sum_good_o  // three cycles behind ended_o
);
  localparam logic [31:0] Start = 32'hDEBB_20E3;  // eight bytes of ones
  localparam logic [31:0] Residue = 32'hDEBB_20E3;  // of anything with its CRC behind it
  localparam logic [7:0] WriteOpcode = 8'h2A, CnpOpcode = 8'h81, Udp = 8'd17;
  localparam crc_pkg::matrix_t Forward = crc_pkg::times(crc_pkg::Crc32, crc_pkg::power(crc_pkg::Crc32, 2));
  localparam logic [63:0][15:0] Ones4 = icrc_ones(1'b0), Ones6 = icrc_ones(1'b1);
  // Words of a frame
  localparam logic [5:0] EthertypeAt = 6'd6, IpAt = 6'd7;
  localparam logic [5:0] Protocol4At = 6'd11, Protocol6At = 6'd10, Transport4At = 6'd21, Transport6At = 6'd31;
  // Words from the BTH on
  localparam logic [4:0] OpcodeAt = 5'd0, PkeyAt = 5'd1, QpnAt = 5'd2, AddressAt = 5'd6, LengthAt = 5'd12;
  localparam logic [4:0] ImagesAt = 5'd14, Last8At = 5'd19, Last16At = 5'd23, Beyond = 5'd31;

  // The word, and what it is compared with
  logic valid_q, last_q;
  logic [15:0] word_q;
  logic is_ipv4_q, is_ipv6_q, is_45_q, low_udp_q, high_udp_q, is_write_q, is_cnp_q, all_ones_q, zero_q, is_8_q, is_16_q;
  logic [5:0] next_q, at_q;  // numbers of the word that comes next, and of this one
  logic [4:0] transport_q;  // the same from the BTH on; Beyond: before it or far behind
  logic ipv6_q;

  always_ff @(posedge clk_i) begin
    word_q     <= word_i;
    last_q     <= last_i;
    is_ipv4_q  <= word_i == be16(16'h0800);
    is_ipv6_q  <= word_i == be16(16'h86DD);
    is_45_q    <= word_i[7:0] == 8'h45;
    low_udp_q  <= word_i[7:0] == Udp;
    high_udp_q <= word_i[15:8] == Udp;
    is_write_q <= word_i[13:0] == {6'h0, WriteOpcode};  // M and SE mean nothing here
    is_cnp_q   <= word_i[7:0] == CnpOpcode;
    all_ones_q <= word_i == '1;
    zero_q     <= word_i == '0;
    is_8_q     <= word_i == be16(16'd8);
    is_16_q    <= word_i == be16(16'd16);
    if (valid_i) begin
      at_q <= next_q;
      if (next_q == (ipv6_q ? Transport6At : Transport4At)) transport_q <= OpcodeAt;
      else if (next_q == '0) transport_q <= Beyond;
      else if (transport_q != Beyond) transport_q <= transport_q + 5'd1;
    end
    if (!rst_ni || clear_i) begin
      valid_q <= 1'b0;
      next_q  <= '0;
    end else begin
      valid_q <= valid_i;
      if (valid_i) next_q <= last_i ? '0 : next_q + 6'd1;
    end
  end

  // What is wrong with it
  logic wrong, wrong_q, is_16_bytes_q;
  always_comb begin
    wrong = 1'b0;
    unique case (at_q)
      EthertypeAt: wrong = !is_ipv4_q && !is_ipv6_q;
      IpAt:        wrong = !ipv6_q && !is_45_q;
      Protocol6At: wrong = ipv6_q && !low_udp_q;
      Protocol4At: wrong = !ipv6_q && !high_udp_q;
      default:     ;
    endcase
    unique case (transport_q)
      OpcodeAt:        wrong = !is_write_q;
      PkeyAt:          wrong = !all_ones_q;
      LengthAt:        wrong = !zero_q;
      LengthAt + 5'd1: wrong = !is_8_q && !is_16_q;
      default:         ;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (valid_q) begin
      wrong_q <= at_q != '0 && (wrong_q || wrong);
      known_o <= !wrong_q && transport_q == (is_16_bytes_q ? Last16At : Last8At);
      if (at_q == EthertypeAt) ipv6_q <= is_ipv6_q;
      if (at_q == '0) cnp_o <= 1'b0;
      else if (transport_q == OpcodeAt) cnp_o <= is_cnp_q && !wrong_q;
      if (transport_q == LengthAt + 5'd1) is_16_bytes_q <= is_16_q;
    end
    ended_o <= rst_ni && !clear_i && valid_q && last_q;
  end

  // Fields, the highest word first; the images begin with the lowest.
  logic [119:0] fields_q;
  assign {qpn_o, address_o, key_o} = fields_q;
  always_ff @(posedge clk_i) begin
    if (valid_q && (transport_q inside {QpnAt, QpnAt + 5'd1} || (transport_q >= AddressAt && transport_q < LengthAt)))
      fields_q <= {fields_q[103:0], be16(word_q)};
    if (valid_q && transport_q inside {ImagesAt, ImagesAt + 5'd1}) images_o <= {word_q, images_o[31:16]};
  end

  // The ICRC, from the IP header to its own end
  logic begins_q, sums_q, begins2_q, sums2_q;
  logic [15:0] masked_q;
  logic [31:0] part_q, crc_q;
  always_ff @(posedge clk_i) begin
    begins_q  <= valid_q && at_q == EthertypeAt;
    sums_q    <= valid_q && at_q >= IpAt;
    masked_q  <= word_q | (ipv6_q ? Ones6[at_q] : Ones4[at_q]);
    begins2_q <= begins_q;
    sums2_q   <= sums_q;
    part_q    <= crc_pkg::product(Forward, {16'h0, masked_q});
    if (begins2_q) crc_q <= Start;
    else if (sums2_q) crc_q <= crc_pkg::product(Forward, crc_q) ^ part_q;
    sum_good_o <= crc_q == Residue;
  end
endmodule
