// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace rashpa {

/// A bijection of 64-bit words with good avalanche (the finaliser of SplitMix64, Steele et al. 2014).
constexpr std::uint64_t mix(std::uint64_t x) noexcept {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

/// The uses of random words. Two uses of the same seed get independent words.
enum class Use : std::uint8_t { packet_fault, fault_choice, image_stall };

/// Random words by number: word n is a hash of seed, use, stream (the DTP) and n. No state exists that two streams
/// could share, and a word does not depend on how many were drawn before.
class RandomWords {
 public:
  constexpr RandomWords(std::uint64_t seed, Use use, std::uint64_t stream) noexcept
      : key_(mix(mix(mix(seed) ^ static_cast<std::uint64_t>(use)) ^ stream)) {}
  [[nodiscard]] constexpr std::uint64_t word(std::uint64_t number) const noexcept { return mix(key_ ^ mix(number)); }
  /// Returns a number in [0, 1).
  [[nodiscard]] constexpr double uniform(std::uint64_t number) const noexcept {
    return static_cast<double>(word(number) >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t key_;
};

}  // namespace rashpa
