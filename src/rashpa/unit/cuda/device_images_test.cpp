// SPDX-License-Identifier: Apache-2.0
/// Images that lie in the device's memory: the same results as of those in host memory, and the refused features.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/csr/csr.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/kernel/total_counts/total_counts.hpp"
#include "rashpa/memory/cuda/resources.hpp"
#include "rashpa/unit/factory.hpp"
#include "rashpa/unit/stack_ring.hpp"

namespace rashpa::unit {
namespace {

namespace jungfrau = kernel::jungfrau;

constexpr std::uint32_t kWidth = 129;
constexpr std::uint32_t kHeight = 101;
constexpr std::size_t kPixels = std::size_t{kWidth} * kHeight;
constexpr std::uint32_t kStack = 4;
constexpr std::uint32_t kStacks = 3;
constexpr std::uint32_t kRounds = 4;  // of the ring

jungfrau::Config calibration() {
  return jungfrau::synthetic::config(kWidth, kHeight, jungfrau::Output::photons, 1, 0.01);
}

Pipeline vetoing() { return {{calibration(), kernel::bragg_count::Config{10, 100, 100'000}}}; }

/// The result of an image.
struct Made {
  Decision decision = Decision::none;
  VetoReason reason = VetoReason::none;
  std::array<Scalar, kMostColumns> scalars{};
  std::vector<std::byte> pixels{};
  std::vector<std::uint32_t> index{};
  friend bool operator==(const Made&, const Made&) = default;
};

/// A ring in host memory, and the same one on the device.
struct Rings {
  explicit Rings(ImagesIn where)
      : ring(kWidth, kHeight, kStack, kStacks, memory::MemoryKind::pageable),
        there(where == ImagesIn::device ? ring.memory.size() : 0),
        layout(ring.layout) {
    if (where == ImagesIn::host) return;
    layout.images = there.as<std::byte>();
    layout.images_in = ImagesIn::device;
  }
  /// Fills the stack as a link and the scheduler do: new images, which the host sees or does not.
  void fill(Stack& stack, std::uint64_t number) {
    static const jungfrau::Config config = calibration();
    stack.number = number;
    for (std::uint32_t i = 0; i < kStack; ++i) {
      const std::uint64_t image = number * kStack + i;
      const auto frame = jungfrau::synthetic::frame(config, image % 3 == 0 ? 0.0 : 0.03, image + 1);
      const std::size_t at = (std::size_t{stack.slot} * kStack + i) * ring.stride;
      std::memcpy(ring.memory.data() + at, frame.data(), kPixels * 2);
      stack.images[i].flags = image % 7 == 3 ? FrameRecord::dark : 0U;
      if (layout.images_in == ImagesIn::host) continue;
      stack.images[i].raw = nullptr;
      // Not the whole device: it may hold stacks that wait for their trigger.
      memory::cuda::check(
          cudaMemcpyAsync(layout.images + at, frame.data(), kPixels * 2, cudaMemcpyDefault, stream.get()), "an image");
      memory::cuda::check(cudaStreamSynchronize(stream.get()), "an image");
    }
  }
  StackRing ring;
  memory::cuda::DeviceMemory there;
  memory::cuda::Stream stream;
  Layout layout;
};

std::vector<Made> run(ImagesIn where, Trigger trigger, const Pipeline& pipeline) {
  Rings rings(where);
  Doorbell bell;
  const auto unit = make_unit({.kind = Kind::cuda, .trigger = trigger}, pipeline, rings.layout, bell);
  std::vector<Made> all;
  const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (std::uint64_t taken = 0, submitted = 0; taken < kRounds * kStacks;) {
    for (; submitted < kRounds * kStacks && submitted < taken + kStacks; ++submitted) {
      Stack& stack = rings.ring.all[submitted % kStacks];
      rings.fill(stack, submitted);
      unit->submit(&stack);
    }
    const std::uint32_t seen = bell.count();
    Stack* const back = unit->take();
    if (back == nullptr) {
      if (std::chrono::steady_clock::now() > late) {
        ADD_FAILURE() << "no stack came back: " << unit->error();
        return all;
      }
      bell.wait(seen, std::chrono::milliseconds(1));
      continue;
    }
    ++taken;
    for (const StackImage& image : back->view()) {
      Made made{.decision = image.decision, .reason = image.reason, .scalars = image.scalars};
      if (image.decision == Decision::accepted && image.pixels != nullptr) {
        made.pixels.assign(image.pixels, image.pixels + kPixels * pixel_bytes(unit->output().pixel));
      }
      made.index.assign(image.sparse.index, image.sparse.index + image.sparse.count);
      all.push_back(std::move(made));
    }
  }
  EXPECT_EQ(unit->error(), "");
  return all;
}

void expect_the_same(Trigger trigger, const Pipeline& pipeline) {
  const std::vector<Made> host = run(ImagesIn::host, trigger, pipeline);
  const std::vector<Made> device = run(ImagesIn::device, trigger, pipeline);
  ASSERT_EQ(host.size(), std::size_t{kRounds} * kStacks * kStack);
  ASSERT_EQ(host.size(), device.size());
  for (std::size_t i = 0; i < host.size(); ++i) EXPECT_TRUE(host[i] == device[i]) << name_of(trigger) << " image " << i;
  EXPECT_GT(std::count_if(host.begin(), host.end(), [](const Made& one) { return one.decision == Decision::accepted; }),
            0);
}

TEST(DeviceImages, are_processed_where_they_lie_with_the_same_results) {
  Pipeline lists = vetoing();
  lists.kernels.emplace_back(kernel::csr::Config{2, 0.2});
  for (const Trigger trigger : {Trigger::launch, Trigger::graph, Trigger::stream}) {
    expect_the_same(trigger, {{calibration()}});
    expect_the_same(trigger, vetoing());
    expect_the_same(trigger, lists);
  }
}

TEST(DeviceImages, need_no_copy_on_the_device) {
  Rings host(ImagesIn::host);
  Rings device(ImagesIn::device);
  Doorbell bell;
  const Choice choice{.kind = Kind::cuda, .trigger = Trigger::graph};
  const std::size_t copied = device_bytes_of(*make_unit(choice, vetoing(), host.layout, bell));
  const std::size_t in_place = device_bytes_of(*make_unit(choice, vetoing(), device.layout, bell));
  EXPECT_EQ(copied - in_place, kStacks * kStack * host.ring.stride);
}

TEST(DeviceImages, what_cannot_be_done_with_them_is_refused) {
  Rings rings(ImagesIn::device);
  Doorbell bell;
  const auto refused = [&](const Choice& choice, const Pipeline& pipeline, const Layout& layout) {
    EXPECT_THROW(make_unit(choice, pipeline, layout, bell), ConfigError);
  };
  refused({.kind = Kind::cpu}, vetoing(), rings.layout);
  refused({.kind = Kind::opencl}, vetoing(), rings.layout);
  refused({.kind = Kind::cuda, .device = "0,0"}, vetoing(), rings.layout);
  refused({.kind = Kind::cuda, .trigger = Trigger::persistent}, vetoing(), rings.layout);
  Layout photons = rings.layout;
  photons.input = PixelType::u16;
  refused({.kind = Kind::cuda}, {{kernel::total_counts::Config{}}}, photons);
  Layout host = rings.layout;
  host.images = rings.ring.memory.data();
  refused({.kind = Kind::cuda}, vetoing(), host);
}

TEST(DeviceImages, on_another_device_than_the_units_are_refused) {
  int count = 0;
  memory::cuda::check(cudaGetDeviceCount(&count), "how many devices");
  if (count < 2) GTEST_SKIP() << "there is one device";
  Rings rings(ImagesIn::device);
  Doorbell bell;
  EXPECT_THROW(make_unit({.kind = Kind::cuda, .device = "1"}, vetoing(), rings.layout, bell), ConfigError);
}

}  // namespace
}  // namespace rashpa::unit
