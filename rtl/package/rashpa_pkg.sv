// SPDX-License-Identifier: Apache-2.0
// What the blocks of the sender say to each other. README.md of this folder's parent has the picture.
package rashpa_pkg;

  localparam int unsigned Dtps = 16;
  localparam int unsigned BeatBytes = 64;
  localparam int unsigned MostPayload = 4096;  // of a packet: the largest path MTU

  typedef logic [3:0] dtp_t;
  typedef logic [511:0] beat_t;  // byte b of a beat is bits 8b+7 … 8b

  // One write of the table of DTPs: word `word` of DTP `dtp`. Every block keeps the words that it needs.
  typedef struct packed {
    logic        valid;
    dtp_t        dtp;
    logic [6:0]  word;
    logic [31:0] data;
  } table_write_t;

  // A buffer descriptor, as in software: one contiguous run from card memory to an offset at the receiver. Or, with
  // `event`, the record behind an image: 128 bytes, WRITE with immediate.
  typedef struct packed {
    dtp_t        dtp;
    logic        event_record;
    logic        complete_record;  // of an event: the record in memory is a template that the card completes
    logic        begins_image;     // the payload's CRC32C starts anew with it
    logic        last_of_run;      // of an event that completes its record
    logic [47:0] source;           // address in card memory
    logic [63:0] destination;
    logic [31:0] bytes;            // 1 … 2^31
    logic [31:0] immediate;
    logic [63:0] index;            // of the image; of an event that completes its record
    logic [31:0] slot;             // of it
    logic [31:0] factor;           // x^(8·r) mod P of CRC32C, r: bytes of its last packet
  } descriptor_t;

  typedef enum logic [2:0] {
    WriteOnly   = 3'd0,
    WriteFirst  = 3'd1,
    WriteMiddle = 3'd2,
    WriteLast   = 3'd3,
    WriteEvent  = 3'd4   // WRITE_ONLY with immediate
  } packet_kind_e;

  // A packet whose payload is being fetched; the packetiser makes frames of them in this order.
  typedef struct packed {
    dtp_t         dtp;
    packet_kind_e kind;
    logic         complete_record;
    logic         begins_image;
    logic         ends_descriptor;
    logic         last_of_run;
    logic [5:0]   lead;             // bytes of the first beat from memory that are not the packet's
    logic [12:0]  bytes;            // of payload, 1 … 4096
    logic [6:0]   beats;            // from memory: 1 … 65
    logic [63:0]  destination;
    logic [31:0]  length;           // of the message: RETH
    logic [31:0]  immediate;
    logic [63:0]  index;
    logic [31:0]  slot;
    logic [31:0]  factor;           // x^(8·bytes) mod P of CRC32C
  } packet_t;

  // Where the bytes of a frame's beat come from and what becomes of them, said with every beat.
  typedef struct packed {
    logic       valid;
    logic       first;
    logic       last;
    logic       ipv6;
    logic [5:0] covered_end;  // (bytes of the frame without ICRC) mod 64; always 2 mod 4
  } frame_beat_t;

  localparam int unsigned MostHeader = 94;  // bytes before the payload: IPv6, event

  // A frame that can begin: everything about it that does not change from beat to beat.
  typedef struct packed {
    dtp_t dtp;
    logic complete_record;
    logic begins_image;
    logic ipv6;
    logic [31:0] factor;
    logic [8*MostHeader-1:0] header;  // 0 behind its end
    logic [6:0] header_end;  // 54, 70, 74, 90, 94
    logic [12:0] payload_end;  // in the frame
    logic [6:0] beats_in;  // from memory
    logic [6:0] beats_out;  // of the frame with ICRC
    logic [7:0] turn;  // header_end − lead + 64: where byte 0 of the first beat comes to lie, + 64
    logic [5:0] covered_end;
  } prepared_t;

  // What becomes of a beat of a frame, from the cycle in which its payload is popped.
  typedef struct packed {
    frame_beat_t      frame;
    logic             pop;           // a beat has been popped with it
    logic [1:0]       number;        // of the beat in its frame; 2: a later one
    logic             record;        // a record that is completed …
    logic             second;        // … and its second beat
    logic             withheld;      // it is to go nowhere
    logic [5:0]       turn;
    logic [6:0] from;                // lanes of payload
    logic [6:0]       upto;
    logic             payload_last;
    logic             summed;        // its payload is summed up, if it has some
    logic             begins_image;
    dtp_t             dtp;
    logic [31:0]      factor;
    logic [23:0]      psn;
  } frame_stage_t;

  // Numbers of the wire, whose first byte is the highest.
  function automatic logic [15:0] be16(logic [15:0] value);
    return {value[7:0], value[15:8]};
  endfunction
  function automatic logic [31:0] be32(logic [31:0] value);
    return {value[7:0], value[15:8], value[23:16], value[31:24]};
  endfunction

  // The bytes of a frame's first two beats that count as ones in its ICRC, because they change on the way. IPv4: TOS, TTL,
  // header sum, UDP sum, byte 4 of the BTH. IPv6: traffic class and flow label, hop limit, UDP sum, byte 4 of the BTH.
  function automatic logic [8*2*BeatBytes-1:0] icrc_ones(logic ipv6);
    icrc_ones = '0;
    if (ipv6) begin
      icrc_ones[8*14+:4]  = '1;
      icrc_ones[8*15+:24] = '1;
      icrc_ones[8*21+:8]  = '1;
      icrc_ones[8*60+:16] = '1;
      icrc_ones[8*66+:8]  = '1;
    end else begin
      icrc_ones[8*15+:8]  = '1;
      icrc_ones[8*22+:8]  = '1;
      icrc_ones[8*24+:16] = '1;
      icrc_ones[8*40+:16] = '1;
      icrc_ones[8*46+:8]  = '1;
    end
  endfunction

  // Whether a packet says where it goes.
  function automatic logic has_reth(packet_kind_e kind);
    return kind == WriteOnly || kind == WriteFirst || kind == WriteEvent;
  endfunction

endpackage
