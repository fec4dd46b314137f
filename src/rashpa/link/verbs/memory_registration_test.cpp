// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/verbs/memory_registration.hpp"

#include <gtest/gtest.h>

#include "rashpa/memory/buffer.hpp"

namespace rashpa::link::verbs {
namespace {

using memory::DmaAccess;
using memory::DmaBlock;
using Ways = std::vector<Way>;

TEST(WaysOf, a_destination_on_a_page_is_tried_at_iova_zero_and_then_as_it_lies) {
  const memory::Buffer buffer(4096, memory::MemoryKind::pageable);
  const DmaBlock block{.data = buffer.data(), .bytes = buffer.size()};
  EXPECT_EQ(ways_of(block, DmaAccess::write, {}), (Ways{Way::iova_zero, Way::plain}));
  EXPECT_EQ(ways_of(block, DmaAccess::write, {.iova = false}), (Ways{Way::plain})) << "an old library";
}

TEST(WaysOf, a_destination_off_a_page_is_registered_as_it_lies) {
  const memory::Buffer buffer(8192, memory::MemoryKind::pageable);
  const DmaBlock block{.data = buffer.data() + 64, .bytes = 4096};
  EXPECT_EQ(ways_of(block, DmaAccess::write, {}), (Ways{Way::plain}));
}

TEST(WaysOf, a_source_is_registered_as_it_lies) {
  const memory::Buffer buffer(4096, memory::MemoryKind::pageable);
  const DmaBlock block{.data = buffer.data(), .bytes = buffer.size()};
  EXPECT_EQ(ways_of(block, DmaAccess::read, {}), (Ways{Way::plain}));
}

TEST(WaysOf, a_destination_that_is_paged_on_demand_has_its_virtual_address) {
  const memory::Buffer buffer(4096, memory::MemoryKind::pageable);
  const DmaBlock block{.data = buffer.data(), .bytes = buffer.size()};
  EXPECT_EQ(ways_of(block, DmaAccess::write, {}, Paging::on_demand), (Ways{Way::plain}));
}

TEST(WaysOf, accelerator_memory_goes_by_dma_buf_before_peer_memory) {
  DmaBlock block{.bytes = 4096, .accelerator = true, .dmabuf = 5};
  EXPECT_EQ(ways_of(block, DmaAccess::write, {}), (Ways{Way::dma_buf, Way::peer_memory}));
  EXPECT_EQ(ways_of(block, DmaAccess::write, {.dma_buf = false}), (Ways{Way::peer_memory})) << "an old library";
  block.dmabuf = -1;
  EXPECT_EQ(ways_of(block, DmaAccess::write, {}), (Ways{Way::peer_memory})) << "nothing was exported";
}

}  // namespace
}  // namespace rashpa::link::verbs
