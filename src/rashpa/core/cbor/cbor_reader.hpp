// SPDX-License-Identifier: Apache-2.0
#pragma once
/// CBOR (RFC 8949) of strangers: a cursor over a message that takes no memory. Lengths, depth and the number of items
/// are bounded; an item that does not fit makes the whole message bad, and nothing more is read of it.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace rashpa {

class CborReader {
 public:
  enum class Kind : std::uint8_t { count, negative, bytes, text, array, map, tag, simple };
  /// The beginning of an item. `value`: the number, the length, the number of items, or the tag.
  struct Head {
    Kind kind = Kind::simple;
    std::uint64_t value = 0;
    bool open = false;  ///< array or map of unknown length: it ends with a break
  };
  static constexpr unsigned kMostDepth = 24;
  static constexpr std::uint64_t kMostItems = 100'000;

  explicit CborReader(std::span<const std::byte> message) noexcept : in_(message) {}

  /// Returns false after the first thing that is wrong.
  [[nodiscard]] bool good() const noexcept { return good_; }
  /// Returns true when nothing is left.
  [[nodiscard]] bool at_end() const noexcept { return at_ == in_.size(); }

  /// The next item's beginning, whatever it is; of a bad message a simple value.
  Head head() noexcept;
  /// The kind of the next item, which is not taken.
  [[nodiscard]] Kind peek() const noexcept;
  /// The next item where it is of this kind; otherwise it is passed over, and the message stays good.
  std::optional<std::uint64_t> count() noexcept;
  std::optional<std::string_view> text() noexcept;
  std::optional<std::span<const std::byte>> bytes() noexcept;
  std::optional<std::uint64_t> tag() noexcept;
  /// Passes over one whole item.
  void skip() noexcept { skip(0); }

  /// Calls `entry(name)` for each entry of the map that comes next; it reads the value or leaves it. Entries with
  /// another key than a text are passed over. False: no map comes, and the next item is passed over.
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
  /// Calls `item(number)` for each item of the array that comes next. Returns false as map() does.
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
