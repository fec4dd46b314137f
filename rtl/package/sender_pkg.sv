// SPDX-License-Identifier: Apache-2.0
// What the registers and the other blocks say to each other.
package sender_pkg;

  // A word of the ring of pushed descriptors.
  typedef struct packed {
    logic        valid;
    logic [8:0]  word;   // 8 · entry + word
    logic [31:0] data;
  } ring_write_t;

  // A word of the list of faults.
  typedef struct packed {
    logic        valid;
    logic [6:0]  word;   // 2 · entry + word
    logic [31:0] data;
  } fault_write_t;

  // A count that software rings.
  typedef struct packed {
    logic        valid;
    logic [5:0]  word;   // of the group
    logic [31:0] data;
  } doorbell_write_t;

  // What the check of the table has found: one cycle.
  typedef struct packed {
    logic                            valid;
    card_registers_pkg::error_code_e code;
    rashpa_pkg::dtp_t                dtp;
    logic [6:0]                      word;
  } verdict_t;

  // How the run stands, as in the words of status.
  typedef struct packed {
    card_registers_pkg::state_e state;
    logic [22:0] error;
    logic [31:0] error_line;
    logic [31:0] arm_done;
    logic [31:0] start_done;
    logic [31:0] abort_done;
  } run_status_t;

  // An error that ends the run. The first one is kept.
  typedef struct packed {
    logic                            valid;
    card_registers_pkg::error_code_e code;
    rashpa_pkg::dtp_t                dtp;
    logic [31:0]                     line;
  } error_t;

  // How frames get on: what of this cycle registers count.
  typedef struct packed {
    logic             begins;        // a packet …
    rashpa_pkg::dtp_t dtp;
    logic             event_record;  // … an event
    logic             ends;          // … the last one of its descriptor
    logic [12:0]      bytes;         // … with so much payload
    logic             waits_memory;
    logic             waits_wire;
  } progress_t;

  // What a frame from the MAC was: one cycle.
  typedef struct packed {
    logic credit;
    logic cnp;
    logic ignored;
    logic icrc_bad;
    logic missed;
  } received_t;

  // What has happened in this cycle.
  typedef struct packed {
    logic             packet;         // one was handed to the MAC
    logic             packet_event;   // it was an event
    rashpa_pkg::dtp_t packet_dtp;
    logic [12:0]      packet_bytes;   // of payload
    logic [15:0]      lines;          // so many have left
    logic             skipped;        // an image was left out
    rashpa_pkg::dtp_t skipped_dtp;
    logic             wait_credit;
    logic             wait_memory;
    logic             wait_wire;
    logic             credit;
    logic             cnp;
    logic             frame_ignored;
    logic             icrc_bad;
    logic             frame_missed;
    logic             fault;
  } counts_t;

endpackage
