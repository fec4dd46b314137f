// SPDX-License-Identifier: Apache-2.0
#include "rashpa/receiver/sinks/image_fates.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>

namespace rashpa::receiver {
namespace {

TEST(ImageFates, are_settled_once_and_a_kept_image_may_be_lost) {
  ImageFates fates(8);
  EXPECT_FALSE(fates.settle(3, Fate::lost)) << "never offered";
  for (const Fate first : {Fate::kept, Fate::dropped, Fate::lost}) {
    for (const Fate second : {Fate::kept, Fate::dropped, Fate::lost}) {
      fates.offer(3);
      EXPECT_TRUE(fates.settle(3, first));
      const bool changes = first == Fate::kept && second == Fate::lost;
      EXPECT_EQ(fates.settle(3, second), changes);
      EXPECT_EQ(fates.of(3), changes ? second : first);
    }
  }
  fates.offer(8);
  EXPECT_FALSE(fates.settle(8, Fate::kept)) << "beyond the run";
  EXPECT_EQ(fates.of(8), Fate::none);
}

TEST(ImageFates, of_two_threads_one_settles) {
  constexpr std::uint64_t kMany = 20'000;
  ImageFates fates(kMany);
  for (std::uint64_t i = 0; i < kMany; ++i) fates.offer(i);
  std::atomic<std::uint64_t> settled{0};
  const auto settle_all = [&](Fate to) {
    for (std::uint64_t i = 0; i < kMany; ++i) settled += fates.settle(i, to) ? 1 : 0;
  };
  {
    const std::jthread one(settle_all, Fate::lost);
    const std::jthread other(settle_all, Fate::dropped);
  }
  EXPECT_EQ(settled, kMany);
}

}  // namespace
}  // namespace rashpa::receiver
