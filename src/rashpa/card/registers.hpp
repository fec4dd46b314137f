// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Made by tools/make_card_registers.py of schema/card_registers.rdl; do not edit.
/// Registers of the card: bytes in the page. Plain constants, any thread.
#include <array>
#include <cstddef>
#include <cstdint>

// clang-format off

namespace rashpa::card::registers {

inline constexpr std::size_t kPageBytes = 0x8000;

/// Some bits of a word.
struct Field {
  std::uint32_t lsb;
  std::uint32_t width;
  [[nodiscard]] constexpr std::uint32_t mask() const noexcept {
    return width == 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << width) - 1;
  }
  [[nodiscard]] constexpr std::uint32_t get(std::uint32_t word) const noexcept { return (word >> lsb) & mask(); }
  [[nodiscard]] constexpr std::uint32_t put(std::uint32_t value) const noexcept { return (value & mask()) << lsb; }
};

enum class State : std::uint32_t {
  idle = 0,  ///< since reset
  checking = 1,  ///< Arm is being carried out
  armed = 2,  ///< waits for Start
  running = 3,  ///< sends
  done = 4,  ///< all DTPs have played all of their images, and everything is out
  aborting = 5,  ///< the last packet ends, everything else is dropped
  failed = 6,  ///< ended by an error: error, error_line
};

enum class ErrorCode : std::uint32_t {
  none = 0,  ///< none
  word_zero = 1,  ///< a word of the table is 0 that must not be
  word_unaligned = 2,  ///< a word of the table is no multiple of 64, where its text says so
  mtu = 3,  ///< the path MTU is not 256, 512, 1024, 2048 or 4096
  no_dtp = 4,  ///< Arm: no DTP is enabled
  not_armed = 5,  ///< Start without Arm
  descriptor_empty = 6,  ///< a descriptor of 0 bytes
  descriptor_outside = 7,  ///< a descriptor outside of card memory
  descriptor_dtp = 8,  ///< a descriptor of a DTP that is not enabled
  descriptor_long = 10,  ///< a descriptor of more than 2^31 bytes, or an event not of 128
  memory = 11,  ///< card memory answered a read with an error
  busy = 12,  ///< Arm while running
};

enum class FaultKind : std::uint32_t {
  nothing = 0,  ///< nothing
  drop = 1,  ///< never sent
  flip = 2,  ///< one bit flipped behind the ICRC
};

namespace identity {
inline constexpr std::uint32_t kMagic = 0x0;  ///< 0x43505352, the text RSPC in memory.
inline constexpr std::uint32_t kVersion = 0x4;  ///< Of this map of registers.
inline constexpr std::uint32_t kGitHash = 0x8;  ///< The first eight digits of the commit that the card was made of.
inline constexpr std::uint32_t kCapabilities = 0xC;  ///< The abilities of this card.
inline constexpr Field kCapabilitiesDtps{0, 8};  ///< data transfer processes
inline constexpr Field kCapabilitiesDescriptorSlots{8, 16};  ///< entries of the ring of descriptors
inline constexpr Field kCapabilitiesFaultInjection{31, 1};  ///< 1: faults can be made on order, tests only
inline constexpr std::uint32_t kFifoBeats = 0x10;  ///< Depths, in beats of 64 bytes.
inline constexpr Field kFifoBeatsPayload{0, 16};  ///< of the payload FIFO
inline constexpr Field kFifoBeatsTransmit{16, 16};  ///< of the transmit FIFO
inline constexpr std::uint32_t kClock = 0x14;  ///< 2^-10 MHz that the card was made for; 0: a simulated one, which has no clock.
inline constexpr std::uint32_t kMemoryBytes = 0x18;  ///< Bytes of card memory.
}  // namespace identity

