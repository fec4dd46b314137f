// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/cuda/control.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace rashpa::unit::cuda {
namespace {

TEST(SlotTrigger, belongs_to_its_ticket_and_comes_before_later_ones) {
  for (const std::uint32_t ticket : {1U, 2U, 77U, 0x7FFFFFFFU, 0x80000000U, 0x80000001U, 0xFFFFFFFFU}) {
    for (const bool changed : {false, true}) {
      for (const std::uint32_t work : {0U, 1U, 0xFFFFFFFFU}) {
        const std::uint64_t trigger = slot_trigger(ticket, work, changed);
        EXPECT_TRUE(is_of(trigger, ticket));
        EXPECT_FALSE(is_of(trigger, next_ticket(ticket)));
        EXPECT_FALSE(is_of(trigger, ticket - 1));
        EXPECT_TRUE(has_come(trigger, ticket));
        EXPECT_TRUE(has_come(trigger, ticket - 3)) << "the slot has gone on";
        EXPECT_FALSE(has_come(trigger, next_ticket(ticket)));
        EXPECT_EQ(changes_limits(trigger), changed);
        EXPECT_EQ(trigger >> 32U, work);
      }
    }
  }
  EXPECT_FALSE(has_come(0, 1)) << "no stack was there before";
}

}  // namespace
}  // namespace rashpa::unit::cuda
