// SPDX-License-Identifier: Apache-2.0
/// A GPU writes into the memory of another, whose unit works on the images where they lie: the whole chain against the
/// same one with its images in host memory. Run by `make test-device`, on one GPU or several.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "chain.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/checksum/checksum.hpp"
#include "rashpa/kernel/csr/csr.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"

namespace rashpa::chain {
namespace {

namespace jungfrau = kernel::jungfrau;

/// What came of an image.
struct Made {
  std::uint64_t frame = 0;
  Decision decision = Decision::none;
  Completeness completeness = Completeness::open;
  std::uint32_t pixels = 0;  ///< CRC32C of pixels and list
  std::vector<std::uint64_t> scalars{};
  friend bool operator==(const Made&, const Made&) = default;
};

class KeepingSink final : public sink::Sink {
 public:
  KeepingSink(receiver::Output output, std::vector<Made>& all) : output_(std::move(output)), all_(&all) {}
  sink::Put put(const Stack& stack, std::span<ErrorReason> results) override {
    static_cast<void>(results);
    for (const StackImage& image : stack.view()) {
      Made made{.frame = image.frame_number, .decision = image.decision, .completeness = image.completeness};
      if (image.decision == Decision::accepted) {
        ++images_;
        if (image.pixels != nullptr) made.pixels = crc32c({image.pixels, output_.image_bytes()}, made.pixels);
        const std::size_t count = image.sparse.count;
        made.pixels = crc32c(std::as_bytes(std::span(image.sparse.index, count)), made.pixels);
        const auto* const values = static_cast<const std::byte*>(image.sparse.value);
        made.pixels = crc32c({values, count * pixel_bytes(output_.pixel)}, made.pixels);
      }
      for (std::size_t i = 0; i < output_.results.columns.size(); ++i) {
        made.scalars.push_back(image.scalars.at(i).count());
      }
      all_->push_back(made);
    }
    return sink::Put::done;
  }
  void close(const Books& /*books*/) override {}
  [[nodiscard]] sink::SinkStats stats() const noexcept override { return {.images_written = images_}; }
  [[nodiscard]] std::string error() const override { return {}; }

