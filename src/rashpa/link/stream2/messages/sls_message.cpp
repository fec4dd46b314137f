// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/stream2/messages/sls_message.hpp"

#include <limits>

#include "rashpa/link/sls/header.hpp"
#include "rashpa/link/stream2/messages/json_object.hpp"

namespace rashpa::link::stream2 {

namespace {

constexpr std::uint64_t kMostSide = 1U << 16;
constexpr std::uint64_t kMostPorts = 1U << 10;  // in a row or a column

std::optional<PixelType> pixel_of_bits(std::uint64_t bits) noexcept {
  if (bits == 8) return PixelType::u8;
  if (bits == 16) return PixelType::u16;
  if (bits == 32) return PixelType::u32;
  return std::nullopt;
}

// A number that has had another name in older versions, and is 0 where it is not said.
template <typename T>
T said(const JsonObject& header, std::string_view name, std::string_view older) noexcept {
  const std::uint64_t value = header.count(name).value_or(header.count(older).value_or(0));
  return value <= std::numeric_limits<T>::max() ? static_cast<T>(value) : T{0};
}

bool read_place(const JsonObject& header, Message& out) noexcept {
  const auto ports = header.sides("detshape");
  const auto row = header.count("row");
  const auto column = header.count("column");
  if (!ports || !row || !column || ports->first > kMostPorts || ports->second > kMostPorts) return false;
  if (*column >= ports->first || *row >= ports->second) return false;
  out.module = static_cast<std::uint32_t>(*column * ports->second + *row);
  return true;
}

bool read_pixels(const JsonObject& header, std::span<const std::byte> bytes, Message& out) noexcept {
  const auto sides = header.sides("shape");
  const auto pixel = pixel_of_bits(header.count("bitmode").value_or(0));
  if (!sides || !pixel || sides->first > kMostSide || sides->second > kMostSide) return false;
  Packed& one = out.data[0];
  one.columns = sides->first;
  one.rows = sides->second;
  one.pixel = *pixel;
  one.bytes = bytes;
  one.upside_down = said<std::uint64_t>(header, "flipRows", "flippedDataX") != 0;
  out.channels_of_data = 1;
  return one.size() != 0 && one.size() == bytes.size() && header.count("size") == bytes.size();
}

void read_words(const JsonObject& header, Message& out) noexcept {
  sls::Header words;
  words.frame_number = out.image;
  words.bunch_id = said<std::uint64_t>(header, "detSpec1", "bunchId");
  words.timestamp = said<std::uint64_t>(header, "timestamp", "timestamp");
  words.exposure = said<std::uint32_t>(header, "expLength", "expLength");
  words.daq_info = said<std::uint32_t>(header, "detSpec3", "debug");
  words.module = said<std::uint16_t>(header, "modId", "modId");
  out.words = sls::words_of(words);
}

}  // namespace

bool read_sls_message(const Buffer& message, Message& out) noexcept {
  out = {};
  if (message.frames() == 0 || message.frames() > 2) return false;
  const JsonObject header(message.frame(0));
  const auto version = header.count("jsonversion");
  const auto data = header.count("data");
  if (!header.good() || (version != 4U && version != 5U) || !data) return false;
  if (*data == 0) {  // the end of an acquisition, which says nothing else
    out.type = Type::end;
    return true;
  }
  const auto series = header.count("fileIndex");
  const auto frame = header.count("frameNumber");
  if (!series || !frame || message.frames() != 2) return false;
  out.type = Type::image;
  out.series = *series;
  out.image = *frame;
  out.partial = header.count("completeImage") == 0U;
  read_words(header, out);
  return read_place(header, out) && read_pixels(header, message.frame(1), out);
}

}  // namespace rashpa::link::stream2
