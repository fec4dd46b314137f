// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/roce/faults/faults.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/link/roce/faults/fault_injector.hpp"

namespace rashpa::link::roce {
namespace {

constexpr int kPackets = 50'000;
constexpr FaultConfig kFaults{.seed = 7, .drop = 0.1, .duplicate = 0, .reorder = 0, .corrupt = 0};

std::vector<bool> dropped(const FaultConfig& config, std::uint32_t dtp) {
  FaultDice dice(config, dtp);
  std::vector<bool> all;
  for (int i = 0; i < kPackets; ++i) all.push_back(dice.draw() == Fault::drop);
  return all;
}

TEST(FaultDice, the_faults_of_different_dtps_are_independent_whatever_they_are_shifted_by) {
  const std::vector<bool> one = dropped(kFaults, 0);
  for (std::uint32_t dtp = 1; dtp < 4; ++dtp) {
    const std::vector<bool> other = dropped(kFaults, dtp);
    for (int shift = -8; shift <= 8; ++shift) {
      int both = 0;
      for (int i = 8; i < kPackets - 8; ++i) {
        both += one[static_cast<std::size_t>(i)] && other[static_cast<std::size_t>(i + shift)] ? 1 : 0;
      }
      // Independent ones coincide in a hundredth of the packets.
      const double expected = (kPackets - 16) * kFaults.drop * kFaults.drop;
      EXPECT_NEAR(both, expected, 5 * std::sqrt(expected)) << "DTP " << dtp << ", shift " << shift;
    }
  }
}

TEST(FaultDice, the_same_seed_means_the_same_faults_however_they_turn_out) {
  EXPECT_EQ(dropped(kFaults, 3), dropped(kFaults, 3));
  FaultConfig other = kFaults;
  other.seed = 8;
  EXPECT_NE(dropped(kFaults, 3), dropped(other, 3));
  FaultDice asked(kFaults, 3);
  FaultDice quiet(kFaults, 3);
  for (int i = 0; i < 1000; ++i) {
    const Fault fault = asked.draw();
    for (int k = 0; k < i % 5; ++k) EXPECT_LT(asked.below(7), 7U);
    EXPECT_EQ(quiet.draw(), fault) << "what was chosen for earlier packets changes nothing";
  }
}

TEST(FaultDice, choices_are_evenly_spread) {
  FaultDice dice(kFaults, 0);
  std::array<int, 8> counts{};
  for (int i = 0; i < kPackets; ++i) {
    static_cast<void>(dice.draw());
    ++counts[dice.below(8)];
  }
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  EXPECT_GT(*least, kPackets / 8 - 500);
  EXPECT_LT(*most, kPackets / 8 + 500);
}

TEST(FateLog, an_image_with_damaged_bytes_that_arrived_is_partial_and_the_next_is_not) {
  FateLog log(3, 4);
  for (std::uint64_t image = 0; image < 3; ++image) {
    for (std::uint32_t line = 0; line < 2; ++line) {
      log.line_arrives(line, line, true, true);
      if (image == 1) log.spoil();
    }
    log.lines_end(image, 2);
    log.event_arrives(2, image);
  }
  EXPECT_EQ(log.fate(0), Completeness::complete);
  EXPECT_EQ(log.fate(1), Completeness::partial);
  EXPECT_EQ(log.fate(2), Completeness::complete);
}

TEST(FaultInjector, damage_that_nothing_would_repair_and_no_log_could_tell_is_refused) {
  Options options;
  options.transport = Transport::rc;
  options.icrc = IcrcMode::off;
  const wire::Address address("127.0.0.1", 4791);
  PacketBatch batch(-1, address, wire::IcrcPath(address, address, Framing::v2), 20, false, std::nullopt);
  FaultConfig faults;
  faults.corrupt = 0.1;
  EXPECT_THROW(FaultInjector(faults, 0, 10, 1000, options, batch), ConfigError);
  faults.corrupt = 0;
  faults.drop = 0.1;
  EXPECT_NO_THROW(FaultInjector(faults, 0, 10, 1000, options, batch)) << "what is dropped is repaired";
}

}  // namespace
}  // namespace rashpa::link::roce
