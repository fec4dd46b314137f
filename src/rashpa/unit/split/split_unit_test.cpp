// SPDX-License-Identifier: Apache-2.0
/// Members that each say what the test wants of their strips. That devices keep the unit contract together is tested on
/// devices.
#include "rashpa/unit/split/split_unit.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/csr/csr.hpp"
#include "rashpa/unit/factory.hpp"
#include "rashpa/unit/stack_ring.hpp"

namespace rashpa::unit {
namespace {

constexpr std::uint32_t kWidth = 64;
constexpr std::uint32_t kHeight = 10;
constexpr std::uint32_t kStack = 2;

class Fake final : public Unit, public OnDevice, public Noticing {
 public:
  explicit Fake(Doorbell& bell) : bell_(bell) {}
  void submit(Stack* stack) noexcept override { waiting.push_back(stack); }
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
  [[nodiscard]] std::string failure(std::uint8_t failed_in) const override {
    return failed_in == 3 ? failed_why : std::string{};
  }
  [[nodiscard]] std::string notice() const override { return said; }

  void finish(std::int64_t now) {
    waiting.front()->decided_ns = now;
    done_.push_back(waiting.front());
    waiting.pop_front();
    bell_.ring();
  }

  std::deque<Stack*> waiting;
  std::string why, failed_why, said;
  std::optional<Busy> at_work;
  bool stopped = false;

