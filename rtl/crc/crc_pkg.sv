// SPDX-License-Identifier: Apache-2.0
// Reflected CRCs of 32 bits as linear maps, computed at elaboration. Bit 31 of a state is the coefficient of x^0.
package crc_pkg;

  localparam logic [31:0] Crc32 = 32'hEDB88320;  // of zlib, Ethernet and the ICRC
  localparam logic [31:0] Crc32c = 32'h82F63B78;  // Castagnoli's

  // Multiplication by a power of x: row r says which bits of a state are in bit r of the product.
  typedef logic [31:0][31:0] matrix_t;

  // Times x: what a bit of zero behind a message makes of its state.
  function automatic logic [31:0] forward(logic [31:0] poly, logic [31:0] state);
    return (state >> 1) ^ (state[0] ? poly : 32'h0);
  endfunction

  // Times 1/x.
  function automatic logic [31:0] back(logic [31:0] poly, logic [31:0] state);
    return state[31] ? ((state ^ poly) << 1) | 32'h1 : state << 1;
  endfunction

  // x^bits.
  function automatic logic [31:0] power_bits(logic [31:0] poly, int unsigned bits);
    logic [31:0] value = 32'h8000_0000;
    for (int unsigned i = 0; i < bits; i++) value = forward(poly, value);
    return value;
  endfunction

  // x^(8·bytes).
  function automatic logic [31:0] power(logic [31:0] poly, int unsigned bytes);
    return power_bits(poly, 8 * bytes);
  endfunction

  // x^(−8·bytes).
  function automatic logic [31:0] power_back(logic [31:0] poly, int unsigned bytes);
    logic [31:0] value = 32'h8000_0000;
    for (int unsigned i = 0; i < 8 * bytes; i++) value = back(poly, value);
    return value;
  endfunction

  // Multiplication by `factor`.
  function automatic matrix_t times(logic [31:0] poly, logic [31:0] factor);
    matrix_t rows;
    logic [31:0] column = factor;  // of bit 31, which is x^0
    for (int c = 31; c >= 0; c--) begin
      for (int r = 0; r < 32; r++) rows[r][c] = column[r];
      column = forward(poly, column);
    end
    return rows;
  endfunction

  // x^(−8·n) for n = 0 … 63.
  function automatic logic [63:0][31:0] powers_back(logic [31:0] poly);
    logic [63:0][31:0] values;
    logic [31:0] value = 32'h8000_0000;
    for (int unsigned n = 0; n < 64; n++) begin
      values[n] = value;
      for (int unsigned i = 0; i < 8; i++) value = back(poly, value);
    end
    return values;
  endfunction

  // Of the product of two states, before the reduction: bit m is the coefficient of x^m.
  function automatic logic [62:0] carryless(logic [31:0] left, logic [31:0] right);
    logic [31:0][62:0] terms;  // added in pairs
    logic [31:0] turned;
    turned = {<<{right}};
    for (int i = 0; i < 32; i++) terms[i] = (63'(turned) << i) & {63{left[31-i]}};
    for (int half = 16; half > 0; half /= 2) for (int i = 0; i < half; i++) terms[i] ^= terms[i+half];
    return terms[0];
  endfunction

  // Row r says which of its coefficients are in bit r of the state.
  function automatic logic [31:0][62:0] reduction(logic [31:0] poly);
    logic [31:0][62:0] rows;
    logic [31:0] column = 32'h8000_0000;
    for (int m = 0; m < 63; m++) begin
      for (int r = 0; r < 32; r++) rows[r][m] = column[r];
      column = forward(poly, column);
    end
    return rows;
  endfunction

  function automatic logic [31:0] product(matrix_t rows, logic [31:0] state);
    logic [31:0] value;
    for (int r = 0; r < 32; r++) value[r] = ^(rows[r] & state);
    return value;
  endfunction

endpackage