namespace status {
inline constexpr std::uint32_t kState = 0x40;  ///< The state of the card.
inline constexpr std::uint32_t kError = 0x44;  ///< The first error since the last Arm; 0: none.
inline constexpr Field kErrorCode{0, 8};  ///< its kind
inline constexpr Field kErrorDtp{8, 8};  ///< of the error
inline constexpr Field kErrorWord{16, 7};  ///< of the DTP table: word_zero, word_unaligned, mtu
inline constexpr std::uint32_t kErrorLine = 0x48;  ///< Of the error: which descriptor since Arm, counted from 0 (descriptor_…); 0 of others.
inline constexpr std::uint32_t kArmDone = 0x4C;  ///< The value of doorbell arm that was carried out last, or refused.
inline constexpr std::uint32_t kStartDone = 0x50;  ///< The same of start.
inline constexpr std::uint32_t kAbortDone = 0x54;  ///< The same of abort: the last packet is out, nothing is on its way.
inline constexpr std::uint32_t kDescriptorsTaken = 0x58;  ///< Descriptors taken out of the ring, modulo 2^32: their entries are free.
inline constexpr std::uint32_t kDescriptorsDone = 0x5C;  ///< Descriptors whose bytes have left, modulo 2^32: their memory may change.
inline constexpr std::uint32_t kDtpsDone = 0x60;  ///< A bit a DTP: it has played all of its images.
inline constexpr std::uint32_t kDtpsWaiting = 0x64;  ///< A bit a DTP: it waits for a credit.
}  // namespace status

namespace counters {
inline constexpr std::uint32_t kImages = 0x80;  ///< Images whose event has left.
inline constexpr std::uint32_t kLines = 0x88;  ///< Lines that have left.
inline constexpr std::uint32_t kPackets = 0x90;  ///< Packets handed to the MAC.
inline constexpr std::uint32_t kBytes = 0x98;  ///< Payload bytes of these packets, records included.
inline constexpr std::uint32_t kCycles = 0xA0;  ///< Cycles in state running.
inline constexpr std::uint32_t kWaitCredit = 0xA8;  ///< Of these, cycles in which every DTP that has a frame waited for a credit.
inline constexpr std::uint32_t kWaitMemory = 0xB0;  ///< Cycles in which a packet waited for its bytes from memory.
inline constexpr std::uint32_t kWaitWire = 0xB8;  ///< Cycles in which the MAC did not take a beat that was there.
inline constexpr std::uint32_t kCredits = 0xC0;  ///< Credits taken.
inline constexpr std::uint32_t kCnps = 0xC8;  ///< Congestion notifications.
inline constexpr std::uint32_t kFramesIgnored = 0xD0;  ///< Received frames that were no credit of ours.
inline constexpr std::uint32_t kIcrcBad = 0xD8;  ///< Received frames with a wrong ICRC.
inline constexpr std::uint32_t kFramesMissed = 0xE0;  ///< Received frames that came while another was checked; credits are repeated.
inline constexpr std::uint32_t kFaults = 0xE8;  ///< Faults made on order.
}  // namespace counters

namespace dtp_status {
inline constexpr std::size_t kCount = 16;
inline constexpr std::size_t kWords = 9;
/// First byte of the one at place `index`.
constexpr std::uint32_t at(std::size_t index) noexcept { return 0x400 + static_cast<std::uint32_t>(index) * 0x40; }
// Offsets below are added to at().
inline constexpr std::uint32_t kImagesSent = 0x0;  ///< Images whose event has left.
inline constexpr std::uint32_t kImagesSkipped = 0x8;  ///< Images left out: no credit, and on_full says skip.
inline constexpr std::uint32_t kPackets = 0x10;  ///< Packets.
inline constexpr std::uint32_t kBytes = 0x18;  ///< Payload bytes.
inline constexpr std::uint32_t kGranted = 0x20;  ///< Images granted, modulo 2^32: the later of the doorbell and of the receiver's word.
}  // namespace dtp_status

namespace settings {
inline constexpr std::uint32_t kMode = 0x1000;  ///< Where descriptors come from: 0 the generator, 1 pushed by software.
inline constexpr Field kModePushed{0, 1};  ///< 
}  // namespace settings

