// SPDX-License-Identifier: Apache-2.0
/// The last thread of a buffer, between a unit with decisions that the test chooses and sinks that keep all that they
/// get.
#include "rashpa/receiver/distributor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/memory/ring.hpp"
#include "rashpa/scheduler/testing.hpp"

namespace rashpa::receiver {
namespace {

using LaneBench = scheduler::testing::Bench;

constexpr std::uint64_t kImages = 12;

/// Decides each image at once, as the test has chosen.
class ToldUnit final : public unit::Unit {
 public:
  void submit(Stack* stack) noexcept override {
    for (StackImage& image : stack->view()) {
      if (image.completeness == Completeness::missing) continue;
      image.decision = Decision::accepted;
      image.pixels = image.raw;
      if (decide) decide(image);
    }
    stack->decided_ns = now_ns();
    done_.push_must(stack);
    bell.ring();
  }
  Stack* take() noexcept override {
    Stack* stack = nullptr;
    return done_.try_pop(stack) ? stack : nullptr;
  }
  void stop() noexcept override {}
  [[nodiscard]] const unit::Output& output() const noexcept override { return output_; }
  [[nodiscard]] std::string how() const override { return "as it is told"; }
  [[nodiscard]] std::optional<unit::Busy> busy() const override { return {}; }
  [[nodiscard]] std::string failure(std::uint8_t failed_in) const override {
    return failed_in == 2 ? "its second step did not like it" : "";
  }
  std::function<void(StackImage&)> decide;
  Doorbell bell;

 private:
  unit::Output output_;
  memory::Ring<Stack*> done_{4};
};

/// Remembers the images that it kept, and loses some.
class KeepingSink final : public sink::Sink {
 public:
  struct Kept {
    std::vector<std::uint64_t> images;  // read behind join()
    std::uint64_t loses = kImages;
    Books books{};
  };
  explicit KeepingSink(std::shared_ptr<Kept> kept) : kept_(std::move(kept)) {}
  sink::Put put(const Stack& stack, std::span<ErrorReason> results) override {
    for (std::uint32_t i = 0; i < stack.count; ++i) {
      if (stack.images[i].decision != Decision::accepted) continue;
      if (stack.images[i].index == kept_->loses) {
        results[i] = ErrorReason::storage;
      } else {
        kept_->images.push_back(stack.images[i].index);
      }
    }
    return sink::Put::done;
  }
  void close(const Books& books) override { kept_->books = books; }
  [[nodiscard]] sink::SinkStats stats() const noexcept override { return {.images_written = kept_->images.size()}; }
  [[nodiscard]] std::string error() const override { return kept_->loses < kImages ? "the disk is full" : ""; }

 private:
  std::shared_ptr<Kept> kept_;
};

/// A lane of 12 images in stacks of 4, two DTPs, and all that comes behind it.
struct Farm {
  explicit Farm(std::size_t sinks = 1) : memory(8UL * 1024), lane(LaneBench::config(kImages, 2, memory), unit, link) {
    for (std::size_t i = 0; i < sinks; ++i) {
      kept.push_back(std::make_shared<KeepingSink::Kept>());
      config.sinks.emplace_back(
          [one = kept.back()](const Output& /*output*/) { return std::make_unique<KeepingSink>(one); });
    }
    config.name = output.buffer = "full";
    config.width = output.width = 32;
    config.height = output.height = 16;
    config.slots = 8;
    config.stack = output.stack = 4;
    config.images = output.images = kImages;
    config.slice = output.slice = {3, 1};
    config.dtps.resize(2);
  }
  void make() { distributor.emplace(config, output, lane, unit, unit.bell, wake, nullptr, 1U); }
  /// All images come, but for `missing`; the run ends.
  void run(std::uint64_t missing = kImages) {
    if (!distributor) make();
    distributor->begin();
    distributor->start(-1);
    for (std::uint64_t i = 0; i < kImages; ++i) {
      for (std::uint32_t dtp = 0; dtp < 2; ++dtp) {
        const link::Arrival arrival =
            i == missing ? LaneBench::lost(dtp, i, link::Loss::event) : LaneBench::good(dtp, i);
        ASSERT_EVENTUALLY(lane.can_take(arrival));
        lane.take(dtp, arrival, now_ns());
      }
      lane.advance(now_ns());
    }
    lane.set_closed();
    unit.bell.ring();
    distributor->join();
  }

