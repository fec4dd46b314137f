// SPDX-License-Identifier: Apache-2.0
// The CRC32C of the payload of each DTP: C = (begins ? FFFFFFFF : C)·factor + CRC0(line), a line a packet.
module payload_crc
  import rashpa_pkg::*;
(
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic         valid_i,         // a beat with payload
    input  logic         last_i,          // the packet's last one with payload
    input  logic [511:0] data_i,          // 0 where no payload is
    // Of the packet, with its last beat:
    input  logic [  5:0] zeros_i,         // bytes behind the payload in it
    input  dtp_t         dtp_i,
    input  logic         begins_image_i,
    input  logic [ 31:0] factor_i,        // x^(8·bytes) modulo the polynomial
    // As an image ends:
    input  dtp_t         read_dtp_i,
    output logic [ 31:0] crc_o,           // of what came of this DTP; in the same cycle
    output logic         busy_o           // something that came is not in crc_o yet
);

  import crc_pkg::*;

  localparam logic [31:0] Poly = Crc32c;
  localparam logic [63:0][31:0] Inverse = powers_back(Poly);
  localparam logic [31:0][62:0] Reduction = reduction(Poly);

  typedef struct packed {
    dtp_t        dtp;
    logic        begins;
    logic [31:0] factor;
  } packet_info_t;

  // The CRC of a packet, from state 0. What is said of it goes along.
  logic first_q, line_valid;
  logic [31:0] line;
  packet_info_t along_q[3];
  logic [5:0] zeros_q[3];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) first_q <= 1'b1;
    else if (valid_i) first_q <= last_i;
    along_q[0] <= '{dtp: dtp_i, begins: begins_image_i, factor: factor_i};
    zeros_q[0] <= zeros_i;
    for (int unsigned i = 1; i < 3; i++) begin
      along_q[i] <= along_q[i-1];
      zeros_q[i] <= zeros_q[i-1];
    end
  end

  crc512 #(
      .Poly(Poly)
  ) u_crc (
      .clk_i,
      .rst_ni,
      .valid_i,
      .first_i(first_q),
      .last_i,
      .start_i('0),
      .data_i,
      .valid_o(line_valid),
      .state_o(line)
  );

  // A job takes two cycles; packets that end in one cycle and the next wait here.
  logic [31:0] job_line_q[4];
  logic [31:0] job_power_q[4];
  packet_info_t job_info_q[4];
  logic [1:0] put_q, get_q;
  logic start, odd_q;

  assign start = put_q != get_q && !odd_q;

  always_ff @(posedge clk_i) begin
    if (line_valid) begin
      job_line_q[put_q]  <= line;
      job_power_q[put_q] <= Inverse[zeros_q[2]];
      job_info_q[put_q]  <= along_q[2];
    end
    if (!rst_ni) begin
      put_q <= '0;
      get_q <= '0;
      odd_q <= 1'b0;
    end else begin
      put_q <= put_q + 2'(line_valid);
      get_q <= get_q + 2'(start);
      odd_q <= start;
    end
  end

  // One multiplier, two products a job: line · x^(−8·zeros), a cycle later C · factor; reduced two cycles later.
  packet_info_t info_q;
  dtp_t dtp_q;
  logic [1:0] write_q;
  logic forward_q;
  logic [31:0] state_q[Dtps];
  logic [31:0] left_q, right_q, reduced, line_q, next;
  logic [62:0] product_q;

  always_comb begin
    for (int unsigned r = 0; r < 32; r++) reduced[r] = ^(Reduction[r] & product_q);
  end
  assign next = reduced ^ line_q;

  always_ff @(posedge clk_i) begin
    if (!odd_q) begin
      left_q <= job_line_q[get_q];
      right_q <= job_power_q[get_q];
      info_q <= job_info_q[get_q];
      // What the job before writes in the next cycle is what this one reads in it.
      forward_q <= write_q[0] && dtp_q == job_info_q[get_q].dtp;
    end else begin
      left_q  <= (forward_q ? next : state_q[info_q.dtp]) | {32{info_q.begins}};
      right_q <= info_q.factor;
      dtp_q   <= info_q.dtp;
    end
    product_q <= carryless(left_q, right_q);
    line_q <= reduced;
    if (write_q[1]) state_q[dtp_q] <= next;
    if (!rst_ni) write_q <= '0;
    else write_q <= {write_q[0], odd_q};
  end

  // Packets that came and are not in a state.
  logic [3:0] open_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) open_q <= '0;
    else open_q <= open_q + 4'(valid_i && first_q) - 4'(write_q[1]);
  end

  assign busy_o = open_q != '0;
  assign crc_o  = ~state_q[read_dtp_i];

endmodule