namespace faults {
inline constexpr std::size_t kCount = 64;
inline constexpr std::size_t kWords = 2;
/// First byte of the one at place `index`.
constexpr std::uint32_t at(std::size_t index) noexcept { return 0x1400 + static_cast<std::uint32_t>(index) * 0x8; }
// Offsets below are added to at().
inline constexpr std::uint32_t kPacket = 0x0;  ///< Which packet.
inline constexpr Field kPacketPsn{0, 24};  ///< its PSN
inline constexpr Field kPacketDtp{24, 4};  ///< its DTP
inline constexpr std::uint32_t kWhat = 0x4;  ///< The kind of the fault, and its place.
inline constexpr Field kWhatBitNumber{0, 16};  ///< bit of the frame to flip: 8 · byte + bit
inline constexpr Field kWhatKind{16, 2};  ///< its kind
}  // namespace faults

namespace descriptors {
inline constexpr std::size_t kCount = 64;
inline constexpr std::size_t kWords = 8;
/// First byte of the one at place `index`.
constexpr std::uint32_t at(std::size_t index) noexcept { return 0x2000 + static_cast<std::uint32_t>(index) * 0x20; }
// Offsets below are added to at().
inline constexpr std::uint32_t kSource = 0x0;  ///< Address in card memory, bits 31 … 0.
inline constexpr std::uint32_t kWhat = 0x4;  ///< The rest of the address, and the kind of the descriptor.
inline constexpr Field kWhatSourceHigh{0, 16};  ///< bits 47 … 32 of the address
inline constexpr Field kWhatDtp{16, 4};  ///< data transfer process
inline constexpr Field kWhatEventRecord{20, 1};  ///< 1: the record of an image, 128 bytes, WRITE with immediate
inline constexpr std::uint32_t kDestination = 0x8;  ///< Offset at the receiver.
inline constexpr std::uint32_t kBytes = 0x10;  ///< 1 … 2^31.
inline constexpr std::uint32_t kImmediate = 0x14;  ///< Of an event.
inline constexpr std::uint32_t kReserved = 0x18;  ///< 0.
}  // namespace descriptors

