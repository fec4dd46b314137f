// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The description of a DTP that a card plays by itself: the words of its table. From them the card's adders make the
/// same descriptors, packets and records as software does.
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

/// The frames of a module in card memory: a ring of `frames` frames, `stride` bytes apart. Each has a record's template
/// (record_template()) and, kPixels bytes behind its begin, the pixels.
struct FrameRing {
  static constexpr std::uint64_t kPixels = FrameRecord::kBytes;
  std::uint64_t address = 0;      ///< a multiple of 64
  std::uint64_t stride = 0;       ///< a multiple of 64
  std::uint64_t frames = 0;       ///< at least 1
  std::uint64_t pitch_bytes = 0;  ///< distance between lines of a frame
  std::uint32_t pixel_bytes = 2;
};

/// A DTP in the form that a card needs.
struct CardDtp {
  std::uint32_t id = 0;  ///< 0 … 255
  Region region{};
  Slice slice{};
  std::uint64_t images = 0;
  Placement placement{};
  std::uint64_t base = 0;  ///< Receiver::base(), added to all offsets
  std::uint32_t run = 0;
};

/// The settings by which a card sends packets.
struct CardPackets {
  std::uint32_t pmtu = 4096;
  Packetisation packetisation = Packetisation::only;
  std::uint32_t largest_message = 4096;  ///< a multiple of the path MTU
};

/// The path of a card's packets: the ports and addresses in their headers.
struct CardPath {
  std::array<std::uint8_t, 6> source_mac{};
  std::array<std::uint8_t, 6> destination_mac{};
  std::array<std::uint8_t, 16> source_ip{};  ///< IPv4: in the first four bytes
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

/// Writes the transfer words from `packets`, `dtp` and its frames: addressing in card memory and at the receiver,
/// lines, factors, record. Throws ConfigError when the region does not fit its placement, or lengths exceed the card's
/// registers.
void set_transfer(card::registers::DtpTable& table, const CardDtp& dtp, const FrameRing& frames,
                  const CardPackets& packets);

/// Returns a text about the last line or event that a DTP sent, from its numbers of events and packets since Arm.
/// Images are counted in the order of sending.
[[nodiscard]] std::string last_sent(const card::registers::DtpTable& table, std::uint64_t images,
                                    std::uint64_t packets);

/// Writes addresses, ports, queue pair, key and PSN.
void set_path(card::registers::DtpTable& table, const CardPath& path) noexcept;

/// Writes the 128 bytes before a frame's pixels, with the facts that its source knows. The card adds DTP, run, index,
/// slot, lines, length and CRC32C of the payload, and the flag "last of run". The record's own CRC32C is valid with
/// zeros in these places.
void record_template(std::span<std::byte, FrameRecord::kBytes> at, std::uint64_t frame_number,
                     std::uint64_t timestamp_ns, std::uint32_t flags,
                     const std::array<std::uint64_t, 6>& user = {}) noexcept;

}  // namespace rashpa::link::fpga
