// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Messages of DECTRIS Stream V2, as far as a link needs them. They are not trusted: every size is compared with the
/// others before it is used, and nothing is allocated.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "rashpa/core/image/pixel_type.hpp"

namespace rashpa::link::stream2 {

inline constexpr std::size_t kMostChannels = 16;
/// CBOR's tags of an array with sides, and of DECTRIS's packed bytes.
inline constexpr std::uint64_t kArrayTag = 40;
inline constexpr std::uint64_t kCompressedTag = 56500;

enum class Codec : std::uint8_t { none, bslz4, lz4, lz4_block, zstd };

/// The pixels of one channel, as the message holds them.
struct Packed {
  std::string_view channel;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  PixelType pixel = PixelType::u16;
  Codec codec = Codec::none;
  std::uint32_t element = 0;  ///< bslz4: bytes of an element
  std::span<const std::byte> bytes{};
  [[nodiscard]] std::uint64_t size() const noexcept { return rows * columns * pixel_bytes(pixel); }
};

enum class Type : std::uint8_t { start, image, end, other };

/// All views are into the message's bytes.
struct Message {
  Type type = Type::other;
  std::uint64_t series = 0;
  std::string_view unique_id;
  std::uint64_t image = 0;
  std::uint64_t timestamp_ns = 0;         ///< TAI, when the image, or the series of a start, began; 0: not said
  std::optional<std::uint64_t> since_ns;  ///< where an image has no time of its own: since its series began
  std::uint32_t flags = 0;                ///< of our own sender's record
  bool partial = false;                   ///< its sender has lost a part of it
  std::array<Packed, kMostChannels> data{};
  std::size_t channels_of_data = 0;
  std::array<std::string_view, kMostChannels> channels{};  ///< start
  std::size_t channels_of_start = 0;
  [[nodiscard]] std::span<const Packed> pixels() const noexcept { return std::span(data).first(channels_of_data); }
  [[nodiscard]] std::span<const std::string_view> names() const noexcept {
    return std::span(channels).first(channels_of_start);
  }
};

/// Reads a message of Stream V2. False: it is none, or breaks a bound.
[[nodiscard]] bool read_message(std::span<const std::byte> bytes, Message& out) noexcept;

}  // namespace rashpa::link::stream2
