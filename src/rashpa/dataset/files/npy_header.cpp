// SPDX-License-Identifier: Apache-2.0
#include "rashpa/dataset/files/npy_header.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/core/printable.hpp"

namespace rashpa::dataset {

namespace {

constexpr std::string_view kMagic{"\x93NUMPY", 6};
constexpr std::size_t kLongestHeader = 65536;
constexpr std::size_t kShortestHeader = 2;  // {}; so that a file's pixels never begin inside kNpyPrefix
constexpr std::size_t kMostAxes = 8;
constexpr std::array<std::pair<std::string_view, PixelType>, 7> kTypes{{{"|u1", PixelType::u8},
                                                                        {"<u1", PixelType::u8},
                                                                        {"<u2", PixelType::u16},
                                                                        {"<u4", PixelType::u32},
                                                                        {"<i2", PixelType::i16},
                                                                        {"<i4", PixelType::i32},
                                                                        {"<f4", PixelType::f32}}};

PixelType type_of(std::string_view descr) {
  for (const auto& [name, pixel] : kTypes) {
    if (name == descr) return pixel;
  }
  throw FileError(
      fmt::format("the array's type '{}' is not a pixel type; save it as uint8, uint16, uint32, int16, int32 or "
                  "float32, little endian",
                  printable(descr)));
}

// The dictionary literal {'descr': '<u2', 'fortran_order': False, 'shape': (10, 512, 1024), }, keys in any order.
class Parser {
 public:
  explicit Parser(std::string_view text) noexcept : text_(text) {}

  NpyHeader parse() {
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      value_of(key);
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_spaces();
    if (at_ != text_.size()) fail("something follows the closing brace");
    if (!pixel_ || !order_ || !shape_) fail("one of the keys descr, fortran_order, shape is missing");
    return {*pixel_, std::move(*shape_)};
  }

 private:
  [[noreturn]] void fail(std::string_view why) const {
    throw FileError(
        fmt::format("its .npy header is malformed at byte {}: {}; save the array again with numpy.save", at_, why));
  }
  void value_of(std::string_view key) {
    if (key == "descr" && !pixel_) {
      pixel_ = type_of(quoted());
    } else if (key == "fortran_order" && !order_) {
      order_ = true;
      if (word("True")) throw FileError("the array is in Fortran order; save it with numpy.ascontiguousarray");
      if (!word("False")) fail("fortran_order is neither True nor False");
    } else if (key == "shape" && !shape_) {
      shape_ = tuple();
    } else {
      fail("a key is unknown or occurs twice");
    }
  }
  void skip_spaces() noexcept {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool accept(char c) noexcept {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("'{}' is missing", c));
  }
  bool word(std::string_view name) noexcept {
    skip_spaces();
    if (text_.substr(at_, name.size()) != name) return false;
    at_ += name.size();
    return true;
  }
  std::string_view quoted() {
    const char quote = accept('\'') ? '\'' : '"';
    if (quote == '"') expect('"');
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) fail("a string is not closed");
    const std::string_view value = text_.substr(at_, end - at_);
    at_ = end + 1;
    return value;
  }
  std::uint64_t number() {
    skip_spaces();
    std::uint64_t value = 0;
    const std::size_t begin = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      value = value * 10 + static_cast<std::uint64_t>(text_[at_] - '0');
      if (value > UINT32_MAX) fail("an axis is longer than 2^32");
    }
    if (at_ == begin) fail("a number is missing");
    return value;
  }
  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> axes;
    expect('(');
    while (!accept(')')) {
      if (axes.size() == kMostAxes) fail("more than 8 axes");
      axes.push_back(number());
      if (!accept(',')) {
        if (axes.size() == 1) fail("a shape of one axis needs a comma");
        expect(')');
        break;
      }
    }
    return axes;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::optional<PixelType> pixel_;
  std::optional<bool> order_;
  std::optional<std::vector<std::uint64_t>> shape_;
};

// Bytes before the header's text: version 1 gives its length in two bytes, versions 2 and 3 in four.
std::size_t text_offset(std::span<const std::byte> bytes) noexcept { return bytes[6] == std::byte{1} ? 10 : 12; }

}  // namespace

bool is_npy(std::span<const std::byte> bytes) noexcept {
  return bytes.size() >= kMagic.size() && std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
}

std::size_t npy_data_offset(std::span<const std::byte, kNpyPrefix> prefix) {
  if (!is_npy(prefix))
    throw FileError(
        "it is no .npy file (its first bytes are not \\x93NUMPY); save it with numpy.save, or say what it is with "
        "dataset.format");
  const auto major = std::to_integer<unsigned>(prefix[6]);
  const auto minor = std::to_integer<unsigned>(prefix[7]);
  if (major < 1 || major > 3 || minor != 0) {
    throw FileError(fmt::format(".npy version {}.{} is unknown; save it as 1.0, 2.0 or 3.0", major, minor));
  }
  std::size_t length = 0;
  const std::size_t begin = text_offset(prefix);
  for (std::size_t i = begin; i-- > 8;) length = length << 8 | std::to_integer<std::size_t>(prefix[i]);
  if (length > kLongestHeader)
    throw FileError(fmt::format("its .npy header claims {} bytes, above the limit of 65536; copy it again", length));
  if (length < kShortestHeader)
    throw FileError(fmt::format("its .npy header claims {} bytes, too few for a dictionary; save it again", length));
  return begin + length;
}

NpyHeader parse_npy_header(std::span<const std::byte> bytes) {
  if (bytes.size() < kNpyPrefix) throw FileError("it is too short for a .npy file; copy it again");
  const std::size_t end = npy_data_offset(bytes.first<kNpyPrefix>());
  if (bytes.size() < end) throw FileError("it ends inside its .npy header; copy it again");
  const std::size_t begin = text_offset(bytes);
  return Parser({reinterpret_cast<const char*>(bytes.data()) + begin, end - begin}).parse();
}

}  // namespace rashpa::dataset
