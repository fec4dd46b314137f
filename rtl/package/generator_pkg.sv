// SPDX-License-Identifier: Apache-2.0
// What the descriptor generator keeps of a DTP, and what it reads of it in the table.
package generator_pkg;

  typedef enum logic [1:0] {
    Begin,  // the next image waits for its frame and its credit
    Lines,
    Record
  } phase_e;

  typedef struct packed {
    phase_e      phase;
    logic        fresh_image;         // no descriptor of it is out
    logic [63:0] index;               // of the image
    logic [31:0] frame;               // its frame, modulo 2^32
    logic [47:0] frame_offset;        // of its frame in the ring of frames
    logic [31:0] slot;
    logic [63:0] slot_destination;
    logic [63:0] record_destination;
    logic [31:0] outer_left;
    logic [31:0] inner_left;
    logic        last_run;            // outer_left is 1
    logic        last_piece;          // inner_left is 1
    logic [47:0] run_source;          // of the run in hand: card memory
    logic [63:0] run_destination;
    logic [31:0] piece_offset;        // in the run
  } context_t;

  typedef struct packed {
    logic [63:0] source;
    logic [63:0] record_source;
    logic [63:0] frame_step;
    logic [63:0] frame_ring;
    logic [63:0] frame_offset;
    logic [31:0] outer_count;
    logic [31:0] inner_count;
    logic [31:0] outer_source_step;
    logic [31:0] outer_destination_step;
    logic [31:0] piece_bytes;
    logic [31:0] rest_bytes;
    logic [31:0] last_bytes;
    logic [31:0] factor_piece;
    logic [31:0] factor_rest;
    logic [31:0] factor_last;
    logic [31:0] slots;
    logic [63:0] destination;
    logic [63:0] slot_bytes;
    logic [63:0] records;
    logic [63:0] images;
    logic [31:0] first_frame;
    logic [31:0] frames_between;
    logic [31:0] dtp;
  } plan_t;

endpackage
