// SPDX-License-Identifier: Apache-2.0
#include "rashpa/memory/order/remote_writes.hpp"

#include <gtest/gtest.h>

#include "rashpa/core/error.hpp"

namespace rashpa::memory {
namespace {

using Order = RemoteWrites::Order;

TEST(RemoteWrites, a_device_that_orders_them_for_itself_needs_no_flush) {
  EXPECT_EQ(flush_of({.direct = true, .order = Order::owner, .host_flush = true}), Flush::none);
  EXPECT_EQ(flush_of({.direct = true, .order = Order::all}), Flush::none);
}

TEST(RemoteWrites, a_device_without_an_order_is_flushed_by_the_host) {
  EXPECT_EQ(flush_of({.direct = true, .host_flush = true}), Flush::by_host);
  EXPECT_EQ(flush_of({.dma_buf = true, .host_flush = true}), Flush::by_host);
}

TEST(RemoteWrites, a_device_without_a_way_is_refused_with_what_to_do) {
  const auto refusal = [](const RemoteWrites& writes) {
    try {
      flush_of(writes);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_NE(refusal({.order = Order::all}).find("lets no other device write"), std::string::npos);
  EXPECT_NE(refusal({.direct = true}).find("neither orders"), std::string::npos);
  EXPECT_NE(refusal({.direct = true, .stream_flush = true}).find("set memory = \"huge\""), std::string::npos)
      << "the host's trigger cannot use the flush of a stream";
}

TEST(RemoteWrites, are_told_in_words) {
  EXPECT_EQ(words_of({.direct = true, .dma_buf = true, .order = Order::owner, .host_flush = true}),
            "GPUDirect RDMA yes, dma-buf yes, writes in order for the device itself, flush by host");
  EXPECT_EQ(words_of({}), "GPUDirect RDMA no, dma-buf no, writes in order for nobody, flush by nobody");
}

}  // namespace
}  // namespace rashpa::memory
