// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/count_watch.hpp"

#include <gtest/gtest.h>

#include <string>

#include "rashpa/core/log.hpp"

namespace rashpa::link {
namespace {

std::vector<std::string> said() {
  std::vector<std::string> texts;
  log::Entry entry;
  while (log::take(entry)) {
    EXPECT_EQ(entry.run, 7);
    EXPECT_EQ(entry.dtp, 3);
    texts.emplace_back(entry.text());
  }
  return texts;
}

Counts counts(std::uint64_t refused) {
  Counts all;
  all.add("packets", 1000);
  all.add("refused_key", refused);
  return all;
}

TEST(CountWatch, the_first_of_a_kind_is_said_at_once_and_a_flood_once_a_second) {
  log::Entry before;
  while (log::take(before)) {
  }
  CountWatch watch(watched_of_receivers(), 7, 3);
  watch.look(counts(0), 0);
  EXPECT_TRUE(said().empty());
  watch.look(counts(1), 1);
  EXPECT_EQ(said(),
            std::vector<std::string>{"refused_key: 1 packets with a wrong key, or out of bounds, were refused"});
  for (std::int64_t ms = 1; ms < 1000; ++ms)
    watch.look(counts(static_cast<std::uint64_t>(1 + 1000 * ms)), ms * 1'000'000);
  EXPECT_TRUE(said().empty()) << "a million packets in a second";
  watch.look(counts(1'000'001), 2'000'000'000);
  EXPECT_EQ(said(), std::vector<std::string>{"refused_key: 1000000 more, 1000001 so far"});
  watch.look(counts(1'000'003), 2'000'000'001);
  watch.look(counts(1'000'003), 2'000'000'002, true);
  EXPECT_EQ(said(), std::vector<std::string>{"refused_key: 2 more, 1000003 so far"}) << "the run has ended";
}

}  // namespace
}  // namespace rashpa::link
