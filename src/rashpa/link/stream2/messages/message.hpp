// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Messages of DECTRIS Stream V2, as far as a link needs them. They are untrusted: each size is compared with the
/// others before use, and nothing is allocated.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/core/image/pixel_type.hpp"

namespace rashpa::link::stream2 {

inline constexpr std::size_t kMostChannels = 16;
/// The CBOR tag of a multi-dimensional array; kCompressedTag is that of DECTRIS's packed bytes.
inline constexpr std::uint64_t kArrayTag = 40;
inline constexpr std::uint64_t kCompressedTag = 56500;

enum class Codec : std::uint8_t { none, bslz4, lz4, lz4_block, zstd };

/// The pixels of one channel, as stored in the message.
struct Packed {
  std::string_view channel;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  PixelType pixel = PixelType::u16;
  Codec codec = Codec::none;
  std::uint32_t element = 0;  ///< for bslz4: bytes of an element
  bool upside_down = false;   ///< the last line comes first
  std::span<const std::byte> bytes{};
  [[nodiscard]] std::uint64_t size() const noexcept { return rows * columns * pixel_bytes(pixel); }
};

enum class Type : std::uint8_t { start, image, end, other };

/// A message that was read. All views point into the message's bytes.
struct Message {
  Type type = Type::other;
  std::uint64_t series = 0;
  std::string_view unique_id;
  std::uint64_t image = 0;
  std::uint64_t timestamp_ns =
      0;  ///< begin of the image, or of the series for a start message, in ns TAI; 0: not given
  /// time since the begin of the series in ns, for an image without a time of its own
  std::optional<std::uint64_t> since_ns;
  std::uint32_t flags = 0;  ///< flags of the record, for our own sender
  /// number of the module, for a message that has one module instead of all channels
  std::optional<std::uint32_t> module;
  FrameRecord::Words words{};  ///< for sls: words of the header; for others: real_time in ns, 0: not given
  bool partial = false;        ///< the sender has lost a part of the image
  std::array<Packed, kMostChannels> data{};
  std::size_t channels_of_data = 0;
  std::array<std::string_view, kMostChannels> channels{};  ///< names of the channels, in a start message
  std::size_t channels_of_start = 0;
  [[nodiscard]] std::span<const Packed> pixels() const noexcept { return std::span(data).first(channels_of_data); }
  [[nodiscard]] std::span<const std::string_view> names() const noexcept {
    return std::span(channels).first(channels_of_start);
  }
};

/// Reads a message of Stream V2. Returns false when it is none, or exceeds a bound.
[[nodiscard]] bool read_message(std::span<const std::byte> bytes, Message& out) noexcept;

}  // namespace rashpa::link::stream2
