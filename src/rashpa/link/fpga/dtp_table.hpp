// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A card's description of a DTP, by which it plays the DTP by itself: the words of its table, of which the card's
/// adders make the same descriptors, packets and records as software does.
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "rashpa/card/registers.hpp"
#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/core/image/placement.hpp"
#include "rashpa/core/image/region.hpp"
#include "rashpa/link/words.hpp"

namespace rashpa::link::fpga {

/// Frames of a module in card memory: `frames` of them, `stride` bytes apart, used again from the first on. Each is a
/// record's template (record_template()) and, kPixels bytes behind its start, the pixels.
struct FrameRing {
  static constexpr std::uint64_t kPixels = FrameRecord::kBytes;
  std::uint64_t address = 0;      ///< a multiple of 64
  std::uint64_t stride = 0;       ///< a multiple of 64
  std::uint64_t frames = 0;       ///< at least 1
  std::uint64_t pitch_bytes = 0;  ///< distance between lines of a frame
  std::uint32_t pixel_bytes = 2;
};

/// One data transfer process, as the card sees it.
struct CardDtp {
  std::uint32_t id = 0;  ///< 0 … 255
  Region region{};
  Slice slice{};
  std::uint64_t images = 0;
  Placement placement{};
  std::uint64_t base = 0;  ///< Receiver::base(), added to every offset
  std::uint32_t run = 0;
};

/// Describes how the card sends.
struct CardPackets {
  std::uint32_t pmtu = 4096;
  Packetisation packetisation = Packetisation::only;
  std::uint32_t largest_message = 4096;  ///< a multiple of the path MTU
};

/// The path of a card's packets: ports and addresses, as they stand in the packets.
struct CardPath {
  std::array<std::uint8_t, 6> source_mac{};
  std::array<std::uint8_t, 6> destination_mac{};
  std::array<std::uint8_t, 16> source_ip{};  ///< IPv4: the first four
  std::array<std::uint8_t, 16> destination_ip{};
  bool ipv6 = false;
  std::uint16_t source_port = 0xC000;
  std::uint16_t destination_port = 4791;
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 64;
  std::uint32_t qpn = 0;
  std::uint32_t rkey = 0;
  std::uint32_t first_psn = 0;
};

/// Sets what `packets`, `dtp` and its frames say: addressing in card memory and at the receiver, lines, factors,
/// record. Throws ConfigError when the region does not fit its placement, or lengths do not fit the card's registers.
void set_transfer(card::registers::DtpTable& table, const CardDtp& dtp, const FrameRing& frames,
                  const CardPackets& packets);

/// Describes in words the last line or event that a DTP sent, from its numbers of packets and of events since Arm.
/// Images are counted as they are sent.
[[nodiscard]] std::string last_sent(const card::registers::DtpTable& table, std::uint64_t images,
                                    std::uint64_t packets);

/// Sets addresses, ports, queue pair, key and PSN.
void set_path(card::registers::DtpTable& table, const CardPath& path) noexcept;

/// The 128 bytes in front of a frame's pixels: the facts that its source knows. The card adds DTP, run, index, slot,
/// lines, length and CRC32C of the payload, and the flag "last of run"; the record's own CRC32C is right for all of
/// these 0.
void record_template(std::span<std::byte, FrameRecord::kBytes> at, std::uint64_t frame_number,
                     std::uint64_t timestamp_ns, std::uint32_t flags,
                     const std::array<std::uint64_t, 6>& user = {}) noexcept;

}  // namespace rashpa::link::fpga
