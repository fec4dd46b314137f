// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/stream2/messages/json_message.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "rashpa/core/time/iso_time.hpp"
#include "rashpa/core/time/leap_seconds.hpp"

namespace rashpa::link::stream2 {

namespace {

constexpr std::size_t kMostJsonBytes = 1U << 20;
constexpr std::size_t kMostKeys = 256;  // a start describes the detector in some eighty
constexpr unsigned kDeepestJson = 16;
constexpr std::uint64_t kFirstDate = 1'000'000'000'000'000'000;  // 2001: smaller times count from the series' begin
constexpr std::uint64_t kLastDate = std::uint64_t{1} << 62;
constexpr std::uint64_t kMostPixelsOfV1 = std::uint64_t{1} << 27;

/// The entries of one object of JSON, with their values as they are written. Texts with escapes stay as they are: no
/// word that is looked for has any.
class JsonObject {
 public:
  explicit JsonObject(std::span<const std::byte> bytes) noexcept
      : in_(reinterpret_cast<const char*>(bytes.data()), bytes.size()) {
    good_ = bytes.size() <= kMostJsonBytes && take('{') && entries() && at_end();
  }
  [[nodiscard]] bool good() const noexcept { return good_; }
  /// The value as it is written; empty where there is none.
  [[nodiscard]] std::string_view value(std::string_view key) const noexcept {
    const auto* const end = entries_.data() + count_;
    const auto* const found = std::find_if(entries_.data(), end, [&](const Entry& entry) { return entry.key == key; });
    return found == end ? std::string_view() : found->value;
  }
  [[nodiscard]] std::optional<std::uint64_t> count(std::string_view key) const noexcept { return count_of(value(key)); }
  [[nodiscard]] std::string_view text(std::string_view key) const noexcept {
    const std::string_view raw = value(key);
    return raw.size() >= 2 && raw.front() == '"' ? raw.substr(1, raw.size() - 2) : std::string_view();
  }
  /// Two counts in brackets.
  [[nodiscard]] std::optional<std::pair<std::uint64_t, std::uint64_t>> sides(std::string_view key) const noexcept {
    std::string_view raw = value(key);
    const std::size_t comma = raw.find(',');
    if (raw.size() < 5 || raw.front() != '[' || comma == std::string_view::npos) return std::nullopt;
    const auto first = count_of(trimmed(raw.substr(1, comma - 1)));
    const auto second = count_of(trimmed(raw.substr(comma + 1, raw.size() - comma - 2)));
    return first && second ? std::optional(std::pair(*first, *second)) : std::nullopt;
  }

 private:
  struct Entry {
    std::string_view key, value;
  };
  static bool is_space(char one) noexcept { return one == ' ' || one == '\t' || one == '\n' || one == '\r'; }
  static std::string_view trimmed(std::string_view text) noexcept {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return text;
  }
  static std::optional<std::uint64_t> count_of(std::string_view text) noexcept {
    std::uint64_t number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = !text.empty() && read.ec == std::errc() && read.ptr == text.data() + text.size();
    return whole ? std::optional(number) : std::nullopt;
  }
  void skip_space() noexcept {
    while (at_ < in_.size() && is_space(in_[at_])) ++at_;
  }
  bool at_end() noexcept {
    skip_space();
    return std::all_of(in_.begin() + static_cast<std::ptrdiff_t>(at_), in_.end(), [](char one) { return one == 0; });
  }
  bool take(char wanted) noexcept {
    skip_space();
    if (at_ >= in_.size() || in_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  bool entries() noexcept {
    if (take('}')) return true;
    do {
      skip_space();
      const std::size_t key = at_;
      if (!string() || count_ == kMostKeys) return false;
      const std::string_view name = in_.substr(key + 1, at_ - key - 2);
      if (!take(':')) return false;
      skip_space();
      const std::size_t begin = at_;
      if (!pass(0)) return false;
      entries_[count_++] = {name, in_.substr(begin, at_ - begin)};
    } while (take(','));
    return take('}');
  }
  bool string() noexcept {
    if (at_ >= in_.size() || in_[at_] != '"') return false;
    for (++at_; at_ < in_.size(); ++at_) {
      if (in_[at_] == '\\') {
        ++at_;
      } else if (in_[at_] == '"') {
        ++at_;
        return true;
      }
    }
    return false;
  }
  // Passes over a value of any kind.
  bool pass(unsigned depth) noexcept {
    skip_space();
    if (at_ >= in_.size() || depth > kDeepestJson) return false;
    const char first = in_[at_];
    if (first == '"') return string();
    if (first != '{' && first != '[') {
      const std::size_t begin = at_;
      while (at_ < in_.size() && !is_space(in_[at_]) && in_[at_] != ',' && in_[at_] != '}' && in_[at_] != ']') ++at_;
      return at_ > begin;
    }
    ++at_;
    const char last = first == '{' ? '}' : ']';
    if (take(last)) return true;
    do {
      skip_space();
      if (first == '{' && (!string() || !take(':'))) return false;
      if (!pass(depth + 1)) return false;
    } while (take(','));
    return take(last);
  }

  std::string_view in_;
  std::size_t at_ = 0;
  std::array<Entry, kMostKeys> entries_{};
  std::size_t count_ = 0;
  bool good_ = false;
};

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
