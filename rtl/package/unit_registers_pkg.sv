// SPDX-License-Identifier: Apache-2.0
// Made by tools/make_card_registers.py of schema/unit_registers.rdl; do not edit.
/* verilator lint_off UNUSEDPARAM */
package unit_registers_pkg;

  // Addresses are bytes in the page.
  localparam int unsigned AddressBits = 15;

  typedef enum logic [1:0] {
    StateIdle = 2'd0,
    StateWorking = 2'd1,
    StateAborting = 2'd2,
    StateFailed = 2'd3
  } state_e;

  typedef enum logic [2:0] {
    ErrorCodeNone = 3'd0,
    ErrorCodeImages = 3'd1,
    ErrorCodeBlocks = 3'd2,
    ErrorCodeRead = 3'd3,
    ErrorCodeCalibration = 3'd4,
    ErrorCodeWrite = 3'd5
  } error_code_e;

  localparam logic [14:0] IdentityBase = 15'h0000;
  localparam logic [14:0] IdentityMagicAddress = 15'h0000;
  localparam logic [14:0] IdentityVersionAddress = 15'h0004;
  localparam logic [14:0] IdentityGitHashAddress = 15'h0008;
  localparam logic [14:0] IdentityCapabilitiesAddress = 15'h000c;
  localparam int unsigned IdentityCapabilitiesLanesLsb = 0;
  localparam int unsigned IdentityCapabilitiesLanesWidth = 8;
  localparam int unsigned IdentityCapabilitiesMostImagesLsb = 8;
  localparam int unsigned IdentityCapabilitiesMostImagesWidth = 8;
  localparam int unsigned IdentityCapabilitiesSlotsLsb = 16;
  localparam int unsigned IdentityCapabilitiesSlotsWidth = 8;
  localparam logic [14:0] IdentityBlockPixelsAddress = 15'h0010;
  localparam logic [14:0] IdentityClockAddress = 15'h0014;
  localparam logic [14:0] IdentityMemoryBytesAddress = 15'h0018;

  localparam logic [14:0] StatusBase = 15'h0040;
  localparam logic [14:0] StatusStateAddress = 15'h0040;
  localparam logic [14:0] StatusErrorAddress = 15'h0044;
  localparam int unsigned StatusErrorCodeLsb = 0;
  localparam int unsigned StatusErrorCodeWidth = 8;
  localparam logic [14:0] StatusErrorStackAddress = 15'h0048;
  localparam logic [14:0] StatusAbortDoneAddress = 15'h004c;
  localparam logic [14:0] StatusStacksDoneAddress = 15'h0050;

  localparam logic [14:0] CountersBase = 15'h0080;
  localparam logic [14:0] CountersCyclesAddress = 15'h0080;
  localparam logic [14:0] CountersBeatsAddress = 15'h0088;
  localparam logic [14:0] CountersWaitCalibrationAddress = 15'h0090;
  localparam logic [14:0] CountersWaitRoomAddress = 15'h0098;
  localparam logic [14:0] CountersWaitAddressAddress = 15'h00a0;

  localparam logic [14:0] SettingsBase = 15'h1000;
  localparam logic [14:0] SettingsBlocksAddress = 15'h1000;
  localparam logic [14:0] SettingsLastAddress = 15'h1004;
  localparam int unsigned SettingsLastBeatsLsb = 0;
  localparam int unsigned SettingsLastBeatsWidth = 6;
  localparam logic [14:0] SettingsLastLanesAddress = 15'h1008;
  localparam logic [14:0] SettingsImagePagesAddress = 15'h100c;
  localparam logic [14:0] SettingsCalibrationLowAddress = 15'h1010;
  localparam logic [14:0] SettingsCalibrationHighAddress = 15'h1014;
  localparam logic [14:0] SettingsBrightAddress = 15'h1018;
  localparam logic [14:0] SettingsListAddress = 15'h101c;
  localparam int unsigned SettingsListThresholdLsb = 0;
  localparam int unsigned SettingsListThresholdWidth = 16;
  localparam int unsigned SettingsListOnLsb = 16;
  localparam int unsigned SettingsListOnWidth = 1;
  localparam logic [14:0] SettingsListPagesAddress = 15'h1020;

  localparam logic [14:0] StacksBase = 15'h2000;
  localparam int unsigned StacksCount = 4;
  localparam int unsigned StacksStride = 32;
  localparam logic [2:0] StacksRawPageWord = 3'd0;
  localparam logic [2:0] StacksPhotonsPageWord = 3'd1;
  localparam logic [2:0] StacksResultsPageWord = 3'd2;
  localparam logic [2:0] StacksImagesWord = 3'd3;
  localparam logic [2:0] StacksListsPageWord = 3'd4;

  localparam logic [14:0] DoorbellsBase = 15'h7f00;
  localparam logic [14:0] DoorbellsStacksPostedAddress = 15'h7ff8;
  localparam logic [14:0] DoorbellsAbortAddress = 15'h7ffc;

endpackage
/* verilator lint_on UNUSEDPARAM */