  std::vector<std::byte> memory;
  ToldUnit unit;
  scheduler::testing::RecordingLink link;
  scheduler::Lane lane;
  std::vector<std::shared_ptr<KeepingSink::Kept>> kept;
  BufferConfig config;
  Output output;
  Doorbell wake;
  std::optional<Distributor> distributor;
};

TEST(Distributor, every_image_has_a_fate_and_all_slots_go_back_in_order) {
  Farm farm;
  farm.unit.decide = [](StackImage& image) {
    if (image.index % 4 != 1) return;
    image.decision = Decision::vetoed;
    image.reason = VetoReason::dark;
  };
  farm.run(6);
  EXPECT_TRUE(farm.distributor->done());
  const Books books = farm.distributor->books();
  EXPECT_EQ(books.expected, kImages);
  EXPECT_EQ(books.complete, 11U);
  EXPECT_EQ(books.missing, 1U);
  EXPECT_EQ(books.accepted, 8U);
  EXPECT_EQ(books.vetoed, 3U);
  EXPECT_EQ(books.errored, 0U);
  EXPECT_EQ(books.written, 8U);
  EXPECT_EQ(farm.kept[0]->images, (std::vector<std::uint64_t>{0, 2, 3, 4, 7, 8, 10, 11}));
  EXPECT_EQ(farm.distributor->decision(1), Decision::vetoed);
  EXPECT_EQ(farm.distributor->decision(2), Decision::accepted);
  EXPECT_EQ(farm.distributor->decision(6), Decision::none) << "missing";
  EXPECT_EQ(farm.distributor->decision(kImages), Decision::none);
  EXPECT_EQ(farm.link.released[0], kImages);
  EXPECT_EQ(farm.link.released[1], kImages);
  EXPECT_EQ(farm.distributor->to_write(), 0U);
  EXPECT_GE(farm.wake.count(), 1U) << "slots are free again";
  std::uint64_t dark = 0;
  for (const ReasonCount& reason : farm.distributor->vetoes()) dark += reason.name == "dark" ? reason.images : 0;
  EXPECT_EQ(dark, 3U);
}

TEST(Distributor, an_image_that_the_unit_could_not_finish_is_errored_with_its_reason) {
  Farm farm;
  farm.unit.decide = [](StackImage& image) {
    if (image.index != 5 && image.index != 3) return;
    image.decision = Decision::errored;
    image.failed_in = image.index == 3 ? 2 : 0;
  };
  farm.run();
  EXPECT_EQ(farm.distributor->books().errored, 2U);
  EXPECT_EQ(farm.distributor->errors()[static_cast<std::size_t>(ErrorReason::unit)], 2U);
  ASSERT_TRUE(farm.distributor->first_errored());
  EXPECT_EQ(farm.distributor->first_errored()->index, 3U);
  EXPECT_EQ(farm.distributor->first_errored()->frame_number, 10U);
  EXPECT_EQ(farm.distributor->first_errored()->text, "its second step did not like it");
}

TEST(Distributor, an_image_that_was_overwritten_reaches_no_sink) {
  Farm farm;
  farm.link.spoilt = {2};
  farm.run();
  EXPECT_EQ(farm.distributor->decision(2), Decision::errored);
  EXPECT_EQ(farm.distributor->errors()[static_cast<std::size_t>(ErrorReason::overwritten)], 1U);
  EXPECT_EQ(farm.lane.overwritten(), 1U);
  EXPECT_EQ(std::count(farm.kept[0]->images.begin(), farm.kept[0]->images.end(), 2U), 0);
}

TEST(Distributor, an_image_that_a_sink_lost_is_errored_whatever_others_made_of_it) {
  Farm farm(2);
  farm.kept[1]->loses = 7;
  farm.run();
  EXPECT_EQ(farm.kept[0]->images.size(), kImages);
  EXPECT_EQ(farm.distributor->decision(7), Decision::errored);
  EXPECT_EQ(farm.distributor->books().accepted, kImages - 1);
  EXPECT_EQ(farm.distributor->books().errored, 1U);
  EXPECT_EQ(farm.kept[1]->books.errored, 1U);
  EXPECT_EQ(farm.kept[0]->books.errored, 0U) << "each sink is told of its own";
  ASSERT_TRUE(farm.distributor->first_errored());
  EXPECT_EQ(farm.distributor->first_errored()->text, "sink sink_2: the disk is full");
  EXPECT_EQ(farm.distributor->error(), "sink sink_2: the disk is full");
}

TEST(Distributor, sinks_of_one_name_are_told_apart) {
  Farm farm(3);
  farm.make();
  std::vector<std::string> names;
  for (const auto& line : farm.distributor->sinks()) names.push_back(line->name());
  EXPECT_EQ(names, (std::vector<std::string>{"sink", "sink_2", "sink_3"}));
  farm.run();
  for (const auto& one : farm.kept) EXPECT_EQ(one->images.size(), kImages);
}

TEST(Distributor, images_that_never_began_are_missing_in_its_books) {
  Farm farm;
  farm.make();
  farm.distributor->begin();
  farm.distributor->start(-1);
  farm.lane.abandon(now_ns());
  farm.lane.set_closed();
  farm.unit.bell.ring();
  farm.distributor->join();
  EXPECT_EQ(farm.distributor->books().missing, kImages);
  EXPECT_EQ(farm.kept[0]->books.missing, kImages);
}

TEST(Distributor, refuses_a_buffer_without_a_sink) {
  Farm farm(0);
  EXPECT_THROW(farm.make(), ConfigError);
}

}  // namespace
}  // namespace rashpa::receiver