 private:
  receiver::Output output_;
  std::vector<Made>* all_;
  std::uint64_t images_ = 0;
};

/// The device of the unit: another one than the source's, where there is one.
std::uint32_t other_device() {
  std::uint32_t other = 0;
  for (const unit::UnitDevice& device : unit::available_devices()) {
    if (device.unit == "cuda") other = std::max(other, std::min(device.number, 1U));
  }
  return other;
}

Plan plan_of(unit::ImagesIn where, std::vector<Made>& all) {
  Plan plan;
  plan.width = 128;
  plan.height = 64;
  plan.frames = 400;
  plan.link = "pcie";
  plan.pcie = {.verify = link::Verify::off, .engine = link::pcie::EngineKind::cuda};
  plan.images_in = where;
  plan.unit.kind = unit::Kind::cuda;
  plan.unit.device = std::to_string(other_device());
  plan.unit.trigger = unit::Trigger::graph;
  plan.pipeline.kernels.emplace_back(jungfrau::synthetic::config(128, 128, jungfrau::Output::photons, 1, 0.01));
  plan.sinks.emplace_back(
      [&all](const receiver::Output& output) { return std::make_unique<KeepingSink>(output, all); });
  return plan;
}

/// Plays it to its end; what came of the images, in order.
std::vector<Made> play(unit::ImagesIn where, const std::function<void(Plan&)>& change) {
  std::vector<Made> all;
  Plan plan = plan_of(where, all);
  change(plan);
  Chain chain(plan);
  EXPECT_TRUE(chain.play());
  const receiver::Status status = chain.receiver->status();
  EXPECT_EQ(status.memory.find("CUDA device") != std::string::npos, where == unit::ImagesIn::device);
  EXPECT_TRUE(status.buffers[0].books.balanced());
  EXPECT_EQ(status.buffers[0].unit_error, "");
  chain.receiver->stop();
  return all;
}

void expect_the_same(const std::function<void(Plan&)>& change, std::size_t accepted) {
  const std::vector<Made> host = play(unit::ImagesIn::host, change);
  const std::vector<Made> device = play(unit::ImagesIn::device, change);
  EXPECT_EQ(static_cast<std::size_t>(std::count_if(host.begin(), host.end(),
                                                   [](const Made& one) { return one.decision == Decision::accepted; })),
            accepted);
  ASSERT_EQ(host.size(), device.size());
  for (std::size_t i = 0; i < host.size(); ++i) {
    ASSERT_TRUE(host[i] == device[i]) << "frame " << host[i].frame << ": pixels " << host[i].pixels << " and "
                                      << device[i].pixels;
  }
}

TEST(DeviceMemory, images_become_the_same_as_in_host_memory) {
  for (const unit::Trigger trigger : {unit::Trigger::graph, unit::Trigger::launch, unit::Trigger::stream}) {
    SCOPED_TRACE(unit::name_of(trigger));
    expect_the_same([trigger](Plan& plan) { plan.unit.trigger = trigger; }, 400);
  }
}

TEST(DeviceMemory, the_trigger_is_chosen_for_it) {
  expect_the_same([](Plan& plan) { plan.unit.trigger = unit::Trigger::automatic; }, 400);
  EXPECT_THROW(play(unit::ImagesIn::device, [](Plan& plan) { plan.unit.trigger = unit::Trigger::persistent; }),
               ConfigError);
}

TEST(DeviceMemory, lists_of_photons_are_the_same) {
  expect_the_same([](Plan& plan) { plan.pipeline.kernels.emplace_back(kernel::csr::Config{1, 1.0}); }, 400);
}

TEST(DeviceMemory, its_checksum_is_compared_by_the_kernel) {
  expect_the_same(
      [](Plan& plan) {
        plan.pipeline.kernels.insert(plan.pipeline.kernels.begin(), kernel::StepOf(kernel::checksum::Config{}));
      },
      400);
}

TEST(DeviceMemory, packets_of_roce_that_the_device_gathers_become_the_same) {
  for (const link::Transport transport : {link::Transport::uc, link::Transport::rc, link::Transport::ud}) {
    SCOPED_TRACE(static_cast<int>(transport));
    expect_the_same(
        [transport](Plan& plan) {
          plan.link = "roce";
          plan.roce.transport = transport;
          plan.bands = 2;
          plan.threads = 2;
        },
        400);
  }
}

TEST(DeviceMemory, packets_of_a_detector_that_the_device_gathers_become_the_same) {
  expect_the_same(
      [](Plan& plan) {
        plan.link = "sls";
        plan.width = 1024;
        plan.sls.read_rows = plan.height;
        plan.flow = link::Flow::paced;
        plan.rate_hz = 100;
        plan.frames = 200;
        plan.pipeline.kernels = {
            kernel::StepOf(jungfrau::synthetic::config(1024, 128, jungfrau::Output::photons, 1, 0.01))};
      },
      200);
}

TEST(DeviceMemory, several_dtps_a_module_and_a_last_stack_that_is_not_full_are_the_same) {
  expect_the_same(
      [](Plan& plan) {
        plan.bands = 4;
        plan.stack = 3;
        plan.slots = 9;
      },
      400);
}

TEST(DeviceMemory, lost_lines_are_filled_there) {
  const auto change = [](Plan& plan) {
    plan.frames = 100;
    plan.deadline_ms = 200;
    plan.faults.dead_modules = {{1, 40}};  // its lines keep what the ring held, unless somebody fills them
  };
  expect_the_same(change, 100);
  const std::vector<Made> all = play(unit::ImagesIn::device, change);
  EXPECT_EQ(
      std::count_if(all.begin(), all.end(), [](const Made& one) { return one.completeness == Completeness::partial; }),
      60);
}

// Which images get through is a matter of speed; that each of those is right is not.
TEST(DeviceMemory, a_source_without_credits_never_passes_an_overwritten_image_for_a_good_one) {
  std::map<std::uint64_t, std::uint32_t> right;  // by frame of the dataset
  for (const Made& one : play(unit::ImagesIn::device, [](Plan& plan) { plan.frames = 8; })) {
    right[one.frame] = one.pixels;
  }
  ASSERT_EQ(right.size(), 8U);
  const std::vector<Made> all = play(unit::ImagesIn::device, [](Plan& plan) {
    plan.flow = link::Flow::paced;
    plan.frames = 20'000;
    plan.rate_hz = 20'000;  // as fast as it goes a GPU overwrites all of them
    plan.slots = 8;
    plan.deadline_ms = 500;
  });
  std::size_t whole = 0;
  for (const Made& one : all) {
    if (one.decision != Decision::accepted || one.completeness != Completeness::complete) continue;
    ++whole;
    EXPECT_EQ(one.pixels, right[one.frame % 8]) << "frame " << one.frame;
  }
  EXPECT_GT(whole, 0U);
}

TEST(DeviceMemory, a_pipeline_that_makes_no_pixels_is_refused) {
  EXPECT_THROW(play(unit::ImagesIn::device,
                    [](Plan& plan) { plan.pipeline.kernels = {kernel::StepOf(kernel::checksum::Config{})}; }),
               ConfigError);
}

}  // namespace
}  // namespace rashpa::chain
