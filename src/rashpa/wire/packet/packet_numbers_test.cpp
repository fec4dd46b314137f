// SPDX-License-Identifier: Apache-2.0
#include "rashpa/wire/packet/packet_numbers.hpp"

#include <gtest/gtest.h>

namespace rashpa::wire {
namespace {

constexpr std::uint64_t kRound = 1U << 24;

std::uint32_t psn(std::uint64_t number) { return static_cast<std::uint32_t>(number % kRound); }

TEST(PacketNumbers, packets_in_order_and_a_little_out_of_order_keep_their_distances_over_the_end_of_a_round) {
  for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{5}, kRound - 3}) {
    PacketNumbers numbers;
    const std::uint64_t base = numbers.extend(psn(first)) - first;
    for (std::uint64_t number = first + 1; number < first + 200'000; number += 7) {
      ASSERT_EQ(numbers.extend(psn(number)), base + number);
      if (number >= first + 70'000) {
        ASSERT_EQ(numbers.extend(psn(number - 60'000)), base + number - 60'000);
      }
      ASSERT_EQ(numbers.extend(psn(number)), base + number) << "twice";
    }
  }
}

TEST(PacketNumbers, a_packet_from_before_the_first_one_has_a_lower_number) {
  PacketNumbers numbers;
  const std::uint64_t first = numbers.extend(0);
  EXPECT_EQ(numbers.extend(psn(kRound - 1)), first - 1);
}

TEST(PacketNumbers, what_comes_after_an_outage_of_any_length_comes_after_it) {
  for (std::uint64_t outage = 1; outage < kRound - PacketNumbers::kReordered; outage += 99'991) {
    PacketNumbers numbers;
    const std::uint64_t last = numbers.extend(psn(kRound - 1000));
    ASSERT_EQ(numbers.extend(psn(kRound - 1000 + outage)), last + outage) << outage;
  }
}

TEST(PacketNumbers, an_outage_that_ends_just_below_a_round_is_known_after_some_packets) {
  PacketNumbers numbers;
  const std::uint64_t last = numbers.extend(77);
  std::uint64_t number = 77 + kRound - 10'000;
  for (std::uint32_t n = 0; n < PacketNumbers::kBehind; ++n) ASSERT_LT(numbers.extend(psn(number++)), last);
  EXPECT_EQ(numbers.extend(psn(number)), last + number - 77);
  EXPECT_EQ(numbers.extend(psn(number + 1)), last + number + 1 - 77);
}

}  // namespace
}  // namespace rashpa::wire