namespace dtp_table {
inline constexpr std::size_t kCount = 16;
inline constexpr std::size_t kWords = 64;
/// First byte of the one at place `index`.
constexpr std::uint32_t at(std::size_t index) noexcept { return 0x4000 + static_cast<std::uint32_t>(index) * 0x200; }
// Offsets below are added to at().
inline constexpr std::uint32_t kDestinationMac = 0x0;  ///< MAC address of the destination, or of the first router.
inline constexpr std::uint32_t kSourceMac = 0x8;  ///< MAC address of the card.
inline constexpr std::uint32_t kIpDestination = 0x10;  ///< IPv4 (first word) or IPv6 address of the destination.
inline constexpr std::uint32_t kIpSource = 0x20;  ///< The card's.
inline constexpr std::uint32_t kPorts = 0x30;  ///< UDP ports.
inline constexpr Field kPortsSourcePort{0, 16};  ///< of the card; differs between DTPs, so that switches spread them
inline constexpr Field kPortsDestinationPort{16, 16};  ///< 4791, or the port of a receiver in user space
inline constexpr std::uint32_t kTraffic = 0x34;  ///< Of the IP header.
inline constexpr Field kTrafficTrafficClass{0, 8};  ///< DSCP and ECN
inline constexpr Field kTrafficHopLimit{8, 8};  ///< hop limit, time to live
inline constexpr std::uint32_t kFlowLabel = 0x38;  ///< IPv6.
inline constexpr std::uint32_t kIpv4Sum = 0x3C;  ///< One's-complement sum of the 16-bit words of the IPv4 header without total length and checksum; folded, not inverted.
inline constexpr std::uint32_t kQpn = 0x40;  ///< Queue pair at the receiver.
inline constexpr std::uint32_t kRkey = 0x44;  ///< Key of its memory.
inline constexpr std::uint32_t kFirstPsn = 0x48;  ///< PSN of the first packet; loaded at Arm.
inline constexpr std::uint32_t kMtu = 0x4C;  ///< How packets are made.
inline constexpr Field kMtuPathMtu{0, 13};  ///< 256, 512, 1024, 2048 or 4096
inline constexpr Field kMtuFirstMiddleLast{16, 1};  ///< packetisation: 0 only, 1 first_middle_last
inline constexpr Field kMtuIpv6{17, 1};  ///< 1: IPv6, 0: IPv4
inline constexpr std::uint32_t kDtp = 0x50;  ///< The data transfer process.
inline constexpr Field kDtpId{0, 8};  ///< its id, in the immediate
inline constexpr Field kDtpSkip{8, 1};  ///< on_full, without a credit: 0 pause, 1 skip the image
inline constexpr Field kDtpEnabled{9, 1};  ///< 1: there is such a DTP in this run
inline constexpr Field kDtpPaced{10, 1};  ///< 1: needs no credits
inline constexpr std::uint32_t kRun = 0x54;  ///< Number of the run, for records.
inline constexpr std::uint32_t kSource = 0x58;  ///< Address of the region's first byte in frame 0.
inline constexpr std::uint32_t kRecordSource = 0x60;  ///< Address of the record's template of frame 0; a multiple of 64.
inline constexpr std::uint32_t kFrameStep = 0x68;  ///< From one image's frame to the next, modulo frame_ring; a multiple of 64.
inline constexpr std::uint32_t kFrameRing = 0x70;  ///< Bytes of the ring of frames: addresses wrap behind it; a multiple of 64.
inline constexpr std::uint32_t kOuterCount = 0x78;  ///< Runs of an image: lines, or merged ones.
inline constexpr std::uint32_t kInnerCount = 0x7C;  ///< Pieces of a run.
inline constexpr std::uint32_t kOuterSourceStep = 0x80;  ///< From run to run in card memory.
inline constexpr std::uint32_t kOuterDestinationStep = 0x84;  ///< From run to run at the receiver.
inline constexpr std::uint32_t kPieceBytes = 0x88;  ///< Bytes of a piece.
inline constexpr std::uint32_t kRestBytes = 0x8C;  ///< Bytes of the last piece of a run.
inline constexpr std::uint32_t kLastBytes = 0x90;  ///< Bytes of the last piece of the last run.
inline constexpr std::uint32_t kFactorPiece = 0x94;  ///< x^(8·r) mod P of CRC32C, r: bytes of the last packet of a piece.
inline constexpr std::uint32_t kFactorRest = 0x98;  ///< The same of rest_bytes.
inline constexpr std::uint32_t kFactorLast = 0x9C;  ///< The same of last_bytes.
inline constexpr std::uint32_t kFactorMtu = 0xA0;  ///< The same of the path MTU.
inline constexpr std::uint32_t kSlots = 0xA4;  ///< Images of the ring at the receiver.
inline constexpr std::uint32_t kDestination = 0xA8;  ///< Offset at the receiver of line 0 in slot 0.
inline constexpr std::uint32_t kSlotBytes = 0xB0;  ///< From slot to slot.
inline constexpr std::uint32_t kRecords = 0xB8;  ///< Offset of the ring of records.
inline constexpr std::uint32_t kImages = 0xC0;  ///< Images of the run.
inline constexpr std::uint32_t kFirstFrame = 0xC8;  ///< Frame of image 0, modulo 2^32: the slice's phase.
inline constexpr std::uint32_t kFramesBetween = 0xCC;  ///< Frames from image to image: the slice's every.
inline constexpr std::uint32_t kFrameOffset = 0xD0;  ///< Of the frame of image 0 in the ring of frames, less than frame_ring; a multiple of 64.
inline constexpr std::uint32_t kLines = 0xD8;  ///< Lines of the region, for records.
inline constexpr std::uint32_t kRate = 0xDC;  ///< Pace: 2^-16 bytes a cycle; 0: not paced.
inline constexpr std::uint32_t kPayloadBytes = 0xE0;  ///< Bytes of lines of an image, for records.
inline constexpr std::uint32_t kBurst = 0xE8;  ///< Pace: bytes that may go at once after a rest; at least one packet.
inline constexpr std::uint32_t kCreditQpn = 0xEC;  ///< Queue pair of the card to which the receiver writes its credits.
inline constexpr std::uint32_t kCreditAddress = 0xF0;  ///< Address of the two credit words, as the receiver was told.
inline constexpr std::uint32_t kCreditKey = 0xF8;  ///< Key of the credit words.
inline constexpr std::uint32_t kLinesPerRun = 0xFC;  ///< Lines of a run: 1, or as many as are merged.
}  // namespace dtp_table

