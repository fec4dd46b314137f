// SPDX-License-Identifier: Apache-2.0
// Descriptors that software pushes: words come into a ring of 64 entries, the doorbell says how many entries there are.
// They go on in order. What is wrong with one is said instead, and no more come until arm_i.
module descriptor_fifo
  import rashpa_pkg::*;
  import card_registers_pkg::*;
#(
    parameter int unsigned MemoryMiB = 1024
) (
    input  logic                               clk_i,
    input  logic                               rst_ni,
    input  sender_pkg::ring_write_t            write_i,
    input  logic                    [    31:0] posted_i,      // entries written, modulo 2^32
    input  logic                               arm_i,         // what was posted before is forgotten
    input  logic                               running_i,
    input  logic                    [Dtps-1:0] enabled_i,
    output logic                    [    31:0] taken_o,       // entries that are free again, modulo 2^32
    output logic                               valid_o,
    input  logic                               ready_i,
    output descriptor_t                        descriptor_o,
    output sender_pkg::error_t                 error_o,       // one cycle
    output logic                               idle_o         // nothing is in hand
);

  localparam int unsigned Words = 6;  // of eight: the others are 0

  typedef enum logic [1:0] {
    Wait,
    Read,   // a word in each cycle
    Check,
    Show
  } state_e;

  logic [31:0] ring[512];
  logic [31:0] word_q;
  logic [Words-1:0][31:0] words_q;
  state_e state_q;
  logic [2:0] read_q;
  logic [2:0] got_q;
  logic [31:0] taken_q, number_q;
  logic broken_q, more_q, checked_q;
  descriptor_t descriptor;
  error_code_e fault;

  always_ff @(posedge clk_i) begin
    if (write_i.valid) ring[write_i.word] <= write_i.data;
    word_q <= ring[{taken_q[5:0], read_q}];
  end

  // In the order of the words of a descriptor.
  always_comb begin
    descriptor              = '0;
    descriptor.source       = {words_q[1][DescriptorsWhatSourceHighLsb+:DescriptorsWhatSourceHighWidth], words_q[0]};
    descriptor.dtp          = words_q[1][DescriptorsWhatDtpLsb+:DescriptorsWhatDtpWidth];
    descriptor.event_record = words_q[1][DescriptorsWhatEventRecordLsb];
    descriptor.destination  = {words_q[3], words_q[2]};
    descriptor.bytes        = words_q[4];
    descriptor.immediate    = words_q[5];
  end
  assign descriptor_o = descriptor;
  assign valid_o      = state_q == Show;
  assign taken_o      = taken_q;
  assign idle_o       = state_q == Wait;

  descriptor_check #(
      .MemoryMiB(MemoryMiB)
  ) u_check (
      .clk_i,
      .source_i(descriptor.source),
      .bytes_i(descriptor.bytes),
      .event_record_i(descriptor.event_record),
      .dtp_i(descriptor.dtp),
      .enabled_i,
      .code_o(fault)
  );

  always_ff @(posedge clk_i) begin
    got_q <= read_q;
    more_q <= posted_i != taken_q && !arm_i;
    checked_q <= state_q == Check && read_q == 3'd1;
    if (state_q == Read && got_q < 3'(Words)) words_q[got_q] <= word_q;
    error_o.code <= fault;
    error_o.dtp  <= descriptor.dtp;
    error_o.line <= number_q;
    if (!rst_ni) begin
      state_q       <= Wait;
      taken_q       <= '0;
      broken_q      <= 1'b0;
      error_o.valid <= 1'b0;
    end else begin
      error_o.valid <= 1'b0;
      case (state_q)
        Wait: begin
          read_q <= '0;
          if (running_i && !broken_q && more_q) state_q <= Read;
        end
        Read: begin
          read_q <= read_q + 3'd1;
          if (got_q == 3'(Words) && read_q == 3'(Words) + 3'd1) begin
            state_q <= Check;
            read_q  <= '0;
          end
        end
        Check: begin  // three cycles
          read_q <= read_q + 3'd1;
          if (checked_q) begin
            taken_q       <= taken_q + 32'd1;
            number_q      <= number_q + 32'd1;
            state_q       <= fault == ErrorCodeNone ? Show : Wait;
            broken_q      <= fault != ErrorCodeNone;
            error_o.valid <= fault != ErrorCodeNone;
          end
        end
        default: if (ready_i) state_q <= Wait;
      endcase
      if (!running_i) state_q <= Wait;
      if (arm_i) begin
        taken_q  <= posted_i;
        number_q <= '0;
        broken_q <= 1'b0;
        state_q  <= Wait;
      end
    end
  end

endmodule
