// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A reader of CBOR (RFC 8949) from untrusted peers: a cursor over a message that allocates nothing. It bounds lengths,
/// depth and the number of items. An item that exceeds a bound makes the whole message bad, and reading ends.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace rashpa {

class CborReader {
 public:
  enum class Kind : std::uint8_t { count, negative, bytes, text, array, map, tag, simple };
  /// The head of an item. `value` is the number, the length, the number of items, or the tag.
  struct Head {
    Kind kind = Kind::simple;
    std::uint64_t value = 0;
    bool open = false;  ///< array or map of unknown length: it ends with a break
  };
  static constexpr unsigned kMostDepth = 24;
  static constexpr std::uint64_t kMostItems = 100'000;

  explicit CborReader(std::span<const std::byte> message) noexcept : in_(message) {}

  /// Returns false after the first error in the message.
  [[nodiscard]] bool good() const noexcept { return good_; }
  /// Returns true when the whole message has been read.
  [[nodiscard]] bool at_end() const noexcept { return at_ == in_.size(); }

  /// Reads the head of the next item of any kind. In a bad message it returns the head of a simple value.
  Head head() noexcept;
  /// Returns the kind of the next item without reading it.
  [[nodiscard]] Kind peek() const noexcept;
  /// Reads the next item if it is a number (text, bytes, tag alike). Skips an item of another kind and returns nothing;
  /// the message stays good.
  std::optional<std::uint64_t> count() noexcept;
  std::optional<std::string_view> text() noexcept;
  std::optional<std::span<const std::byte>> bytes() noexcept;
  std::optional<std::uint64_t> tag() noexcept;
  /// Skips one whole item.
  void skip() noexcept { skip(0); }

  /// Calls `entry(name)` for each entry of the next item, a map; an entry that the call does not read is skipped.
  /// Entries whose key is no text are skipped, too. Returns false, and skips the item, when it is no map.
  template <typename Entry>
  bool map(const Entry& entry) noexcept {
    return each(Kind::map, [&] {
      if (const auto name = text()) {
        read_or_skip([&] { entry(*name); });
      } else {
        skip();
      }
    });
  }
  /// Calls `item(number)` for each item of the next item, an array. Returns false as map() does.
  template <typename Item>
  bool array(const Item& item) noexcept {
    std::uint64_t number = 0;
    return each(Kind::array, [&] { read_or_skip([&] { item(number++); }); });
  }

 private:
  template <typename Work>
  bool each(Kind kind, const Work& work) noexcept {
    if (peek() != kind) {
      skip();
      return false;
    }
    const Head group = head();
    if (++depth_ > kMostDepth) fail();
    for (std::uint64_t n = 0; good_ && (group.open ? !take_break() : n < group.value); ++n) work();
    --depth_;
    return good_;
  }
  template <typename Work>
  void read_or_skip(const Work& work) noexcept {
    const std::size_t before = at_;
    work();
    if (good_ && at_ == before) skip();
  }
  bool take_break() noexcept;
  void skip(unsigned depth) noexcept;
  std::span<const std::byte> take(std::uint64_t bytes) noexcept;
  void fail() noexcept { good_ = false; }

  std::span<const std::byte> in_;
  std::size_t at_ = 0;
  std::uint64_t items_ = 0;
  unsigned depth_ = 0;
  bool good_ = true;
};

}  // namespace rashpa