namespace doorbells {
inline constexpr std::uint32_t kGranted = 0x7F00;  ///< A DTP each: images granted by software in this run, modulo 2^32, less than 2^31 ahead of the sent ones; 0 before Arm.
inline constexpr std::uint32_t kFramesAvailable = 0x7F40;  ///< A DTP each: frames of its module that are in card memory, those of other slices included, modulo 2^32; 0 before Arm.
inline constexpr std::uint32_t kDescriptorsPosted = 0x7FF0;  ///< Descriptors written into the ring, modulo 2^32.
inline constexpr std::uint32_t kAbort = 0x7FF4;  ///< One more: end the run. The packet on its way ends, everything else is dropped.
inline constexpr std::uint32_t kArm = 0x7FF8;  ///< One more: check the table, load every PSN, set counters to 0.
inline constexpr std::uint32_t kStart = 0x7FFC;  ///< One more: begin.
}  // namespace doorbells

/// One DTP as the card knows it.
struct DtpTable {
  std::uint64_t destination_mac = 0;  ///< MAC address of the destination, or of the first router.
  std::uint64_t source_mac = 0;  ///< MAC address of the card.
  std::array<std::uint32_t, 4> ip_destination{};  ///< IPv4 (first word) or IPv6 address of the destination.
  std::array<std::uint32_t, 4> ip_source{};  ///< The card's.
  std::uint32_t ports_source_port = 0;  ///< of the card; differs between DTPs, so that switches spread them
  std::uint32_t ports_destination_port = 0;  ///< 4791, or the port of a receiver in user space
  std::uint32_t traffic_class = 0;  ///< DSCP and ECN
  std::uint32_t traffic_hop_limit = 0;  ///< hop limit, time to live
  std::uint32_t flow_label = 0;  ///< IPv6.
  std::uint32_t ipv4_sum = 0;  ///< One's-complement sum of the 16-bit words of the IPv4 header without total length and checksum; folded, not inverted.
  std::uint32_t qpn = 0;  ///< Queue pair at the receiver.
  std::uint32_t rkey = 0;  ///< Key of its memory.
  std::uint32_t first_psn = 0;  ///< PSN of the first packet; loaded at Arm.
  std::uint32_t mtu_path_mtu = 0;  ///< 256, 512, 1024, 2048 or 4096
  bool mtu_first_middle_last = false;  ///< packetisation: 0 only, 1 first_middle_last
  bool mtu_ipv6 = false;  ///< 1: IPv6, 0: IPv4
  std::uint32_t dtp_id = 0;  ///< its id, in the immediate
  bool dtp_skip = false;  ///< on_full, without a credit: 0 pause, 1 skip the image
  bool dtp_enabled = false;  ///< 1: there is such a DTP in this run
  bool dtp_paced = false;  ///< 1: needs no credits
  std::uint32_t run = 0;  ///< Number of the run, for records.
  std::uint64_t source = 0;  ///< Address of the region's first byte in frame 0.
  std::uint64_t record_source = 0;  ///< Address of the record's template of frame 0; a multiple of 64.
  std::uint64_t frame_step = 0;  ///< From one image's frame to the next, modulo frame_ring; a multiple of 64.
  std::uint64_t frame_ring = 0;  ///< Bytes of the ring of frames: addresses wrap behind it; a multiple of 64.
  std::uint32_t outer_count = 0;  ///< Runs of an image: lines, or merged ones.
  std::uint32_t inner_count = 0;  ///< Pieces of a run.
  std::uint32_t outer_source_step = 0;  ///< From run to run in card memory.
  std::uint32_t outer_destination_step = 0;  ///< From run to run at the receiver.
  std::uint32_t piece_bytes = 0;  ///< Bytes of a piece.
  std::uint32_t rest_bytes = 0;  ///< Bytes of the last piece of a run.
  std::uint32_t last_bytes = 0;  ///< Bytes of the last piece of the last run.
  std::uint32_t factor_piece = 0;  ///< x^(8·r) mod P of CRC32C, r: bytes of the last packet of a piece.
  std::uint32_t factor_rest = 0;  ///< The same of rest_bytes.
  std::uint32_t factor_last = 0;  ///< The same of last_bytes.
  std::uint32_t factor_mtu = 0;  ///< The same of the path MTU.
  std::uint32_t slots = 0;  ///< Images of the ring at the receiver.
  std::uint64_t destination = 0;  ///< Offset at the receiver of line 0 in slot 0.
  std::uint64_t slot_bytes = 0;  ///< From slot to slot.
  std::uint64_t records = 0;  ///< Offset of the ring of records.
  std::uint64_t images = 0;  ///< Images of the run.
  std::uint32_t first_frame = 0;  ///< Frame of image 0, modulo 2^32: the slice's phase.
  std::uint32_t frames_between = 0;  ///< Frames from image to image: the slice's every.
  std::uint64_t frame_offset = 0;  ///< Of the frame of image 0 in the ring of frames, less than frame_ring; a multiple of 64.
  std::uint32_t lines = 0;  ///< Lines of the region, for records.
  std::uint32_t rate = 0;  ///< Pace: 2^-16 bytes a cycle; 0: not paced.
  std::uint64_t payload_bytes = 0;  ///< Bytes of lines of an image, for records.
  std::uint32_t burst = 0;  ///< Pace: bytes that may go at once after a rest; at least one packet.
  std::uint32_t credit_qpn = 0;  ///< Queue pair of the card to which the receiver writes its credits.
  std::uint64_t credit_address = 0;  ///< Address of the two credit words, as the receiver was told.
  std::uint32_t credit_key = 0;  ///< Key of the credit words.
  std::uint32_t lines_per_run = 0;  ///< Lines of a run: 1, or as many as are merged.
};

