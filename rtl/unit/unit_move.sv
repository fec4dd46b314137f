// SPDX-License-Identifier: Apache-2.0
// Pixels whose way has this bit go 2^Bit places towards the beginning. None meets another when lower bits come first: each
// goes as far as there are gaps before it. A place that is left is one that nothing leaves any more.
module unit_move
  import unit_pkg::*;
#(
    parameter int unsigned Bit = 0
) (
    input  slot_t [Lanes-1:0] slots_i,
    output slot_t [Lanes-1:0] slots_o
);
  localparam int unsigned Places = 1 << Bit;

  always_comb begin
    for (int unsigned i = 0; i < Lanes; ++i) begin
      slots_o[i] = slots_i[i];
      if (slots_i[i].way[Bit]) slots_o[i].way = '0;
      if (i + Places < Lanes && slots_i[(i+Places)%Lanes].way[Bit]) slots_o[i] = slots_i[(i+Places)%Lanes];
    end
  end
endmodule
