// SPDX-License-Identifier: Apache-2.0
/// A source without flow control that writes over images while kernels have them: what kernels keep is of images alone
/// that the books call intact.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "chain.hpp"
#include "rashpa/dataset/pattern_dataset.hpp"
#include "rashpa/kernel/accumulate/accumulate.hpp"
#include "rashpa/kernel/total_counts/total_counts.hpp"

namespace rashpa::chain {
namespace {

/// Keeps which images were accepted, and the sums of the windows.
class WindowSink final : public sink::Sink, public sink::WindowKeeping {
 public:
  struct Found {
    std::mutex lock{};
    std::map<std::uint64_t, std::uint64_t> frames{};  // by index, of accepted images
    std::map<std::uint64_t, std::vector<std::int64_t>> sums{};
    std::map<std::uint64_t, std::uint64_t> added{};
  };
  WindowSink(Found& found, std::size_t pixels) : found_(&found), pixels_(pixels) {}
  sink::Put put(const Stack& stack, std::span<ErrorReason> results) override {
    const std::lock_guard lock(found_->lock);
    const auto images = stack.view();
    for (std::size_t i = 0; i < images.size(); ++i) {
      if (images[i].decision != Decision::accepted) continue;
      if (!stack.intact(images[i])) {
        results[i] = ErrorReason::overwritten;
      } else {
        found_->frames[images[i].index] = images[i].frame_number;
        ++written_;
      }
    }
    keep(stack.accumulated);
    return sink::Put::done;
  }
  void put_windows(const Accumulated& accumulated) override {
    const std::lock_guard lock(found_->lock);
    keep(accumulated);
  }
  void close(const Books& /*books*/) override {}
  [[nodiscard]] sink::SinkStats stats() const noexcept override { return {.images_written = written_}; }
  [[nodiscard]] std::string error() const override { return {}; }

 private:
  void keep(const Accumulated& accumulated) {
    const AccumulatedView& view = accumulated[0];
    if (!view.ended()) return;
    const auto* const sum = reinterpret_cast<const std::int64_t*>(view.values[0]);
    found_->sums[view.window] = {sum, sum + pixels_};
    found_->added[view.window] = view.images;
  }
  Found* found_;
  std::size_t pixels_;
  std::atomic<std::uint64_t> written_{0};
};

/// A kernel that takes its time, before the one that adds up: meanwhile the source comes round to the slot.
class Slow final : public kernel::Step {
 public:
  Slow() {
    declaration_.name = "slow";
    declaration_.takes.pixels = {PixelType::u16};
    declaration_.makes = {{.kind = kernel::Port::Kind::scalars, .columns = {{.name = "one"}}}};
  }
  [[nodiscard]] const kernel::Declaration& declaration() const noexcept override { return declaration_; }
  [[nodiscard]] kernel::PixelFormat fit(const kernel::Shape& /*shape*/, kernel::PixelFormat in) const override {
    return in;
  }
  [[nodiscard]] std::unique_ptr<kernel::CpuPass> on_cpu(const kernel::Setup& /*setup*/) const override {
    return std::make_unique<Pass>();
  }

 private:
  class Pass final : public kernel::CpuPass {
   public:
    [[nodiscard]] Grain grain() const noexcept override { return Grain::image; }
    void begin(std::size_t /*items*/) noexcept override {}
    void run(unsigned /*worker*/, const kernel::Items& /*items*/, std::size_t /*first*/,
             std::size_t /*last*/) noexcept override {
      std::this_thread::sleep_for(std::chrono::milliseconds(4));  // wait: this kernel takes long
    }
    void finish(std::size_t /*item*/, kernel::Finding& finding) noexcept override {
      finding.scalars[0] = Scalar::of_count(1);
    }
  };
  kernel::Declaration declaration_;
};

TEST(Learned, windows_hold_the_images_that_the_books_call_written_and_no_others) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the source writes what the receiver reads: that is what is tested";
#endif
  constexpr std::uint64_t kWindow = 8;
  Plan plan;
  plan.link = "pcie";
  plan.flow = link::Flow::paced;
  plan.rate_hz = 1000;  // far too fast
  plan.width = 512;
  plan.height = 128;
  plan.frames = 400;
  plan.stack = 4;
  plan.slots = 8;
  plan.deadline_ms = 10'000;
  plan.pipeline = {.kernels = {std::shared_ptr<const kernel::Step>(std::make_shared<Slow>()),
                               kernel::accumulate::Config{.sum = true, .window = kWindow}},
                   .partial = unit::PartialPolicy::veto};
  const std::size_t pixels = std::size_t{plan.width} * plan.height * plan.modules;
  WindowSink::Found found;
  plan.sinks.emplace_back(
      [&](const receiver::Output& /*output*/) { return std::make_unique<WindowSink>(found, pixels); });
  Chain chain(plan);
  ASSERT_TRUE(chain.play());
  const receiver::Status status = chain.receiver->status();
  const Books& books = status.buffers[0].books;
  EXPECT_TRUE(books.balanced());
  EXPECT_EQ(books.accepted, found.frames.size());
  EXPECT_GT(books.missing + books.errored, 0U) << "the unit keeps up, and nothing is shown";
  std::map<std::uint64_t, std::vector<std::int64_t>> sums;
  std::map<std::uint64_t, std::uint64_t> added;
  for (const auto& [index, frame] : found.frames) {
    std::vector<std::int64_t>& sum = sums[index / kWindow];
    sum.resize(pixels);
    ++added[index / kWindow];
    for (std::size_t p = 0; p < pixels; ++p) {
      const auto row = static_cast<std::uint32_t>(p / plan.width);
      sum[p] += dataset::pattern_value(PixelType::u16, row / plan.height, frame % 8, row % plan.height,
                                       static_cast<std::uint32_t>(p % plan.width));
    }
  }
  ASSERT_FALSE(found.sums.empty());
  for (const auto& [window, sum] : found.sums) {
    EXPECT_EQ(found.added[window], added[window]) << window;
    if (added[window] != 0) {
      EXPECT_TRUE(sum == sums[window]) << "window " << window;
    }
  }
}

}  // namespace
}  // namespace rashpa::chain
