// SPDX-License-Identifier: Apache-2.0
// What receivers write back: RDMA WRITE of 8 or 16 bytes, Unreliable Connected, to the credit words of a DTP: images
// granted, and bytes received, which the card does not need. A frame is kept, its ICRC checked two bytes a cycle, and
// its DTP looked for; what comes meanwhile is missed, and said: credits are repeated. The count never falls.
module credit_receiver
  import rashpa_pkg::*;
  import card_registers_pkg::*;
(
    input  logic                          clk_i,
    input  logic                          rst_ni,
    input  logic                          arm_i,          // nothing is granted
    input  table_write_t                  table_i,
    input  logic                          s_axis_tvalid,  // taken every cycle
    input  beat_t                         s_axis_tdata,
    input  logic         [    63:0]       s_axis_tkeep,
    input  logic                          s_axis_tlast,
    output logic                          ready_o,        // a beat that comes now is not missed
    output logic         [Dtps-1:0][31:0] granted_o,      // images, modulo 2^32
    // one cycle each
    output logic                          credit_o,
    output logic                          cnp_o,
    output logic                          ignored_o,      // no credit of ours
    output logic                          icrc_bad_o,
    output logic                          missed_o
);
  localparam logic [31:0] Start = 32'hDEBB_20E3;  // eight bytes of ones
  localparam logic [7:0] WriteOpcode = 8'h2A, CnpOpcode = 8'h81;
  localparam int unsigned Eth = 14, MostBytes = 110;
  localparam int unsigned Rest = MostBytes - Eth;
  localparam crc_pkg::matrix_t Forward = crc_pkg::times(crc_pkg::Crc32, crc_pkg::power(crc_pkg::Crc32, 2));

  typedef enum logic [2:0] {
    Collect,
    Second,   // the second beat is awaited
    Skip,     // the rest of a frame that is too long
    Parse,
    Sum,
    Search,
    Judge
  } state_e;

  state_e             state_q;
  logic               begins_q;  // the next beat is a frame's first
  logic   [8*128-1:0] frame_q;
  logic   [      6:0] beat_bytes;
  logic [7:0] bytes_q, payload_bytes;
  logic ipv6, known;
  logic [8*40-1:0] transport;  // BTH, RETH, the first 8 bytes of payload
  logic            unused;
  logic [8*Rest-1:0] masked, left_q;
  logic [ 5:0] steps_q;  // pairs of bytes before the ICRC
  logic [31:0] crc_q;
  dtp_t        dtp_q;
  logic found_q, last_q, same_key, same_place;
  logic [23:0] qpn_q;
  logic [63:0] address_q;
  logic [31:0] key_q, granted_q, ahead;
  logic [31:0] word_qpn, word_low, word_high, word_key;

  table_word #(
      .Word(DtpTableCreditQpnWord)
  ) u_qpn (
      .clk_i,
      .write_i(table_i),
      .dtp_i  (dtp_q),
      .data_o (word_qpn)
  );
  table_word #(
      .Word(DtpTableCreditAddressWord)
  ) u_low (
      .clk_i,
      .write_i(table_i),
      .dtp_i  (dtp_q),
      .data_o (word_low)
  );
  table_word #(
      .Word(DtpTableCreditAddressWord + 7'd1)
  ) u_high (
      .clk_i,
      .write_i(table_i),
      .dtp_i  (dtp_q),
      .data_o (word_high)
  );
  table_word #(
      .Word(DtpTableCreditKeyWord)
  ) u_key (
      .clk_i,
      .write_i(table_i),
      .dtp_i  (dtp_q),
      .data_o (word_key)
  );

  always_comb begin
    beat_bytes = '0;
    for (int b = 0; b < 64; b++) beat_bytes += 7'(s_axis_tkeep[b]);
  end

  // Fields of the frame that is kept
  assign ipv6 = frame_q[8*12+:16] == 16'hDD86;
  assign transport = ipv6 ? frame_q[8*62+:8*40] : frame_q[8*42+:8*40];
  logic [8*128-1:0] all;
  assign all = frame_q | icrc_ones(ipv6);
  assign masked = all[8*Eth+:8*Rest];
  assign unused = ^{all, transport, word_qpn};
  assign payload_bytes = bytes_q - (ipv6 ? 8'd94 : 8'd74);
  // A WRITE_ONLY of 8 or 16 bytes that says so itself, in an IP packet without options. RNICs set M (migration), some
  // senders SE (solicited event): both mean nothing here.
  assign known = transport[13:0] == {6'h0, WriteOpcode} && transport[31:16] == 16'hFFFF && be32(
      transport[8*24+:32]
  ) == 32'(payload_bytes) && (payload_bytes == 8'd8 || payload_bytes == 8'd16) &&
      (ipv6 ? frame_q[8*20+:8] == 8'd17 : frame_q[8*12+:24] == 24'h45_0008 && frame_q[8*23+:8] == 8'd17);

  assign same_key = key_q == word_key;
  assign same_place = address_q == {word_high, word_low};
  assign ahead = granted_q - granted_o[dtp_q];

  assign ready_o = state_q == Collect || state_q == Second || state_q == Skip;

  always_ff @(posedge clk_i) begin
    if (s_axis_tvalid && state_q == Collect && begins_q) begin
      frame_q[511:0] <= s_axis_tdata;
      bytes_q <= 8'(beat_bytes);
    end
    if (s_axis_tvalid && state_q == Second) begin
      frame_q[1023:512] <= s_axis_tdata;
      bytes_q <= bytes_q + 8'(beat_bytes);
    end
    if (state_q == Parse) begin
      left_q <= masked;
      crc_q <= Start;
      steps_q <= 6'((bytes_q - 8'(Eth + 4)) >> 1);
      qpn_q <= 24'(be32(transport[8*4+:32]));
      address_q <= {be32(transport[8*12+:32]), be32(transport[8*16+:32])};
      key_q <= be32(transport[8*20+:32]);
      granted_q <= transport[8*28+:32];
      dtp_q <= '0;
      found_q <= 1'b0;
      last_q <= 1'b0;
    end
    if (state_q == Sum && steps_q != '0) begin
      left_q  <= {16'h0, left_q[8*Rest-1:16]};
      crc_q   <= crc_pkg::product(Forward, crc_q ^ {16'h0, left_q[15:0]});
      steps_q <= steps_q - 6'd1;
    end
    if (state_q == Search && !found_q) begin
      if (word_qpn[23:0] == qpn_q && qpn_q != '0 && same_key && same_place) found_q <= 1'b1;
      else if (dtp_q == 4'd15) last_q <= 1'b1;
      else dtp_q <= dtp_q + 4'd1;
    end
  end

  always_ff @(posedge clk_i) begin
    credit_o <= 1'b0;
    cnp_o <= 1'b0;
    ignored_o <= 1'b0;
    icrc_bad_o <= 1'b0;
    missed_o <= 1'b0;
    if (!rst_ni) begin
      state_q   <= Collect;
      begins_q  <= 1'b1;
      granted_o <= '0;
    end else begin
      if (s_axis_tvalid) begins_q <= s_axis_tlast;
      missed_o <= s_axis_tvalid && s_axis_tlast && !(state_q == Collect && begins_q) && state_q != Second
          && state_q != Skip;
      unique case (state_q)
        Collect: if (s_axis_tvalid && begins_q) state_q <= s_axis_tlast ? Parse : Second;
        Second: if (s_axis_tvalid) state_q <= s_axis_tlast ? Parse : Skip;
        Skip:
        if (s_axis_tvalid && s_axis_tlast) begin
          ignored_o <= 1'b1;
          state_q   <= Collect;
        end
        Parse: begin
          cnp_o <= transport[7:0] == CnpOpcode;
          ignored_o <= !known && transport[7:0] != CnpOpcode;
          state_q <= known ? Sum : Collect;
        end
        Sum: if (steps_q == '0) state_q <= Search;
        Search: if (found_q || last_q) state_q <= Judge;
        Judge: begin
          state_q <= Collect;
          if (left_q[31:0] != ~crc_q) icrc_bad_o <= 1'b1;
          else if (!found_q) ignored_o <= 1'b1;
          else if (ahead != '0 && !ahead[31]) begin
            credit_o <= 1'b1;
            granted_o[dtp_q] <= granted_q;
          end
        end
        default: state_q <= Collect;
      endcase
      if (arm_i) granted_o <= '0;
    end
  end
endmodule
