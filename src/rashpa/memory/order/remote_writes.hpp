// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The order in which an accelerator sees the writes of other devices into its memory, such as those of an RNIC. A
/// program on the accelerator that reads such bytes needs this order, or a flush before it begins.
#include <cstddef>
#include <cstdint>
#include <string>

namespace rashpa::memory {

/// The attributes by which an accelerator describes such writes.
struct RemoteWrites {
  /// The programs that see writes in order without a flush.
  enum class Order : std::uint8_t { nobody, owner, all };
  bool direct = false;   ///< other devices may write into its memory (GPUDirect RDMA)
  bool dma_buf = false;  ///< its memory can be exported as dma-buf
  Order order = Order::nobody;
  bool host_flush = false;    ///< the host can flush
  bool stream_flush = false;  ///< a wait in a stream can flush
};

/// The way in which writes become visible to a program of the memory's owner.
enum class Flush : std::uint8_t { none, by_host };

/// Returns the flush that must come before the trigger of such a program. Throws ConfigError when there is no way.
Flush flush_of(const RemoteWrites& writes);
/// Returns the attributes as text for the log and the report.
std::string words_of(const RemoteWrites& writes);

}  // namespace rashpa::memory
