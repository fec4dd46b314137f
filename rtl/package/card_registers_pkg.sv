// SPDX-License-Identifier: Apache-2.0
// Made by tools/make_card_registers.py of schema/card_registers.rdl; do not edit.
/* verilator lint_off UNUSEDPARAM */
package card_registers_pkg;

  // Addresses are bytes in the page.
  localparam int unsigned AddressBits = 15;

  typedef enum logic [2:0] {
    StateIdle = 3'd0,
    StateChecking = 3'd1,
    StateArmed = 3'd2,
    StateRunning = 3'd3,
    StateDone = 3'd4,
    StateAborting = 3'd5,
    StateFailed = 3'd6
  } state_e;

  typedef enum logic [3:0] {
    ErrorCodeNone = 4'd0,
    ErrorCodeWordZero = 4'd1,
    ErrorCodeWordUnaligned = 4'd2,
    ErrorCodeMtu = 4'd3,
    ErrorCodeNoDtp = 4'd4,
    ErrorCodeNotArmed = 4'd5,
    ErrorCodeDescriptorEmpty = 4'd6,
    ErrorCodeDescriptorOutside = 4'd7,
    ErrorCodeDescriptorDtp = 4'd8,
    ErrorCodeDescriptorLong = 4'd10,
    ErrorCodeMemory = 4'd11,
    ErrorCodeBusy = 4'd12
  } error_code_e;

  typedef enum logic [1:0] {
    FaultKindNothing = 2'd0,
    FaultKindDrop = 2'd1,
    FaultKindFlip = 2'd2
  } fault_kind_e;

  localparam logic [14:0] IdentityBase = 15'h0000;
  localparam logic [14:0] IdentityMagicAddress = 15'h0000;
  localparam logic [14:0] IdentityVersionAddress = 15'h0004;
  localparam logic [14:0] IdentityGitHashAddress = 15'h0008;
  localparam logic [14:0] IdentityCapabilitiesAddress = 15'h000c;
  localparam int unsigned IdentityCapabilitiesDtpsLsb = 0;
  localparam int unsigned IdentityCapabilitiesDtpsWidth = 8;
  localparam int unsigned IdentityCapabilitiesDescriptorSlotsLsb = 8;
  localparam int unsigned IdentityCapabilitiesDescriptorSlotsWidth = 16;
  localparam int unsigned IdentityCapabilitiesFaultInjectionLsb = 31;
  localparam int unsigned IdentityCapabilitiesFaultInjectionWidth = 1;
  localparam logic [14:0] IdentityFifoBeatsAddress = 15'h0010;
  localparam int unsigned IdentityFifoBeatsPayloadLsb = 0;
  localparam int unsigned IdentityFifoBeatsPayloadWidth = 16;
  localparam int unsigned IdentityFifoBeatsTransmitLsb = 16;
  localparam int unsigned IdentityFifoBeatsTransmitWidth = 16;
  localparam logic [14:0] IdentityClockAddress = 15'h0014;
  localparam logic [14:0] IdentityMemoryBytesAddress = 15'h0018;

  localparam logic [14:0] StatusBase = 15'h0040;
  localparam logic [14:0] StatusStateAddress = 15'h0040;
  localparam logic [14:0] StatusErrorAddress = 15'h0044;
  localparam int unsigned StatusErrorCodeLsb = 0;
  localparam int unsigned StatusErrorCodeWidth = 8;
  localparam int unsigned StatusErrorDtpLsb = 8;
  localparam int unsigned StatusErrorDtpWidth = 8;
  localparam int unsigned StatusErrorWordLsb = 16;
  localparam int unsigned StatusErrorWordWidth = 7;
  localparam logic [14:0] StatusErrorLineAddress = 15'h0048;
  localparam logic [14:0] StatusArmDoneAddress = 15'h004c;
  localparam logic [14:0] StatusStartDoneAddress = 15'h0050;
  localparam logic [14:0] StatusAbortDoneAddress = 15'h0054;
  localparam logic [14:0] StatusDescriptorsTakenAddress = 15'h0058;
  localparam logic [14:0] StatusDescriptorsDoneAddress = 15'h005c;
  localparam logic [14:0] StatusDtpsDoneAddress = 15'h0060;
  localparam logic [14:0] StatusDtpsWaitingAddress = 15'h0064;

  localparam logic [14:0] CountersBase = 15'h0080;
  localparam logic [14:0] CountersImagesAddress = 15'h0080;
  localparam logic [14:0] CountersLinesAddress = 15'h0088;
  localparam logic [14:0] CountersPacketsAddress = 15'h0090;
  localparam logic [14:0] CountersBytesAddress = 15'h0098;
  localparam logic [14:0] CountersCyclesAddress = 15'h00a0;
  localparam logic [14:0] CountersWaitCreditAddress = 15'h00a8;
  localparam logic [14:0] CountersWaitMemoryAddress = 15'h00b0;
  localparam logic [14:0] CountersWaitWireAddress = 15'h00b8;
  localparam logic [14:0] CountersCreditsAddress = 15'h00c0;
  localparam logic [14:0] CountersCnpsAddress = 15'h00c8;
  localparam logic [14:0] CountersFramesIgnoredAddress = 15'h00d0;
  localparam logic [14:0] CountersIcrcBadAddress = 15'h00d8;
  localparam logic [14:0] CountersFramesMissedAddress = 15'h00e0;
  localparam logic [14:0] CountersFaultsAddress = 15'h00e8;

  localparam logic [14:0] DtpStatusBase = 15'h0400;
  localparam int unsigned DtpStatusCount = 16;
  localparam int unsigned DtpStatusStride = 64;
  localparam logic [3:0] DtpStatusImagesSentWord = 4'd0;
  localparam logic [3:0] DtpStatusImagesSkippedWord = 4'd2;
  localparam logic [3:0] DtpStatusPacketsWord = 4'd4;
  localparam logic [3:0] DtpStatusBytesWord = 4'd6;
  localparam logic [3:0] DtpStatusGrantedWord = 4'd8;

  localparam logic [14:0] SettingsBase = 15'h1000;
  localparam logic [14:0] SettingsModeAddress = 15'h1000;
  localparam int unsigned SettingsModePushedLsb = 0;
  localparam int unsigned SettingsModePushedWidth = 1;

  localparam logic [14:0] FaultsBase = 15'h1400;
  localparam int unsigned FaultsCount = 64;
  localparam int unsigned FaultsStride = 8;
  localparam logic [0:0] FaultsPacketWord = 1'd0;
  localparam int unsigned FaultsPacketPsnLsb = 0;
  localparam int unsigned FaultsPacketPsnWidth = 24;
  localparam int unsigned FaultsPacketDtpLsb = 24;
  localparam int unsigned FaultsPacketDtpWidth = 4;
  localparam logic [0:0] FaultsWhatWord = 1'd1;
  localparam int unsigned FaultsWhatBitNumberLsb = 0;
  localparam int unsigned FaultsWhatBitNumberWidth = 16;
  localparam int unsigned FaultsWhatKindLsb = 16;
  localparam int unsigned FaultsWhatKindWidth = 2;

  localparam logic [14:0] DescriptorsBase = 15'h2000;
  localparam int unsigned DescriptorsCount = 64;
  localparam int unsigned DescriptorsStride = 32;
  localparam logic [2:0] DescriptorsSourceWord = 3'd0;
  localparam logic [2:0] DescriptorsWhatWord = 3'd1;
  localparam int unsigned DescriptorsWhatSourceHighLsb = 0;
  localparam int unsigned DescriptorsWhatSourceHighWidth = 16;
  localparam int unsigned DescriptorsWhatDtpLsb = 16;
  localparam int unsigned DescriptorsWhatDtpWidth = 4;
  localparam int unsigned DescriptorsWhatEventRecordLsb = 20;
  localparam int unsigned DescriptorsWhatEventRecordWidth = 1;
  localparam logic [2:0] DescriptorsDestinationWord = 3'd2;
  localparam logic [2:0] DescriptorsBytesWord = 3'd4;
  localparam logic [2:0] DescriptorsImmediateWord = 3'd5;
  localparam logic [2:0] DescriptorsReservedWord = 3'd6;

  localparam logic [14:0] DtpTableBase = 15'h4000;
  localparam int unsigned DtpTableCount = 16;
  localparam int unsigned DtpTableStride = 512;
  localparam logic [6:0] DtpTableDestinationMacWord = 7'd0;
  localparam logic [6:0] DtpTableSourceMacWord = 7'd2;
  localparam logic [6:0] DtpTableIpDestinationWord = 7'd4;
  localparam logic [6:0] DtpTableIpSourceWord = 7'd8;
  localparam logic [6:0] DtpTablePortsWord = 7'd12;
  localparam int unsigned DtpTablePortsSourcePortLsb = 0;
  localparam int unsigned DtpTablePortsSourcePortWidth = 16;
  localparam int unsigned DtpTablePortsDestinationPortLsb = 16;
  localparam int unsigned DtpTablePortsDestinationPortWidth = 16;
  localparam logic [6:0] DtpTableTrafficWord = 7'd13;
  localparam int unsigned DtpTableTrafficTrafficClassLsb = 0;
  localparam int unsigned DtpTableTrafficTrafficClassWidth = 8;
  localparam int unsigned DtpTableTrafficHopLimitLsb = 8;
  localparam int unsigned DtpTableTrafficHopLimitWidth = 8;
  localparam logic [6:0] DtpTableFlowLabelWord = 7'd14;
  localparam logic [6:0] DtpTableIpv4SumWord = 7'd15;
  localparam logic [6:0] DtpTableQpnWord = 7'd16;
  localparam logic [6:0] DtpTableRkeyWord = 7'd17;
  localparam logic [6:0] DtpTableFirstPsnWord = 7'd18;
  localparam logic [6:0] DtpTableMtuWord = 7'd19;
  localparam int unsigned DtpTableMtuPathMtuLsb = 0;
  localparam int unsigned DtpTableMtuPathMtuWidth = 13;
  localparam int unsigned DtpTableMtuFirstMiddleLastLsb = 16;
  localparam int unsigned DtpTableMtuFirstMiddleLastWidth = 1;
  localparam int unsigned DtpTableMtuIpv6Lsb = 17;
  localparam int unsigned DtpTableMtuIpv6Width = 1;
  localparam logic [6:0] DtpTableDtpWord = 7'd20;
  localparam int unsigned DtpTableDtpIdLsb = 0;
  localparam int unsigned DtpTableDtpIdWidth = 8;
  localparam int unsigned DtpTableDtpSkipLsb = 8;
  localparam int unsigned DtpTableDtpSkipWidth = 1;
  localparam int unsigned DtpTableDtpEnabledLsb = 9;
  localparam int unsigned DtpTableDtpEnabledWidth = 1;
  localparam int unsigned DtpTableDtpPacedLsb = 10;
  localparam int unsigned DtpTableDtpPacedWidth = 1;
  localparam logic [6:0] DtpTableRunWord = 7'd21;
  localparam logic [6:0] DtpTableSourceWord = 7'd22;
  localparam logic [6:0] DtpTableRecordSourceWord = 7'd24;
  localparam logic [6:0] DtpTableFrameStepWord = 7'd26;
  localparam logic [6:0] DtpTableFrameRingWord = 7'd28;
  localparam logic [6:0] DtpTableOuterCountWord = 7'd30;
  localparam logic [6:0] DtpTableInnerCountWord = 7'd31;
  localparam logic [6:0] DtpTableOuterSourceStepWord = 7'd32;
  localparam logic [6:0] DtpTableOuterDestinationStepWord = 7'd33;
  localparam logic [6:0] DtpTablePieceBytesWord = 7'd34;
  localparam logic [6:0] DtpTableRestBytesWord = 7'd35;
  localparam logic [6:0] DtpTableLastBytesWord = 7'd36;
  localparam logic [6:0] DtpTableFactorPieceWord = 7'd37;
  localparam logic [6:0] DtpTableFactorRestWord = 7'd38;
  localparam logic [6:0] DtpTableFactorLastWord = 7'd39;
  localparam logic [6:0] DtpTableFactorMtuWord = 7'd40;
  localparam logic [6:0] DtpTableSlotsWord = 7'd41;
  localparam logic [6:0] DtpTableDestinationWord = 7'd42;
  localparam logic [6:0] DtpTableSlotBytesWord = 7'd44;
  localparam logic [6:0] DtpTableRecordsWord = 7'd46;
  localparam logic [6:0] DtpTableImagesWord = 7'd48;
  localparam logic [6:0] DtpTableFirstFrameWord = 7'd50;
  localparam logic [6:0] DtpTableFramesBetweenWord = 7'd51;
  localparam logic [6:0] DtpTableFrameOffsetWord = 7'd52;
  localparam logic [6:0] DtpTableLinesWord = 7'd54;
  localparam logic [6:0] DtpTableRateWord = 7'd55;
  localparam logic [6:0] DtpTablePayloadBytesWord = 7'd56;
  localparam logic [6:0] DtpTableBurstWord = 7'd58;
  localparam logic [6:0] DtpTableCreditQpnWord = 7'd59;
  localparam logic [6:0] DtpTableCreditAddressWord = 7'd60;
  localparam logic [6:0] DtpTableCreditKeyWord = 7'd62;
  localparam logic [6:0] DtpTableLinesPerRunWord = 7'd63;

  localparam logic [14:0] DoorbellsBase = 15'h7f00;
  localparam logic [14:0] DoorbellsGrantedAddress = 15'h7f00;
  localparam logic [14:0] DoorbellsFramesAvailableAddress = 15'h7f40;
  localparam logic [14:0] DoorbellsDescriptorsPostedAddress = 15'h7ff0;
  localparam logic [14:0] DoorbellsAbortAddress = 15'h7ff4;
  localparam logic [14:0] DoorbellsArmAddress = 15'h7ff8;
  localparam logic [14:0] DoorbellsStartAddress = 15'h7ffc;

endpackage
/* verilator lint_on UNUSEDPARAM */
