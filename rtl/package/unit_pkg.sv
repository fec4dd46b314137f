// SPDX-License-Identifier: Apache-2.0
// What the parts of the processing unit say to each other.
package unit_pkg;

  localparam int unsigned Lanes = 32;  // pixels of a beat
  localparam int unsigned BlockBeats = 64;  // of a block: 4 KiB of raw words
  localparam int unsigned MostImages = 64;  // of a stack
  localparam int unsigned Slots = 4;  // of the ring of stacks
  localparam int unsigned UnderWay = 2;  // stacks at most: each has counts of its own

  typedef logic [31:0] page_t;  // address / 4096
  typedef logic [47:0] address_t;
  typedef logic [511:0] beat_t;

  typedef struct packed {
    logic [15:0] blocks;
    logic [5:0]  last_beats;        // of the last block, less one
    logic [31:0] last_lanes;        // of its last beat
    page_t       image_pages;
    page_t       calibration_low;
    page_t       calibration_high;
    logic [15:0] bright;
  } settings_t;

  typedef struct packed {
    page_t      raw;
    page_t      photons;
    page_t      results;
    logic [6:0] images;
  } stack_t;

  // A block of an image: one burst in, one out.
  typedef struct packed {
    logic bank;        // of the calibration
    logic frees;       // the last that needs this calibration
    logic ends_image;  // its last beat may be short
  } raw_burst_t;

  typedef struct packed {
    logic       parity;      // of the stack
    logic [5:0] image;
    logic       first;       // counts begin with it
    logic       ends_stack;
  } count_burst_t;

  typedef struct packed {
    page_t      page;
    logic [5:0] beats;    // less one
    logic       results;  // the records of a stack, behind all of its photons
  } write_burst_t;

  typedef struct packed {
    logic [31:0] bright;
    logic [31:0] saturated;
    logic [31:0] masked;
  } counts_t;

endpackage
