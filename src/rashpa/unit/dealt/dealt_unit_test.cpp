// SPDX-License-Identifier: Apache-2.0
/// Stacks dealt among members of which each finishes what it has when the test says so. That several devices keep the
/// unit contract is tested with the units of devices.
#include "rashpa/unit/dealt/dealt_unit.hpp"

#include <gtest/gtest.h>

#include <deque>

#include "rashpa/core/error.hpp"
#include "rashpa/unit/factory.hpp"
#include "rashpa/unit/stack_ring.hpp"

namespace rashpa::unit {
namespace {

class Fake final : public Unit, public OnDevice, public Noticing {
 public:
  explicit Fake(Doorbell& bell) : bell_(bell) {}
  void submit(Stack* stack) noexcept override {
    waiting.push_back(stack);
    if (!why.empty()) finish();
  }
  Stack* take() noexcept override {
    if (done_.empty()) return nullptr;
    Stack* const stack = done_.front();
    done_.pop_front();
    return stack;
  }
  void stop() noexcept override { stopped = true; }
  [[nodiscard]] const Output& output() const noexcept override { return output_; }
  [[nodiscard]] std::string how() const override { return "fake"; }
  [[nodiscard]] std::optional<Busy> busy() const override { return at_work; }
  [[nodiscard]] std::size_t device_bytes() const noexcept override { return 100; }
  [[nodiscard]] std::string error() const override { return why; }
  [[nodiscard]] std::string notice() const override { return said; }

  void finish() {
    done_.push_back(waiting.front());
    waiting.pop_front();
    bell_.ring();
  }

  std::deque<Stack*> waiting;
  std::string why, said;
  std::optional<Busy> at_work;
  bool stopped = false;

 private:
  Doorbell& bell_;
  Output output_;
  std::deque<Stack*> done_;
};

struct Dealt {
  explicit Dealt(std::uint32_t count)
      : stacks(16), unit(count, 16, bell, [&](std::uint32_t number, Doorbell& finished) {
          EXPECT_EQ(number, members.size());
          auto made = std::make_unique<Fake>(finished);
          members.push_back(made.get());
          return made;
        }) {
    for (std::uint32_t s = 0; s < stacks.size(); ++s) stacks[s].slot = s;
  }
  void submit(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) unit.submit(&stacks[submitted++]);
  }
  /// Returns how many stacks each member has that are not finished.
  [[nodiscard]] std::vector<std::size_t> loads() const {
    std::vector<std::size_t> all;
    for (const Fake* member : members) all.push_back(member->waiting.size());
    return all;
  }
  std::vector<Stack> stacks;
  std::size_t submitted = 0;
  Doorbell bell;
  std::vector<Fake*> members;
  DealtUnit unit;
};

using Loads = std::vector<std::size_t>;

TEST(DealtUnit, equals_get_stacks_in_turn) {
  Dealt dealt(3);
  dealt.submit(7);
  EXPECT_EQ(dealt.loads(), (Loads{3, 2, 2}));
  EXPECT_EQ(dealt.members[1]->waiting[1], &dealt.stacks[4]);
}

TEST(DealtUnit, who_is_faster_gets_more_though_its_results_wait) {
  Dealt dealt(2);
  dealt.submit(2);
  for (int i = 0; i < 5; ++i) {
    dealt.members[1]->finish();
    dealt.submit(1);
    EXPECT_EQ(dealt.loads(), (Loads{1, 1}));
  }
  EXPECT_EQ(dealt.unit.take(), nullptr) << "the first stack is not finished";
  dealt.members[0]->finish();
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(dealt.unit.take(), &dealt.stacks[i]);
  EXPECT_EQ(dealt.unit.take(), nullptr);
}

TEST(DealtUnit, the_bell_of_who_takes_results_rings_once_a_stack) {
  Dealt dealt(2);
  dealt.submit(4);
  EXPECT_EQ(dealt.bell.count(), 0U);
  dealt.members[1]->finish();
  dealt.members[0]->finish();
  EXPECT_EQ(dealt.bell.count(), 2U);
}

TEST(DealtUnit, a_member_that_has_failed_gets_nothing_more) {
  Dealt dealt(2);
  dealt.submit(2);
  dealt.members[0]->why = "device 0: fell off the bus";
  dealt.submit(3);
  EXPECT_EQ(dealt.loads(), (Loads{1, 4}));
  EXPECT_EQ(dealt.unit.error(), "") << "one works";
  EXPECT_EQ(dealt.unit.notice(), "device 0: fell off the bus; the others go on");
}

TEST(DealtUnit, when_all_have_failed_it_has_failed_and_stacks_come_back) {
  Dealt dealt(2);
  dealt.members[0]->why = "device 0: broke";
  dealt.members[1]->why = "device 1: broke, too";
  dealt.submit(3);
  EXPECT_EQ(dealt.unit.error(), "device 0: broke; device 1: broke, too");
  EXPECT_EQ(dealt.unit.notice(), "");
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(dealt.unit.take(), &dealt.stacks[i]);
}

TEST(DealtUnit, members_are_told_of_together) {
  Dealt dealt(2);
  EXPECT_EQ(dealt.unit.how(), "2 devices: fake; fake");
  EXPECT_EQ(dealt.unit.device_bytes(), 200U);
  dealt.members[1]->said = "drifts";
  EXPECT_EQ(dealt.unit.notice(), "drifts");
  dealt.unit.stop();
  EXPECT_TRUE(dealt.members[0]->stopped && dealt.members[1]->stopped);
}

TEST(DealtUnit, more_members_than_there_are_bits_for_are_refused) { EXPECT_THROW(Dealt(65), ConfigError); }

TEST(DealtUnit, devices_are_numbers_with_commas_between) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(devices_in("0"), Names{"0"});
  EXPECT_EQ(devices_in("0,1,12"), (Names{"0", "1", "12"}));
  EXPECT_EQ(devices_in("0,"), (Names{"0", ""}));
  EXPECT_EQ(devices_in("Vendor, Inc."), Names{"Vendor, Inc."});
}

TEST(DealtUnit, triggers_that_take_stacks_in_turn_are_refused) {
  const StackRing ring(16, 16, 2, 2, memory::MemoryKind::pageable);
  Doorbell bell;
  for (const Trigger trigger : {Trigger::stream, Trigger::persistent}) {
    const Choice choice{.kind = Kind::cuda, .device = "0,1", .trigger = trigger};
    EXPECT_THROW(make_unit(choice, {}, ring.layout, bell), ConfigError);
  }
}

}  // namespace
}  // namespace rashpa::unit
