// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Objects of JSON in messages. They are not trusted: size, depth and the number of entries are bounded, and nothing is
/// allocated.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace rashpa::link::stream2 {

/// The entries of one object of JSON, with their values as they are written. Texts with escapes stay as they are: no
/// word that is looked for has any.
class JsonObject {
 public:
  explicit JsonObject(std::span<const std::byte> bytes) noexcept;
  [[nodiscard]] bool good() const noexcept { return good_; }
  /// The value as it is written; empty where there is none.
  [[nodiscard]] std::string_view value(std::string_view key) const noexcept;
  [[nodiscard]] std::optional<std::uint64_t> count(std::string_view key) const noexcept;
  [[nodiscard]] std::string_view text(std::string_view key) const noexcept;
  /// Two counts in brackets.
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
