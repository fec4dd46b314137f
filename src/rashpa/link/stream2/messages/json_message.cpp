// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/stream2/messages/json_message.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "rashpa/core/time/iso_time.hpp"
#include "rashpa/core/time/leap_seconds.hpp"
#include "rashpa/link/stream2/messages/json_object.hpp"

namespace rashpa::link::stream2 {

namespace {

constexpr std::uint64_t kFirstDate = 1'000'000'000'000'000'000;  // 2001: smaller times count from the series' begin
constexpr std::uint64_t kLastDate = std::uint64_t{1} << 62;
constexpr std::uint64_t kMostPixelsOfV1 = std::uint64_t{1} << 27;

std::optional<PixelType> pixel_named(std::string_view name) noexcept {
  for (const PixelType type : {PixelType::u8, PixelType::u16, PixelType::u32, PixelType::i16, PixelType::i32}) {
    if (pixel_name(type) == name) return type;
  }
  return std::nullopt;
}

// "<", "lz4<", "bs16-lz4<": little endian, and how it is packed.
bool encoding_of(std::string_view name, Packed& one) noexcept {
  if (!name.ends_with('<')) return false;
  name.remove_suffix(1);
  one.element = pixel_bytes(one.pixel);
  if (name.empty()) {
    one.codec = Codec::none;
  } else if (name == "lz4") {
    one.codec = Codec::lz4_block;
  } else if (name == "bs8-lz4" || name == "bs16-lz4" || name == "bs32-lz4") {
    one.codec = Codec::bslz4;
    one.element = name == "bs8-lz4" ? 1 : name == "bs16-lz4" ? 2 : 4;
  } else {
    return false;
  }
  return true;
}

// When the series began, as its description says. A date without a zone is of UTC.
std::uint64_t series_begin(const Buffer& message) noexcept {
  if (message.frames() < 2) return 0;
  const JsonObject about(message.frame(1));
  const std::string_view date = about.text("data_collection_date");
  std::array<char, 48> zoned{};
  if (!about.good() || date.empty() || date.size() >= zoned.size()) return 0;
  auto began = utc_of_iso(date);
  if (!began) {
    *std::copy(date.begin(), date.end(), zoned.begin()) = 'Z';
    began = utc_of_iso({zoned.data(), date.size() + 1});
  }
  return began && *began < kLastDate ? tai_of_utc(*began) : 0;
}

// The frame behind the pixels, which may be missing.
void read_times(const Buffer& message, Message& out) noexcept {
  if (message.frames() < 4) return;
  const JsonObject times(message.frame(3));
  const auto began = times.count("start_time");
  if (times.good()) out.words[0] = times.count("real_time").value_or(0);
  if (!times.good() || !began || !times.text("htype").starts_with("dconfig-1.")) return;
  if (*began < kFirstDate) {
    out.since_ns = *began;
  } else if (*began < kLastDate) {
    out.timestamp_ns = tai_of_utc(*began);
  }
}

bool read_pixels(const Buffer& message, Message& out) noexcept {
  if (message.frames() < 3) return false;
  const JsonObject about(message.frame(1));
  const auto sides = about.sides("shape");
  const auto pixel = pixel_named(about.text("type"));
  if (!about.good() || !sides || !pixel || !about.text("htype").starts_with("dimage_d-1.")) return false;
  Packed& one = out.data[0];
  one.columns = sides->first;
  one.rows = sides->second;
  one.pixel = *pixel;
  one.bytes = message.frame(2);
  const bool fits = one.rows != 0 && one.columns != 0 && one.rows <= kMostPixelsOfV1 &&
                    one.columns <= kMostPixelsOfV1 && one.rows * one.columns <= kMostPixelsOfV1;
  if (!fits || !encoding_of(about.text("encoding"), one) || one.bytes.empty()) return false;
  if (one.codec == Codec::none && one.bytes.size() != one.size()) return false;
  out.channels_of_data = 1;
  return true;
}

}  // namespace

bool is_json(const Buffer& message) noexcept {
  return message.frames() > 0 && !message.frame(0).empty() && message.frame(0)[0] == static_cast<std::byte>('{');
}

bool read_json_message(const Buffer& message, Message& out) noexcept {
  out = {};
  const JsonObject head(message.frame(0));
  const auto series = head.count("series");
  if (!head.good() || !series) return false;
  out.series = *series;
  const std::string_view type = head.text("htype");
  if (type.starts_with("dheader-1.")) {
    out.type = Type::start;
    out.timestamp_ns = series_begin(message);
    return true;
  }
  if (type.starts_with("dseries_end-1.")) {
    out.type = Type::end;
    return true;
  }
  if (!type.starts_with("dimage-1.")) return true;  // of another type, which is passed over
  const auto frame = head.count("frame");
  out.type = Type::image;
  out.image = frame.value_or(0);
  read_times(message, out);
  return frame && read_pixels(message, out);
}

}  // namespace rashpa::link::stream2
