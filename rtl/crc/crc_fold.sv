// SPDX-License-Identifier: Apache-2.0
// A row of folds: From coefficients become Kept, of which the polynomial leaves the same remainder. No registers; a bit of
// the result is the sum of a few. Bit 0 is the highest coefficient, as it is the first bit of a message.
module crc_fold
  import crc_folds_pkg::*;
#(
    parameter logic [31:0] Poly = crc_pkg::Crc32,
    parameter int unsigned From = 544,
    parameter int unsigned Kept = 288
) (
    input  logic [From-1:0] value_i,
    output logic [Kept-1:0] value_o
);
  if (Kept % 32 != 0) begin : gen_words
    $fatal(1, "crc_fold: %0d coefficients are no words of 32", Kept);
  end

  localparam folds_t Folds = Poly == crc_pkg::Crc32 ? Crc32Folds : Crc32cFolds;

  // x^(at − lowest) is what is left of the sum of the others. It runs at elaboration.
  // verilator coverage_off
  function automatic bit holds(fold_t fold);
    logic [31:0] sum = '0;
    for (int unsigned p = 0; p < Places; p++) begin
      if (fold.to[p] != None) sum ^= crc_pkg::power_bits(Poly, 32'(fold.to[p]));
    end
    return sum == crc_pkg::power_bits(Poly, 32'(fold.at));
  endfunction
  // verilator coverage_on

  for (genvar f = 0; f < int'(Most); f++) begin : gen_check
    if (Folds[f].at != None && !holds(Folds[f])) begin : gen_wrong
      $fatal(1, "crc_fold: fold %0d is no multiple of the polynomial", f);
    end
  end

  // Word by word of the result, and of each: what it was, and what each fold adds at each of its places. Words are what
  // a simulator is fast with.
  for (genvar w = 0; w < int'(Kept / 32); w++) begin : gen_word
    for (genvar f = 0; f < int'(Most); f++) begin : gen_fold
      localparam int At = int'(Folds[f].at);
      logic [31:0] base, sum;
      if (f > 0) begin : gen_next
        assign base = gen_fold[f-1].sum;
      end else begin : gen_first
        assign base = value_i[int'(From-Kept)+32*w+:32];
      end
      if (At >= int'(Kept) && At < int'(From)) begin : gen_here
        for (genvar p = 0; p < int'(Places); p++) begin : gen_place
          localparam int Up = int'(Kept) - int'(Folds[f].to[p]) - int'(Bits) - 32 * w;  // of the first bit in this word
          logic [31:0] added;
          if (Folds[f].to[p] == None || Up <= -int'(Bits) || Up >= 32) begin : gen_none
            assign added = '0;
          end else if (Up >= 0) begin : gen_up
            assign added = 32'(value_i[int'(From)-At-int'(Bits)+:Bits]) << Up;
          end else begin : gen_down
            assign added = 32'(value_i[int'(From)-At-int'(Bits)+:Bits]) >> -Up;
          end
        end
        assign sum = base ^ gen_place[0].added ^ gen_place[1].added ^ gen_place[2].added ^ gen_place[3].added
            ^ gen_place[4].added ^ gen_place[5].added ^ gen_place[6].added ^ gen_place[7].added ^ gen_place[8].added;
      end else begin : gen_elsewhere
        assign sum = base;
      end
    end
    assign value_o[32*w+:32] = gen_fold[Most-1].sum;
  end
endmodule