/// Returns it word by word, as it lies in the page from dtp_table::at(dtp).
constexpr std::array<std::uint32_t, dtp_table::kWords> words_of(const DtpTable& table) noexcept {
  std::array<std::uint32_t, dtp_table::kWords> words{};
  words[0] = static_cast<std::uint32_t>(table.destination_mac);
  words[1] = static_cast<std::uint32_t>(table.destination_mac >> 32);
  words[2] = static_cast<std::uint32_t>(table.source_mac);
  words[3] = static_cast<std::uint32_t>(table.source_mac >> 32);
  words[4] = table.ip_destination[0];
  words[5] = table.ip_destination[1];
  words[6] = table.ip_destination[2];
  words[7] = table.ip_destination[3];
  words[8] = table.ip_source[0];
  words[9] = table.ip_source[1];
  words[10] = table.ip_source[2];
  words[11] = table.ip_source[3];
  words[12] = dtp_table::kPortsSourcePort.put(table.ports_source_port) | dtp_table::kPortsDestinationPort.put(table.ports_destination_port);
  words[13] = dtp_table::kTrafficTrafficClass.put(table.traffic_class) | dtp_table::kTrafficHopLimit.put(table.traffic_hop_limit);
  words[14] = table.flow_label;
  words[15] = table.ipv4_sum;
  words[16] = table.qpn;
  words[17] = table.rkey;
  words[18] = table.first_psn;
  words[19] = dtp_table::kMtuPathMtu.put(table.mtu_path_mtu) | dtp_table::kMtuFirstMiddleLast.put(std::uint32_t{table.mtu_first_middle_last}) | dtp_table::kMtuIpv6.put(std::uint32_t{table.mtu_ipv6});
  words[20] = dtp_table::kDtpId.put(table.dtp_id) | dtp_table::kDtpSkip.put(std::uint32_t{table.dtp_skip}) | dtp_table::kDtpEnabled.put(std::uint32_t{table.dtp_enabled}) | dtp_table::kDtpPaced.put(std::uint32_t{table.dtp_paced});
  words[21] = table.run;
  words[22] = static_cast<std::uint32_t>(table.source);
  words[23] = static_cast<std::uint32_t>(table.source >> 32);
  words[24] = static_cast<std::uint32_t>(table.record_source);
  words[25] = static_cast<std::uint32_t>(table.record_source >> 32);
  words[26] = static_cast<std::uint32_t>(table.frame_step);
  words[27] = static_cast<std::uint32_t>(table.frame_step >> 32);
  words[28] = static_cast<std::uint32_t>(table.frame_ring);
  words[29] = static_cast<std::uint32_t>(table.frame_ring >> 32);
  words[30] = table.outer_count;
  words[31] = table.inner_count;
  words[32] = table.outer_source_step;
  words[33] = table.outer_destination_step;
  words[34] = table.piece_bytes;
  words[35] = table.rest_bytes;
  words[36] = table.last_bytes;
  words[37] = table.factor_piece;
  words[38] = table.factor_rest;
  words[39] = table.factor_last;
  words[40] = table.factor_mtu;
  words[41] = table.slots;
  words[42] = static_cast<std::uint32_t>(table.destination);
  words[43] = static_cast<std::uint32_t>(table.destination >> 32);
  words[44] = static_cast<std::uint32_t>(table.slot_bytes);
  words[45] = static_cast<std::uint32_t>(table.slot_bytes >> 32);
  words[46] = static_cast<std::uint32_t>(table.records);
  words[47] = static_cast<std::uint32_t>(table.records >> 32);
  words[48] = static_cast<std::uint32_t>(table.images);
  words[49] = static_cast<std::uint32_t>(table.images >> 32);
  words[50] = table.first_frame;
  words[51] = table.frames_between;
  words[52] = static_cast<std::uint32_t>(table.frame_offset);
  words[53] = static_cast<std::uint32_t>(table.frame_offset >> 32);
  words[54] = table.lines;
  words[55] = table.rate;
  words[56] = static_cast<std::uint32_t>(table.payload_bytes);
  words[57] = static_cast<std::uint32_t>(table.payload_bytes >> 32);
  words[58] = table.burst;
  words[59] = table.credit_qpn;
  words[60] = static_cast<std::uint32_t>(table.credit_address);
  words[61] = static_cast<std::uint32_t>(table.credit_address >> 32);
  words[62] = table.credit_key;
  words[63] = table.lines_per_run;
  return words;
}

