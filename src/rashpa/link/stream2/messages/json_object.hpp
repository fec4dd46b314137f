// SPDX-License-Identifier: Apache-2.0
#pragma once
/// JSON objects in messages. They are untrusted: size, depth and the number of entries are bounded, and nothing is
/// allocated.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace rashpa::link::stream2 {

/// The entries of one JSON object, with their values as text. Escapes are not decoded, because no word that is looked
/// for has any.
class JsonObject {
 public:
  explicit JsonObject(std::span<const std::byte> bytes) noexcept;
  [[nodiscard]] bool good() const noexcept { return good_; }
  /// Returns the JSON text of the value of `key`; empty when there is none.
  [[nodiscard]] std::string_view value(std::string_view key) const noexcept;
  [[nodiscard]] std::optional<std::uint64_t> count(std::string_view key) const noexcept;
  [[nodiscard]] std::string_view text(std::string_view key) const noexcept;
  /// Returns the two counts in the array that is the value of `key`; nothing for any other value.
  [[nodiscard]] std::optional<std::pair<std::uint64_t, std::uint64_t>> sides(std::string_view key) const noexcept;

 private:
  static constexpr std::size_t kMostKeys = 256;  // a start describes the detector in some eighty
  struct Entry {
    std::string_view key, value;
  };
  void skip_space() noexcept;
  bool at_end() noexcept;
  bool take(char wanted) noexcept;
  bool entries() noexcept;
  bool string() noexcept;
  bool pass(unsigned depth) noexcept;

  std::string_view in_;
  std::size_t at_ = 0;
  std::array<Entry, kMostKeys> entries_{};
  std::size_t count_ = 0;
  bool good_ = false;
};

}  // namespace rashpa::link::stream2
