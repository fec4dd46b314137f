// SPDX-License-Identifier: Apache-2.0
/// Counts what this program takes from the heap: publishing takes nothing.
#include <gtest/gtest.h>

#include <memory>

#include "rashpa/core/testing/counted_heap.hpp"
#include "rashpa/core/testing/temporary_folder.hpp"
#include "rashpa/feedback/publisher.hpp"
#include "rashpa/feedback/testing.hpp"

namespace rashpa::feedback {
namespace {

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
  const std::uint64_t before = heap_taken();
  for (int i = 0; i < 10'000; ++i) publisher.publish(stack);
  const std::uint64_t allocations = heap_taken() - before;
  EXPECT_EQ(publisher.status().published, 100'000U);
  EXPECT_EQ(allocations, 0U);
}

}  // namespace
}  // namespace rashpa::feedback