/// The register of the table that word `word` belongs to; for messages.
constexpr const char* name_of_word(std::uint32_t word) noexcept {
  if (word >= 63) return "lines_per_run";
  if (word >= 62) return "credit_key";
  if (word >= 60) return "credit_address";
  if (word >= 59) return "credit_qpn";
  if (word >= 58) return "burst";
  if (word >= 56) return "payload_bytes";
  if (word >= 55) return "rate";
  if (word >= 54) return "lines";
  if (word >= 52) return "frame_offset";
  if (word >= 51) return "frames_between";
  if (word >= 50) return "first_frame";
  if (word >= 48) return "images";
  if (word >= 46) return "records";
  if (word >= 44) return "slot_bytes";
  if (word >= 42) return "destination";
  if (word >= 41) return "slots";
  if (word >= 40) return "factor_mtu";
  if (word >= 39) return "factor_last";
  if (word >= 38) return "factor_rest";
  if (word >= 37) return "factor_piece";
  if (word >= 36) return "last_bytes";
  if (word >= 35) return "rest_bytes";
  if (word >= 34) return "piece_bytes";
  if (word >= 33) return "outer_destination_step";
  if (word >= 32) return "outer_source_step";
  if (word >= 31) return "inner_count";
  if (word >= 30) return "outer_count";
  if (word >= 28) return "frame_ring";
  if (word >= 26) return "frame_step";
  if (word >= 24) return "record_source";
  if (word >= 22) return "source";
  if (word >= 21) return "run";
  if (word >= 20) return "dtp";
  if (word >= 19) return "mtu";
  if (word >= 18) return "first_psn";
  if (word >= 17) return "rkey";
  if (word >= 16) return "qpn";
  if (word >= 15) return "ipv4_sum";
  if (word >= 14) return "flow_label";
  if (word >= 13) return "traffic";
  if (word >= 12) return "ports";
  if (word >= 8) return "ip_source";
  if (word >= 4) return "ip_destination";
  if (word >= 2) return "source_mac";
  return "destination_mac";
}

}  // namespace rashpa::card::registers
