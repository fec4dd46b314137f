// SPDX-License-Identifier: Apache-2.0
// What the blocks of the JUNGFRAU conversion say to each other.
package jungfrau_pkg;

  // Cycles from a word to its photons.
  localparam int unsigned SubtractStages = 10;
  localparam int unsigned MultiplyStages = 4;
  localparam int unsigned RoundStages = 6;
  localparam int unsigned LaneStages = SubtractStages + MultiplyStages + RoundStages;

  // Results that are no photons.
  localparam logic [15:0] MaskedPhotons = 16'h8000;
  localparam logic [15:0] SaturatedPhotons = 16'h7FFF;
  localparam logic [15:0] LargestPhotons = 16'h7FFE;
  localparam logic [15:0] SmallestPhotons = 16'h8001;

  // A difference that is normalised: (−1)^negative · 1.fraction · 2^(exponent + carry − 127), or zero.
  typedef struct packed {
    logic        zero;
    logic        negative;
    logic [8:0]  exponent;
    logic        carry;     // rounding has made it a power of two
    logic [22:0] fraction;
  } difference_t;

  // A product: (−1)^negative · 1.fraction · 2^(141 − shift + carry − 127), or zero.
  typedef struct packed {
    logic        zero;
    logic        negative;
    logic [10:0] shift;     // two's complement: of 1.fraction to the right, until its unit is bit 9
    logic        carry;
    logic [22:0] fraction;
  } product_t;

endpackage
