// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Memory of a CUDA device for the writes of other devices on the bus (GPUDirect RDMA). The driver is loaded at run
/// time.
#include <cstddef>
#include <span>
#include <string>

#include "rashpa/core/system/file_descriptor.hpp"
#include "rashpa/memory/order/remote_writes.hpp"

namespace rashpa::memory::cuda {

/// Returns the attributes of the device. Throws ResourceError.
RemoteWrites remote_writes(int device);

/// An exported file of memory, or the reason why there is none.
struct Exported {
  FileDescriptor file;
  std::string why_not;
};
/// Exports memory of the current device as dma-buf. It begins and ends on pages of the host.
Exported export_dma_buf(std::span<std::byte> memory);

/// Makes all writes of other devices that have completed visible to later work of the current device. Blocks for some
/// microseconds. Returns false when the device has failed.
bool flush_remote_writes() noexcept;

}  // namespace rashpa::memory::cuda
