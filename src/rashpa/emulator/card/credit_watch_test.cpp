// SPDX-License-Identifier: Apache-2.0
#include "rashpa/emulator/card/credit_watch.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rashpa::emulator {
namespace {

/// The DTPs and texts that the log got, in order.
std::vector<std::string> told() {
  std::vector<std::string> all;
  log::Entry entry;
  while (log::take(entry)) all.push_back(std::to_string(entry.dtp) + " " + std::string(entry.text().substr(0, 22)));
  return all;
}

log::Where where(std::size_t place) { return {.dtp = static_cast<std::int64_t>(10 + place)}; }

TEST(CreditWatch, says_once_who_has_waited_for_long_and_when_it_goes_on) {
  told();
  CreditWatch watch(3);
  std::int64_t now = 5'000'000'000;
  watch.look(0b010, now, where);
  now += CreditWatch::kStarvedNs;
  watch.look(0b010, now, where);
  EXPECT_EQ(told(), std::vector<std::string>{}) << "not for so long";
  watch.look(0b010, now + 1, where);
  watch.look(0b010, now + 2, where);
  EXPECT_EQ(told(), std::vector<std::string>{"11 no free slot was grant"});
  watch.look(0b000, now + 3, where);
  watch.look(0b000, now + 4, where);
  EXPECT_EQ(told(), std::vector<std::string>{"11 slots are granted agai"});
}

TEST(CreditWatch, a_short_wait_is_not_worth_a_word_and_counts_from_anew) {
  told();
  CreditWatch watch(1);
  const std::int64_t begun = 5'000'000'000;
  watch.look(1, begun, where);
  watch.look(0, begun + CreditWatch::kStarvedNs / 2, where);
  watch.look(1, begun + CreditWatch::kStarvedNs, where);
  watch.look(1, begun + CreditWatch::kStarvedNs + CreditWatch::kStarvedNs / 2, where);
  EXPECT_EQ(told(), std::vector<std::string>{});
}

}  // namespace
}  // namespace rashpa::emulator
