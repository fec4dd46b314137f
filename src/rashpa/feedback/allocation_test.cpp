// SPDX-License-Identifier: Apache-2.0
/// Counts what this program takes from the heap: publishing takes nothing.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>

#include "rashpa/core/testing/temporary_folder.hpp"
#include "rashpa/feedback/publisher.hpp"
#include "rashpa/feedback/testing.hpp"

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

namespace rashpa::feedback {
namespace {

TEST(Allocation, counter_counts) {
  const std::uint64_t before = taken.load();
  const auto value = std::make_unique<std::uint64_t>(before);
  EXPECT_GE(taken.load(), *value + 1);
}

TEST(Allocation, a_hundred_thousand_images_are_published_without_one) {
  const TemporaryFolder folder;
  Described what{.buffer = "full", .stack = 10, .images = 100'000};
  what.results.columns = {{.name = "a"}, {.name = "b"}, {.name = "c"}};
  what.results.tables = {{.name = "peaks", .columns = {{}, {}, {}, {}}, .capacity = testing::kShape.capacity}};
  Publisher publisher({.ring = folder.file("a")}, what);
  testing::Numbered numbered;
  Stack stack;
  stack.count = 10;
  stack.images.assign(10, numbered.image(20));
  const std::uint64_t before = taken.load();
  for (int i = 0; i < 10'000; ++i) publisher.publish(stack);
  const std::uint64_t allocations = taken.load() - before;
  EXPECT_EQ(publisher.status().published, 100'000U);
  EXPECT_EQ(allocations, 0U);
}

}  // namespace
}  // namespace rashpa::feedback
