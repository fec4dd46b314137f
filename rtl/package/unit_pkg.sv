// SPDX-License-Identifier: Apache-2.0
// What the parts of the processing unit say to each other.
package unit_pkg;

  localparam int unsigned Lanes = 32;  // pixels of a beat
  localparam int unsigned BlockBeats = 64;  // of a block: 4 KiB of raw words
  localparam int unsigned MostImages = 64;  // of a stack
  localparam int unsigned Slots = 4;  // of the ring of stacks
  localparam int unsigned UnderWay = 2;  // stacks at most: each has counts of its own
  localparam int unsigned Entries = 16;  // of a beat of a list

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
    logic        lists;             // there are
    logic [15:0] threshold;         // of them
    logic [17:0] list_pages;
  } settings_t;

  typedef struct packed {
    page_t      raw;
    page_t      photons;
    page_t      results;
    logic [6:0] images;
    page_t      lists;
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

  // The same, for the list of the image.
  typedef struct packed {
    page_t       page;        // where the list begins
    logic [15:0] block;
    logic        parity;      // of the stack
    logic [5:0]  image;
    logic        first;       // the list begins with it
    logic        ends_stack;
  } list_block_t;

  // A pixel of a block that is listed.
  typedef struct packed {
    logic [15:0] value;
    logic [10:0] index;  // in the block
  } entry_t;

  // A pixel on its way to the beginning of its beat.
  typedef struct packed {
    logic [15:0] value;
    logic [4:0]  way;    // places that it has to go
  } slot_t;

  // What a block has added to a list.
  typedef struct packed {
    logic [7:0]  beats;    // 0 … 128
    logic [11:0] entries;  // 0 … 2048
  } listed_block_t;

  // Beats that go behind the others of a list.
  typedef struct packed {
    logic        drop;   // they have no room
    logic [15:0] block;
    page_t       page;
    logic [5:0]  at;     // beats behind its begin
    logic [5:0]  beats;  // less one
  } list_burst_t;

  // A list.
  typedef struct packed {
    logic [23:0] beats;
    logic [27:0] entries;
  } listed_t;

  typedef struct packed {
    logic [31:0] bright;
    logic [31:0] saturated;
    logic [31:0] masked;
  } counts_t;

endpackage
