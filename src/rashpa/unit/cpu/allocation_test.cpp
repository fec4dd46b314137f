// SPDX-License-Identifier: Apache-2.0
/// Counts what this program takes from the heap: nothing may be taken once a unit runs.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>

#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/csr/csr.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/unit/factory.hpp"

namespace {

std::atomic<std::uint64_t> taken{0};

void* take_memory(std::size_t bytes, std::size_t alignment) {
  taken.fetch_add(1, std::memory_order_relaxed);
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// Not inlined: the compiler would see memory of `new` go to `free`, as intended here.
[[gnu::noinline]] void give_memory(void* memory) noexcept { std::free(memory); }

}  // namespace

void* operator new(std::size_t bytes) { return take_memory(bytes, alignof(std::max_align_t)); }
// GoogleTest uses it; a sanitizer has one of its own, whose memory must not come to the operators below.
void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  return take_memory(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return take_memory(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { give_memory(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { give_memory(memory); }
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept { give_memory(memory); }
void operator delete(void* memory, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
  give_memory(memory);
}

namespace rashpa::unit {
namespace {

namespace jungfrau = kernel::jungfrau;

TEST(Allocation, counter_counts) {
  const std::uint64_t before = taken.load();
  const auto value = std::make_unique<std::uint64_t>(before);
  EXPECT_GE(taken.load(), *value + 1);
}

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
  const std::uint64_t before = taken.load();
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
  const std::uint64_t allocations = taken.load() - before;
  EXPECT_GE(done, kImages);
  EXPECT_EQ(accepted, done);
  EXPECT_EQ(allocations, 0U);
}

}  // namespace
}  // namespace rashpa::unit
