// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/numbers/random_words.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace rashpa {
namespace {

constexpr int kWords = 50'000;
constexpr int kShift = 16;

// The count of words n of one stream and n + shift of another that are both below `chance`, in standard deviations from
// that of independent streams.
double excess(const RandomWords& one, const RandomWords& other, int shift, double chance) {
  int both = 0;
  for (int n = kShift; n < kWords; ++n) {
    both += one.uniform(static_cast<std::uint64_t>(n)) < chance &&
                    other.uniform(static_cast<std::uint64_t>(n + shift)) < chance
                ? 1
                : 0;
  }
  const double expected = (kWords - kShift) * chance * chance;
  return (both - expected) / std::sqrt(expected * (1 - chance * chance));
}

TEST(RandomWords, streams_of_one_seed_and_seeds_of_one_stream_are_independent_at_every_shift) {
  for (int shift = -kShift; shift <= kShift; ++shift) {
    for (std::uint64_t next = 1; next <= 3; ++next) {
      const RandomWords words(5, Use::packet_fault, 0);
      EXPECT_LT(std::abs(excess(words, {5, Use::packet_fault, next}, shift, 0.1)), 5) << "DTP " << next << ' ' << shift;
      EXPECT_LT(std::abs(excess(words, {5 + next, Use::packet_fault, 0}, shift, 0.1)), 5) << "seed " << next;
      EXPECT_LT(std::abs(excess(words, {5, Use::fault_choice, next - 1}, shift, 0.1)), 5) << "use";
    }
  }
}

TEST(RandomWords, words_are_evenly_spread_and_do_not_depend_on_what_was_asked_before) {
  const RandomWords words(1, Use::image_stall, 7);
  std::vector<int> counts(16);
  for (int n = 0; n < kWords; ++n) ++counts[words.word(static_cast<std::uint64_t>(n)) >> 60];
  double chi = 0;
  for (const int count : counts) chi += (count - kWords / 16.0) * (count - kWords / 16.0) / (kWords / 16.0);
  EXPECT_LT(chi, 45) << "fifteen degrees of freedom: one in 10⁴ is beyond";
  EXPECT_EQ(words.word(kWords - 1), RandomWords(1, Use::image_stall, 7).word(kWords - 1));
}

}  // namespace
}  // namespace rashpa
