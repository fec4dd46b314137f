// SPDX-License-Identifier: Apache-2.0
/// The lane with images in memory of a device, which is host memory here.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "rashpa/core/image/lost_value.hpp"
#include "rashpa/scheduler/testing.hpp"

namespace rashpa::scheduler {
namespace {

constexpr std::int64_t kLate = testing::kDeadline + 1'000;

/// Fills when it is settled, not before: as late as a device may.
class HostImages final : public memory::DeviceImages {
 public:
  explicit HostImages(std::size_t bytes) : bytes_(bytes) {
    block_ = {.data = bytes_.data(), .bytes = bytes_.size(), .accelerator = true};
  }
  [[nodiscard]] const memory::DmaBlock& block() const noexcept override { return block_; }
  [[nodiscard]] const std::string& how() const noexcept override { return how_; }
  [[nodiscard]] bool shows_words() const noexcept override { return true; }
  void order_writes() noexcept override {
    EXPECT_TRUE(parts.empty()) << "a write under way may lie over what is filled";
    ++ordered;
  }
  void fill(const memory::LostPart& part) noexcept override { parts.push_back(part); }
  void settle() noexcept override {
    ++settled;
    for (const memory::LostPart& part : parts) {
      const std::uint32_t bits = lost_bits(part.type);
      for (std::uint32_t line = 0; line < part.lines; ++line) {
        for (std::uint32_t at = 0; at < part.line_bytes; at += pixel_bytes(part.type)) {
          std::memcpy(&bytes_.at(part.first + line * part.pitch + at), &bits, pixel_bytes(part.type));
        }
      }
    }
    parts.clear();
  }
  [[nodiscard]] bool holds_lost(const memory::LostPart& part) noexcept override {
    const std::uint32_t bits = lost_bits(part.type);
    for (std::uint32_t line = 0; line < part.lines; ++line) {
      for (std::uint32_t at = 0; at < part.line_bytes; at += pixel_bytes(part.type)) {
        if (std::memcmp(&bytes_.at(part.first + line * part.pitch + at), &bits, pixel_bytes(part.type)) != 0)
          return false;
      }
    }
    return true;
  }
  std::byte& at(std::size_t offset) { return bytes_.at(offset); }
  std::vector<memory::LostPart> parts;
  int settled = 0;
  int ordered = 0;

 private:
  std::vector<std::byte> bytes_;
  memory::DmaBlock block_;
  std::string how_ = "host memory";
};

class OnDevice : public ::testing::Test {
 protected:
  static LaneConfig with_images(std::vector<std::byte>& memory, HostImages& images) {
    LaneConfig config = testing::Bench::config(12, 2, memory);
    config.memory = nullptr;
    config.device_images = &images;
    return config;
  }
  void give(const link::Arrival& arrival) {
    ASSERT_TRUE(lane_.can_take(arrival));
    lane_.take(arrival.dtp, arrival, 100);
  }

  std::vector<std::byte> memory_ = std::vector<std::byte>(8UL * 1024);
  HostImages images_{8UL * 1024};
  testing::EchoUnit unit_;
  testing::RecordingLink link_;
  Lane lane_{with_images(memory_, images_), unit_, link_};
};

TEST_F(OnDevice, the_host_sees_no_slot) {
  for (std::uint64_t k = 0; k < 4; ++k) {
    give(testing::Bench::good(0, k));
    give(testing::Bench::good(1, k));
  }
  ASSERT_TRUE(lane_.advance(200));
  for (const StackImage& image : unit_.stacks.at(0)->view()) {
    EXPECT_EQ(image.raw, nullptr);
    EXPECT_EQ(image.dense(), nullptr);
  }
  EXPECT_EQ(images_.settled, 0) << "nobody waits for a device that has nothing to do";
}

TEST_F(OnDevice, writes_of_other_devices_are_in_order_before_the_unit_has_a_stack_for_each_stack) {
  class AskingUnit final : public testing::EchoUnit {
   public:
    explicit AskingUnit(const HostImages& images) : images_(images) {}
    void submit(Stack* stack) noexcept override {
      EXPECT_EQ(images_.ordered, static_cast<int>(stacks.size()) + 1) << "once for each, and not behind the trigger";
      EchoUnit::submit(stack);
    }

   private:
    const HostImages& images_;
  } unit(images_);
  Lane lane(with_images(memory_, images_), unit, link_);
  for (std::uint64_t k = 0; k < 12; ++k) {
    for (std::uint32_t dtp = 0; dtp < 2; ++dtp) {
      const bool lost = k == 5 && dtp == 1;
      const link::Arrival arrival =
          lost ? testing::Bench::lost(dtp, k, link::Loss::event) : testing::Bench::good(dtp, k);
      ASSERT_TRUE(lane.can_take(arrival));
      lane.take(arrival.dtp, arrival, 100);
    }
    lane.advance(kLate);
    if (k % 4 == 3) lane.release(*unit.stacks.back());
  }
  EXPECT_EQ(unit.stacks.size(), 3U);
  EXPECT_EQ(images_.ordered, 3);
  EXPECT_EQ(images_.settled, 1);
}

TEST_F(OnDevice, lost_lines_are_filled_there_before_the_unit_has_the_stack) {
  for (std::uint64_t k = 0; k < 4; ++k) {
    give(testing::Bench::good(0, k));
    give(k == 2 ? testing::Bench::lost(1, k, link::Loss::event) : testing::Bench::good(1, k));
  }
  ASSERT_TRUE(lane_.advance(kLate));
  ASSERT_EQ(unit_.stacks.size(), 1U);
  EXPECT_EQ(images_.settled, 1);
  EXPECT_TRUE(images_.parts.empty());
  const std::byte* const slots = images_.block().data;
  for (std::size_t slot = 0; slot < 8; ++slot) {
    for (std::size_t at = 0; at < 1024; ++at) {
      const bool lost = slot == 2 && at >= 512;  // DTP 1 has the lower half
      EXPECT_EQ(slots[slot * 1024 + at], lost ? std::byte{0xFF} : std::byte{0}) << slot << " " << at;
    }
  }
  Stack& stack = *unit_.stacks[0];
  for (StackImage& image : stack.view()) image.decision = Decision::accepted;
  lane_.refuse_overwritten(stack);
  EXPECT_EQ(stack.images[2].decision, Decision::accepted);
  images_.at(2 * 1024 + 1023) = std::byte{7};
  lane_.refuse_overwritten(stack);
  EXPECT_EQ(stack.images[2].error, ErrorReason::overwritten) << "a source that was late has written there";
  EXPECT_EQ(std::count(memory_.begin(), memory_.end(), std::byte{0}), static_cast<std::ptrdiff_t>(memory_.size()));
}

}  // namespace
}  // namespace rashpa::scheduler
