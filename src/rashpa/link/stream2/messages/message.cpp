// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/stream2/messages/message.hpp"

#include "rashpa/core/cbor/cbor_reader.hpp"
#include "rashpa/core/time/iso_time.hpp"
#include "rashpa/core/time/leap_seconds.hpp"

namespace rashpa::link::stream2 {

namespace {

constexpr std::uint64_t kSelfDescribed = 55799;
constexpr std::uint64_t kMostSeconds = 1'000'000'000;  // of a series
constexpr std::uint64_t kMostPixels = std::uint64_t{1} << 27;

std::optional<PixelType> pixel_of(std::uint64_t tag) noexcept {
  switch (tag) {
    case 64:
    case 68:
      return PixelType::u8;
    case 69:
      return PixelType::u16;
    case 70:
      return PixelType::u32;
    case 77:
      return PixelType::i16;
    case 78:
      return PixelType::i32;
    case 85:
      return PixelType::f32;
    default:
      return std::nullopt;  // also big endian, which no detector of this interface sends
  }
}

std::optional<Codec> codec_of(std::string_view name) noexcept {
  if (name == "bslz4") return Codec::bslz4;
  if (name == "lz4") return Codec::lz4;
  if (name == "zstd") return Codec::zstd;
  return std::nullopt;
}

constexpr bool is_element_size(std::uint64_t bytes) noexcept {
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

// The optional tag of a text that is a date.
std::optional<std::string_view> date_text(CborReader& in) noexcept {
  if (in.peek() == CborReader::Kind::tag) static_cast<void>(in.tag());
  return in.text();
}

/// The time of an image, as its message has it.
struct Times {
  std::string_view date;                          // of the first image
  std::uint64_t since = 0, unit = 0;              // parts of a second, and how many make one
  std::uint64_t exposure = 0, exposure_unit = 0;  // the same
  std::uint64_t own = 0;                          // user_data of our own sender
};

class MessageReader {
 public:
  MessageReader(std::span<const std::byte> bytes, Message& out) noexcept : in_(bytes), out_(out) {}

  bool read() noexcept {
    if (in_.peek() == CborReader::Kind::tag && in_.tag() != kSelfDescribed) return false;
    if (in_.peek() != CborReader::Kind::map) return false;
    in_.map([this](std::string_view name) { field(name); });
    if (!in_.good() || !in_.at_end() || bad_ || !typed_ || !series_) return false;
    if (out_.type != Type::image) return true;
    out_.timestamp_ns = time();
    out_.words[0] = ns_of(times_.exposure, times_.exposure_unit).value_or(0);
    return image_ && out_.channels_of_data > 0;
  }

 private:
  void field(std::string_view name) noexcept {
    if (name == "type") return type();
    if (name == "series_id") return number(out_.series, series_);
    if (name == "image_id") return number(out_.image, image_);
    if (name == "series_unique_id") {
      out_.unique_id = in_.text().value_or(std::string_view());
    } else if (name == "series_date") {
      times_.date = date_text(in_).value_or(std::string_view());
    } else if (name == "start_time") {
      ratio(times_.since, times_.unit);
    } else if (name == "real_time") {
      ratio(times_.exposure, times_.exposure_unit);
    } else if (name == "channels") {
      in_.array([this](std::uint64_t at) {
        const std::string_view one = in_.text().value_or(std::string_view());
        if (at < kMostChannels) {
          out_.channels[at] = one;
          out_.channels_of_start = at + 1;
        }
      });
    } else if (name == "user_data" && in_.peek() == CborReader::Kind::map) {
      in_.map([this](std::string_view key) { user(key); });
    } else if (name == "data") {
      data();
    }
  }

  void type() noexcept {
    const auto name = in_.text();
    typed_ = name.has_value();
    if (name == "start") out_.type = Type::start;
    if (name == "image") out_.type = Type::image;
    if (name == "end") out_.type = Type::end;
  }

  void ratio(std::uint64_t& parts, std::uint64_t& unit) noexcept {
    in_.array([&](std::uint64_t at) {
      const std::uint64_t value = in_.count().value_or(0);
      if (at == 0) parts = value;
      if (at == 1) unit = value;
    });
  }

  void number(std::uint64_t& value, bool& there) noexcept {
    const auto said = in_.count();
    there = said.has_value();
    value = said.value_or(0);
  }

  void user(std::string_view key) noexcept {
    if (key == "timestamp_ns") {
      times_.own = in_.count().value_or(0);
    } else if (key == "flags") {
      out_.flags = static_cast<std::uint32_t>(in_.count().value_or(0));
    } else if (key == "completeness") {
      out_.partial = in_.text() == "partial";
    }
  }

  // Of no image the map may be missing; of a start it is something else.
  void data() noexcept {
    if (in_.peek() != CborReader::Kind::map) return in_.skip();
    in_.map([this](std::string_view channel) {
      if (out_.channels_of_data == kMostChannels) {
        bad_ = true;
        return;
      }
      Packed& one = out_.data[out_.channels_of_data];
      one = {.channel = channel};
      bad_ = !packed(one) || bad_;
      ++out_.channels_of_data;
    });
  }

  bool packed(Packed& one) noexcept {
    if (in_.tag() != kArrayTag) return false;
    bool good = true;
    std::uint64_t parts = 0;
    in_.array([&](std::uint64_t at) {
      parts = at + 1;
      if (at == 0) good = sides(one) && good;
      if (at == 1) good = typed(one) && good;
    });
    return good && parts == 2 && plausible(one);
  }

  bool sides(Packed& one) noexcept {
    std::uint64_t sides = 0;
    in_.array([&](std::uint64_t at) {
      const std::uint64_t side = in_.count().value_or(0);
      if (at == 0) one.rows = side;
      if (at == 1) one.columns = side;
      sides = at + 1;
    });
    return sides == 2;
  }

  bool typed(Packed& one) noexcept {
    const auto tag = in_.tag();
    const auto pixel = tag ? pixel_of(*tag) : std::nullopt;
    if (!pixel) return false;
    one.pixel = *pixel;
    if (in_.peek() == CborReader::Kind::tag) return in_.tag() == kCompressedTag && compressed(one);
    one.bytes = in_.bytes().value_or(std::span<const std::byte>());
    return true;
  }

  bool compressed(Packed& one) noexcept {
    bool good = true;
    std::uint64_t parts = 0;
    in_.array([&](std::uint64_t at) {
      parts = at + 1;
      if (at == 0) {
        const auto codec = codec_of(in_.text().value_or(std::string_view()));
        good = codec.has_value();
        one.codec = codec.value_or(Codec::none);
      } else if (at == 1) {
        const std::uint64_t element = in_.count().value_or(0);
        good = is_element_size(element) && good;
        one.element = static_cast<std::uint32_t>(element & 0xFU);
      } else if (at == 2) {
        one.bytes = in_.bytes().value_or(std::span<const std::byte>());
      }
    });
    return good && parts == 3;
  }

  static bool plausible(const Packed& one) noexcept {
    if (one.rows == 0 || one.columns == 0 || one.rows > kMostPixels || one.columns > kMostPixels) return false;
    if (one.rows * one.columns > kMostPixels) return false;
    return one.codec != Codec::none ? !one.bytes.empty() : one.bytes.size() == one.size();
  }

  [[nodiscard]] std::uint64_t time() const noexcept {
    if (times_.own != 0) return times_.own;
    if (times_.date.empty() || times_.unit == 0) return 0;
    const auto began = utc_of_iso(times_.date);
    const auto since = ns_of(times_.since, times_.unit);
    return began && *began >> 62U == 0 && since ? tai_of_utc(*began) + *since : 0;
  }

  // A number of parts of a second; empty: it is longer than any series.
  static std::optional<std::uint64_t> ns_of(std::uint64_t parts, std::uint64_t unit) noexcept {
    if (unit == 0 || parts / unit >= kMostSeconds) return std::nullopt;
    std::uint64_t part = parts % unit;
    std::uint64_t all = unit;
    for (; all >> 33U != 0; all >>= 1U) part >>= 1U;  // so that the product fits
    return parts / unit * kNsOfSecond + part * kNsOfSecond / all;
  }

  CborReader in_;
  Message& out_;
  Times times_;
  bool typed_ = false, series_ = false, image_ = false, bad_ = false;
};

}  // namespace

bool read_message(std::span<const std::byte> bytes, Message& out) noexcept {
  out = {};
  return MessageReader(bytes, out).read();
}

}  // namespace rashpa::link::stream2
