// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A group of receivers for tests of its dealer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rashpa/transfer/dealer.hpp"

namespace rashpa::transfer {

inline constexpr std::int64_t kMs = 1'000'000;

inline DealerConfig config(std::uint64_t images, std::size_t members = 3) {
  DealerConfig out;
  out.name = "farm";
  out.images = images;
  out.replay_frames = 100'000;
  for (std::size_t i = 0; i < members; ++i) {
    out.members.push_back({.name = std::string(1, static_cast<char>('a' + i)), .slots = 8, .stack = 2, .dtps = 2});
  }
  return out;
}

/// The receivers and DTP threads of a group in one object, with a clock that the test sets.
class Farm {
 public:
  explicit Farm(DealerConfig wanted) : config(wanted), dealer(std::move(wanted)), members(config.members.size()) {
    dealer.begin(0);
  }
  struct Member {
    bool sends = true, answers = true;
    std::uint64_t sent = 0, done = 0, most = 1'000'000;  // most: images done in a round
    std::uint64_t had = 0;                               // bytes that it has answered for
    std::vector<std::uint64_t> frames;                   // that it was sent
  };

  void round(std::int64_t step_ns = kMs) {
    now += step_ns;
    for (std::size_t m = 0; m < members.size(); ++m) {
      Member& member = members[m];
      while (member.sends) {
        const auto frame = dealer.port(m, 0).frame(member.sent);
        if (!frame) break;
        EXPECT_EQ(dealer.port(m, 1).frame(member.sent), frame) << "all DTPs of a member have the same frame";
        member.frames.push_back(*frame);
        ++member.sent;
      }
      const std::uint32_t stack = config.members[m].stack;
      if (member.answers) member.done = std::min(member.done + member.most, member.sent / stack * stack);
      for (std::size_t dtp = 0; dtp < config.members[m].dtps; ++dtp) {
        dealer.port(m, dtp).report(member.done + config.members[m].slots, member.sent, {.had = member.had}, now);
      }
    }
    dealer.step(now);
  }
  void join(const MemberConfig& member) {
    EXPECT_EQ(dealer.join(member), members.size());
    config.members.push_back(member);
    members.emplace_back();
  }
  void rounds(int count, std::int64_t step_ns = kMs) {
    for (int i = 0; i < count; ++i) round(step_ns);
  }
  /// Returns the frames sent to members other than `without`.
  [[nodiscard]] std::multiset<std::uint64_t> frames(std::optional<std::size_t> without = {}) const {
    std::multiset<std::uint64_t> all;
    for (std::size_t m = 0; m < members.size(); ++m) {
      if (m != without) all.insert(members[m].frames.begin(), members[m].frames.end());
    }
    return all;
  }

  DealerConfig config;
  Dealer dealer;
  std::vector<Member> members;
  std::int64_t now = 0;
};

inline std::multiset<std::uint64_t> all_of(std::uint64_t images, Slice slice = {}) {
  std::multiset<std::uint64_t> all;
  for (std::uint64_t i = 0; i < images; ++i) all.insert(slice.frame(i));
  return all;
}

}  // namespace rashpa::transfer
