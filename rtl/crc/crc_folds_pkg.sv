// SPDX-License-Identifier: Apache-2.0
// How 512 bits become few before their CRC is computed: 16 coefficients from x^at on count as much as the same ones at each of
// `to`, all of them lower, since x^at and the sum of these powers leave the same remainder. The powers were searched for so
// that few bits are added to each (sums of 2 or 3 powers in a sorted table, looked up by those of the others); `crc_fold`
// proves every one at elaboration.
package crc_folds_pkg;

  localparam int unsigned Bits = 16;  // of a fold
  localparam int unsigned Places = 9;
  localparam int unsigned Most = 30;
  localparam logic [9:0] None = '1;

  typedef struct packed {
    logic [9:0] at;
    logic [Places-1:0][9:0] to;
  } fold_t;
  typedef fold_t [Most-1:0] folds_t;

  // verilog_format: off
  // Coefficients that are left behind each of three rows of folds
  localparam logic [2:0][9:0] Crc32Kept = {10'd96, 10'd160, 10'd288};
  localparam folds_t Crc32Folds = {
    10'd288, 10'd14, 10'd25, 10'd33, 10'd89, 10'd107, None, None, None, None,
    10'd304, 10'd30, 10'd41, 10'd49, 10'd105, 10'd123, None, None, None, None,
    10'd320, 10'd13, 10'd68, 10'd106, 10'd123, 10'd157, None, None, None, None,
    10'd336, 10'd29, 10'd84, 10'd122, 10'd139, 10'd173, None, None, None, None,
    10'd352, 10'd45, 10'd100, 10'd138, 10'd155, 10'd189, None, None, None, None,
    10'd368, 10'd61, 10'd116, 10'd154, 10'd171, 10'd205, None, None, None, None,
    10'd384, 10'd77, 10'd132, 10'd170, 10'd187, 10'd221, None, None, None, None,
    10'd400, 10'd93, 10'd148, 10'd186, 10'd203, 10'd237, None, None, None, None,
    10'd416, 10'd54, 10'd205, 10'd224, 10'd255, 10'd256, None, None, None, None,
    10'd432, 10'd70, 10'd221, 10'd240, 10'd271, 10'd272, None, None, None, None,
    10'd448, 10'd0, 10'd74, 10'd195, 10'd213, 10'd238, None, None, None, None,
    10'd464, 10'd16, 10'd90, 10'd211, 10'd229, 10'd254, None, None, None, None,
    10'd480, 10'd36, 10'd42, 10'd114, 10'd141, 10'd239, None, None, None, None,
    10'd496, 10'd52, 10'd58, 10'd130, 10'd157, 10'd255, None, None, None, None,
    10'd512, 10'd9, 10'd12, 10'd74, 10'd184, 10'd198, None, None, None, None,
    10'd528, 10'd25, 10'd28, 10'd90, 10'd200, 10'd214, None, None, None, None,
    10'd160, 10'd23, 10'd31, 10'd52, 10'd93, 10'd103, 10'd107, None, None, None,
    10'd176, 10'd9, 10'd46, 10'd63, 10'd95, 10'd116, 10'd139, None, None, None,
    10'd192, 10'd31, 10'd68, 10'd99, 10'd100, 10'd108, 10'd124, None, None, None,
    10'd208, 10'd23, 10'd42, 10'd43, 10'd69, 10'd77, 10'd116, None, None, None,
    10'd224, 10'd7, 10'd79, 10'd108, 10'd116, 10'd125, 10'd138, None, None, None,
    10'd240, 10'd9, 10'd23, 10'd57, 10'd85, 10'd86, 10'd139, None, None, None,
    10'd256, 10'd9, 10'd16, 10'd70, 10'd102, 10'd105, 10'd107, None, None, None,
    10'd272, 10'd25, 10'd32, 10'd86, 10'd118, 10'd121, 10'd123, None, None, None,
    10'd96, 10'd5, 10'd18, 10'd32, 10'd36, 10'd42, 10'd60, 10'd64, 10'd67, None,
    10'd112, 10'd27, 10'd30, 10'd33, 10'd40, 10'd44, 10'd66, 10'd68, 10'd75, None,
    10'd128, 10'd1, 10'd8, 10'd10, 10'd27, 10'd57, 10'd63, 10'd65, 10'd77, None,
    10'd144, 10'd8, 10'd22, 10'd29, 10'd31, 10'd48, 10'd52, 10'd66, 10'd67, None,
    None, {9{None}},
    None, {9{None}}
  };

  // Coefficients that are left behind each of three rows of folds
  localparam logic [2:0][9:0] Crc32cKept = {10'd96, 10'd128, 10'd288};
  localparam folds_t Crc32cFolds = {
    10'd288, 10'd13, 10'd31, 10'd91, 10'd135, 10'd257, None, None, None, None,
    10'd304, 10'd14, 10'd46, 10'd121, 10'd127, 10'd150, None, None, None, None,
    10'd320, 10'd30, 10'd62, 10'd137, 10'd143, 10'd166, None, None, None, None,
    10'd336, 10'd46, 10'd78, 10'd153, 10'd159, 10'd182, None, None, None, None,
    10'd352, 10'd62, 10'd94, 10'd169, 10'd175, 10'd198, None, None, None, None,
    10'd368, 10'd69, 10'd90, 10'd131, 10'd203, 10'd211, None, None, None, None,
    10'd384, 10'd118, 10'd189, 10'd206, 10'd239, 10'd261, None, None, None, None,
    10'd400, 10'd110, 10'd142, 10'd217, 10'd223, 10'd246, None, None, None, None,
    10'd416, 10'd51, 10'd104, 10'd184, 10'd243, 10'd270, None, None, None, None,
    10'd432, 10'd89, 10'd225, 10'd244, 10'd252, 10'd266, None, None, None, None,
    10'd448, 10'd4, 10'd20, 10'd161, 10'd206, 10'd230, None, None, None, None,
    10'd464, 10'd20, 10'd36, 10'd177, 10'd222, 10'd246, None, None, None, None,
    10'd480, 10'd36, 10'd52, 10'd193, 10'd238, 10'd262, None, None, None, None,
    10'd496, 10'd59, 10'd117, 10'd230, 10'd235, 10'd236, None, None, None, None,
    10'd512, 10'd9, 10'd70, 10'd74, 10'd80, 10'd229, None, None, None, None,
    10'd528, 10'd28, 10'd103, 10'd114, 10'd229, 10'd243, None, None, None, None,
    10'd128, 10'd6, 10'd23, 10'd27, 10'd75, 10'd78, 10'd94, 10'd110, None, None,
    10'd144, 10'd7, 10'd11, 10'd30, 10'd74, 10'd85, 10'd92, 10'd95, None, None,
    10'd160, 10'd2, 10'd7, 10'd29, 10'd46, 10'd62, 10'd66, 10'd78, None, None,
    10'd176, 10'd10, 10'd23, 10'd52, 10'd58, 10'd80, 10'd90, 10'd94, None, None,
    10'd192, 10'd34, 10'd39, 10'd61, 10'd78, 10'd94, 10'd98, 10'd110, None, None,
    10'd208, 10'd18, 10'd36, 10'd42, 10'd51, 10'd62, 10'd77, 10'd96, None, None,
    10'd224, 10'd22, 10'd30, 10'd34, 10'd83, 10'd91, 10'd108, 10'd109, None, None,
    10'd240, 10'd12, 10'd43, 10'd47, 10'd56, 10'd59, 10'd63, 10'd101, None, None,
    10'd256, 10'd4, 10'd47, 10'd56, 10'd70, 10'd72, 10'd85, 10'd97, None, None,
    10'd272, 10'd18, 10'd19, 10'd46, 10'd84, 10'd87, 10'd89, 10'd110, None, None,
    10'd96, 10'd7, 10'd11, 10'd20, 10'd23, 10'd27, 10'd41, 10'd50, 10'd54, 10'd60,
    10'd112, 10'd6, 10'd9, 10'd23, 10'd29, 10'd36, 10'd40, 10'd48, 10'd59, 10'd60,
    None, {9{None}},
    None, {9{None}}
  };
  // verilog_format: on

endpackage