 private:
  Doorbell& bell_;
  Output output_;
  std::deque<Stack*> done_;
};

/// Strips of rows 0 … 3 and 4 … 9; lists have room for an eighth of the pixels.
struct Split {
  explicit Split(const Pipeline& pipeline = {.kernels = {kernel::csr::Config{1, 0.125}}})
      : ring(kWidth, kHeight, kStack, 4, memory::MemoryKind::pageable),
        unit(pipeline, ring.layout, {{0, 4}, {4, 6}}, bell, [&](std::uint32_t number, Doorbell& finished) {
          EXPECT_EQ(number, members.size());
          auto made = std::make_unique<Fake>(finished);
          members.push_back(made.get());
          return made;
        }) {}
  /// The result of member `number` for image `image` of the stack that it must finish.
  StackImage& says(std::size_t number, std::uint32_t image) { return members[number]->waiting.front()->images[image]; }
  /// Both have accepted all images of the next stack.
  void accept() {
    for (std::size_t member = 0; member < 2; ++member) {
      for (std::uint32_t i = 0; i < kStack; ++i) {
        says(member, i) = {.decision = Decision::accepted, .measured = true};
      }
    }
  }
  void finish() {
    for (Fake* member : members) member->finish(++now);
  }
  StackRing ring;
  Doorbell bell;
  std::vector<Fake*> members;
  SplitUnit unit;
  std::int64_t now = 0;
};

TEST(SplitUnit, each_member_sees_its_strip_of_every_image) {
  Split split;
  Stack& stack = split.ring.all[1];
  stack.number = 5;
  stack.count = 1;
  stack.images[0].flags = 3;
  stack.images[0].completeness = Completeness::partial;
  split.unit.submit(&stack);
  for (std::size_t member = 0; member < 2; ++member) {
    const Stack& seen = *split.members[member]->waiting.front();
    EXPECT_EQ(seen.number, 5U);
    EXPECT_EQ(seen.slot, 1U);
    EXPECT_EQ(seen.count, 1U);
    EXPECT_EQ(seen.images[0].flags, 3U);
    EXPECT_EQ(seen.images[0].completeness, Completeness::partial);
    EXPECT_EQ(seen.images[0].raw, stack.images[0].raw + member * 4 * kWidth * 2);
  }
}

TEST(SplitUnit, a_stack_comes_back_in_order_when_all_members_are_through) {
  Split split;
  for (int round = 0; round < 2; ++round) split.unit.submit(&split.ring.all[static_cast<std::size_t>(round)]);
  split.accept();
  split.members[1]->finish(7);
  split.members[1]->finish(8);
  EXPECT_EQ(split.unit.take(), nullptr) << "half an image is no image";
  split.members[0]->finish(9);
  EXPECT_EQ(split.unit.take(), &split.ring.all[0]);
  EXPECT_EQ(split.ring.all[0].decided_ns, 9);
  EXPECT_EQ(split.unit.take(), nullptr);
  split.members[0]->finish(3);
  EXPECT_EQ(split.unit.take(), &split.ring.all[1]);
  EXPECT_EQ(split.ring.all[1].decided_ns, 8) << "that of the last one";
  EXPECT_GE(split.bell.count(), 2U);
}

TEST(SplitUnit, what_members_say_of_the_whole_is_said_once) {
  Split split;
  split.unit.submit(&split.ring.all[0]);
  split.accept();
  std::byte pixels{};
  for (std::size_t member = 0; member < 2; ++member) {
    split.says(member, 0).scalars[0] = Scalar::of_count(12);
    split.says(member, 0).pixels = &pixels + member;
    split.says(member, 1).decision = Decision::vetoed;
    split.says(member, 1).reason = VetoReason::dark;
  }
  split.finish();
  const auto& images = split.unit.take()->images;
  EXPECT_EQ(images[0].decision, Decision::accepted);
  EXPECT_EQ(images[0].scalars[0].count(), 12U);
  EXPECT_EQ(images[0].pixels, &pixels) << "where the whole image begins";
  EXPECT_TRUE(images[0].measured);
  EXPECT_EQ(images[1].decision, Decision::vetoed);
  EXPECT_EQ(images[1].reason, VetoReason::dark);
}

TEST(SplitUnit, lists_follow_one_another_with_the_indices_of_the_whole) {
  Split split;
  split.unit.submit(&split.ring.all[0]);
  split.accept();
  const std::vector<std::uint32_t> first{3, 90}, second{0, 64, 65};
  const std::vector<std::uint16_t> bright{7, 8}, brighter{9, 10, 11};
  split.says(0, 1).sparse = {first.data(), bright.data(), 2};
  split.says(1, 1).sparse = {second.data(), brighter.data(), 3};
  split.finish();
  const Stack& stack = *split.unit.take();
  EXPECT_EQ(stack.images[0].sparse.count, 0U);
  const SparseView& list = stack.images[1].sparse;
  ASSERT_EQ(list.count, 5U);
  EXPECT_EQ(std::vector<std::uint32_t>(list.index, list.index + 5), (std::vector<std::uint32_t>{3, 90, 256, 320, 321}));
  const auto* const values = static_cast<const std::uint16_t*>(list.value);
  EXPECT_EQ(std::vector<std::uint16_t>(values, values + 5), (std::vector<std::uint16_t>{7, 8, 9, 10, 11}));
}

TEST(SplitUnit, a_list_that_only_each_strip_has_room_for_is_full) {
  Split split;
  split.unit.submit(&split.ring.all[0]);
  split.accept();
  const std::vector<std::uint32_t> index(80);
  const std::vector<std::uint16_t> value(80);
  split.says(0, 0).sparse = {index.data(), value.data(), 40};
  split.says(1, 0).sparse = {index.data(), value.data(), 40};
  split.says(0, 1).sparse = {index.data(), value.data(), 40};
  split.says(1, 1).sparse = {index.data(), value.data(), 41};
  split.finish();
  const Stack& stack = *split.unit.take();
  EXPECT_EQ(split.unit.output().list_capacity, 80U);
  EXPECT_EQ(stack.images[0].decision, Decision::accepted);
  EXPECT_EQ(stack.images[1].decision, Decision::errored);
  EXPECT_EQ(stack.images[1].failed_in, 1U) << "the step that makes lists";
  EXPECT_EQ(stack.images[1].sparse.count, 0U);
  EXPECT_EQ(stack.images[1].pixels, nullptr);
}

TEST(SplitUnit, an_image_that_a_member_has_lost_is_errored) {
  Split split;
  split.unit.submit(&split.ring.all[0]);
  split.accept();
  split.says(1, 0).decision = Decision::errored;
  split.says(1, 0).failed_in = 3;
  split.says(0, 1).decision = Decision::vetoed;
  split.says(0, 1).reason = VetoReason::too_few;
  split.finish();
  const Stack& stack = *split.unit.take();
  EXPECT_EQ(stack.images[0].decision, Decision::errored);
  EXPECT_EQ(stack.images[0].failed_in, 3U);
  EXPECT_EQ(stack.images[1].decision, Decision::errored) << "they disagree";
  EXPECT_EQ(stack.images[1].reason, VetoReason::none);
}

TEST(SplitUnit, it_has_failed_when_a_member_has) {
  Split split;
  EXPECT_EQ(split.unit.error(), "");
  split.members[1]->why = "device 1: fell off the bus";
  EXPECT_EQ(split.unit.error(), "device 1: fell off the bus; it has a part of every image");
}

TEST(SplitUnit, members_are_told_of_together) {
  Split split;
  EXPECT_EQ(split.unit.how(), "each image on 2 devices: rows 0 … 3, fake; rows 4 … 9, fake");
  EXPECT_EQ(split.unit.device_bytes(), 200U);
  split.members[0]->said = "drifts";
  split.members[1]->said = "drifts, too";
  split.members[1]->failed_why = "no room";
  EXPECT_EQ(split.unit.notice(), "drifts; drifts, too");
  EXPECT_EQ(split.unit.failure(3), "no room");
  EXPECT_EQ(split.unit.failure(2), "");
}

TEST(SplitUnit, the_member_that_has_been_at_work_for_longest_is_named) {
  Split split;
  EXPECT_FALSE(split.unit.busy());
  split.members[0]->at_work = Busy{.kernel = "late", .image = 7, .frame = 7, .since_ns = 2000};
  split.members[1]->at_work = Busy{.kernel = "first", .image = 3, .frame = 3, .since_ns = 1000};
  EXPECT_EQ(split.unit.busy()->kernel, "first");
  split.members[1]->at_work.reset();
  EXPECT_EQ(split.unit.busy()->kernel, "late");
}

TEST(SplitUnit, stopped_it_takes_no_images_any_more) {
  Split split;
  split.unit.stop();
  EXPECT_TRUE(split.members[0]->stopped && split.members[1]->stopped);
  split.ring.all[0].images[1].completeness = Completeness::missing;
  split.unit.submit(&split.ring.all[0]);
  EXPECT_EQ(split.ring.all[0].images[0].decision, Decision::errored);
  EXPECT_EQ(split.ring.all[0].images[1].decision, Decision::none);
}

TEST(SplitUnit, only_several_devices_of_unit_cuda_split_images) {
  const StackRing ring(kWidth, kHeight, 1, 2, memory::MemoryKind::pageable);
  Doorbell bell;
  for (const Choice& choice :
       {Choice{.share = Share::rows}, Choice{.kind = Kind::opencl, .device = "0,1", .share = Share::rows},
        Choice{.kind = Kind::cuda, .share = Share::rows}}) {
    EXPECT_THROW(make_unit(choice, {.kernels = {kernel::csr::Config{}}}, ring.layout, bell), ConfigError);
  }
  EXPECT_EQ(share_names(), (std::vector<std::string>{"stacks", std::string(name_of(Share::rows))}));
}

}  // namespace
}  // namespace rashpa::unit
