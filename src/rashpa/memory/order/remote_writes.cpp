// SPDX-License-Identifier: Apache-2.0
#include "rashpa/memory/order/remote_writes.hpp"

#include <fmt/format.h>

#include "rashpa/core/error.hpp"

namespace rashpa::memory {

namespace {

const char* name_of(RemoteWrites::Order order) noexcept {
  switch (order) {
    case RemoteWrites::Order::owner:
      return "the device itself";
    case RemoteWrites::Order::all:
      return "all devices";
    case RemoteWrites::Order::nobody:
      break;
  }
  return "nobody";
}

const char* flush_name(const RemoteWrites& writes) noexcept {
  if (writes.host_flush) return writes.stream_flush ? "host and streams" : "host";
  return writes.stream_flush ? "streams" : "nobody";
}

}  // namespace

Flush flush_of(const RemoteWrites& writes) {
  if (!writes.direct && !writes.dma_buf) {
    throw ConfigError(
        "receiver.memory: device, and this device lets no other device write into its memory (no GPUDirect RDMA); set "
        "memory = \"huge\", or take another device");
  }
  if (writes.order != RemoteWrites::Order::nobody) return Flush::none;
  if (writes.host_flush) return Flush::by_host;
  throw ConfigError(
      "receiver.memory: device, and this device neither orders the writes of an RNIC nor has a flush for the host; set "
      "memory = \"huge\", or take another device");
}

std::string words_of(const RemoteWrites& writes) {
  return fmt::format("GPUDirect RDMA {}, dma-buf {}, writes in order for {}, flush by {}", writes.direct ? "yes" : "no",
                     writes.dma_buf ? "yes" : "no", name_of(writes.order), flush_name(writes));
}

}  // namespace rashpa::memory
