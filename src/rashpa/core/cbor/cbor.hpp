// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A writer of CBOR (RFC 8949), as far as messages of streams need it. It appends to memory that the owner reuses.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace rashpa {

class Cbor {
 public:
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return out_; }
  void clear() noexcept { out_.clear(); }

  void count(std::uint64_t value) { head(0, value); }
  void integer(std::int64_t value);
  void real(double value);
  void flag(bool value) { out_.push_back(value ? std::byte{0xF5} : std::byte{0xF4}); }
  void text(std::string_view value);
  void tag(std::uint64_t number) { head(6, number); }
  /// Writes the head of an array of `items` items.
  void array(std::uint64_t items) { head(4, items); }
  /// Writes the head of a string of `size` bytes; the caller writes the bytes, here or elsewhere.
  void bytes_head(std::uint64_t size) { head(2, size); }
  void append(std::span<const std::byte> data) { out_.insert(out_.end(), data.begin(), data.end()); }

  /// A map under construction. Each entry begins with key(); a map has at most 65535 entries. The destructor completes
  /// it.
  class Map {
   public:
    explicit Map(Cbor& cbor);
    ~Map();
    Map(const Map&) = delete;
    Map& operator=(const Map&) = delete;
    /// Writes a key; the caller writes its value next.
    Cbor& key(std::string_view name);

   private:
    Cbor& cbor_;
    std::size_t at_;
    std::uint16_t entries_ = 0;
  };

 private:
  void head(unsigned major, std::uint64_t value);
  void big_endian(std::uint64_t value, unsigned size);

  std::vector<std::byte> out_;
};

}  // namespace rashpa
