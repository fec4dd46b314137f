// SPDX-License-Identifier: Apache-2.0
/// Counts what this program takes from the heap: nothing may be taken once a unit runs.
#include <gtest/gtest.h>

#include <chrono>

#include "rashpa/core/testing/counted_heap.hpp"
#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/csr/csr.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/unit/factory.hpp"

namespace rashpa::unit {
namespace {

namespace jungfrau = kernel::jungfrau;

TEST(Allocation, a_million_images_pass_the_unit_without_one) {
  constexpr std::uint32_t kStack = 250;
  constexpr std::uint32_t kStacks = 4;
  constexpr std::uint64_t kImages = 1'000'000;
  const auto config = jungfrau::synthetic::config(16, 9, jungfrau::Output::photons, 1);
  auto frame = jungfrau::synthetic::frame(config, 0.2, 1);
  std::vector<Stack> stacks(kStacks);
  for (std::uint32_t s = 0; s < kStacks; ++s) {
    stacks[s].slot = s;
    stacks[s].count = kStack;
    stacks[s].images.resize(kStack);
    for (StackImage& image : stacks[s].images) {
      image.completeness = Completeness::complete;
      image.raw = reinterpret_cast<std::byte*>(frame.data());
    }
  }
  Doorbell bell;
  const auto unit = make_unit(
      {.cores = {2, -1}},
      {{config, kernel::bragg_count::Config{5, 1, 1000}, kernel::csr::Config{1, 1.0}}, PartialPolicy::keep, false},
      {16, 9, PixelType::u16, kStack, kStacks}, bell);
  std::uint64_t accepted = 0;
  std::uint64_t done = 0;
  const std::uint64_t before = heap_taken();
  for (Stack& stack : stacks) unit->submit(&stack);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (done < kImages && std::chrono::steady_clock::now() < deadline) {
    const std::uint32_t seen = bell.count();
    Stack* stack = unit->take();
    if (stack == nullptr) {
      bell.wait(seen, std::chrono::milliseconds(100));
      continue;
    }
    for (const StackImage& image : stack->view()) accepted += image.decision == Decision::accepted ? 1 : 0;
    done += stack->count;
    unit->submit(stack);
  }
  const std::uint64_t allocations = heap_taken() - before;
  EXPECT_GE(done, kImages);
  EXPECT_EQ(accepted, done);
  EXPECT_EQ(allocations, 0U);
}

}  // namespace
}  // namespace rashpa::unit
