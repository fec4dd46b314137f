// SPDX-License-Identifier: Apache-2.0
// Turns the bytes of a beat: byte b of the input becomes byte (b + amount) mod 64 of the output.
module rotate #(
    localparam int unsigned Latency = 3
) (
    input  logic         clk_i,
    input  logic [511:0] data_i,
    input  logic [  5:0] amount_i,
    output logic [511:0] data_o     // Latency cycles later
);

  logic [511:0] data  [Latency+1];
  logic [  5:0] amount[  Latency];

  assign data[0]   = data_i;
  assign amount[0] = amount_i;

  // By 0 … 3 bytes, then by 0 … 3 times 4, then by 0 … 3 times 16: one 4:1 multiplexer a bit and cycle.
  for (genvar s = 0; s < Latency; s++) begin : gen_stage
    localparam int unsigned Bits = 8 << (2 * s);
    logic [511:0] data_q;
    always_ff @(posedge clk_i) begin
      unique case (amount[s][2*s+:2])
        2'd0: data_q <= data[s];
        2'd1: data_q <= {data[s][511-Bits:0], data[s][511-:Bits]};
        2'd2: data_q <= {data[s][511-2*Bits:0], data[s][511-:2*Bits]};
        default: data_q <= {data[s][511-3*Bits:0], data[s][511-:3*Bits]};
      endcase
    end
    assign data[s+1] = data_q;
    if (s + 1 < Latency) begin : gen_amount
      logic [5:0] amount_q;
      always_ff @(posedge clk_i) amount_q <= amount[s];
      assign amount[s+1] = amount_q;
    end
  end

  assign data_o = data[Latency];

endmodule
