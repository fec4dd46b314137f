// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

#include "rashpa/link/pcie/control_block.hpp"

namespace rashpa::link::pcie {

/// A mapping of a receiver's lines in device memory, writable by the current device: its own memory, or a peer's over
/// NVLink or PCIe. Memory of another process is opened, and closed by the destructor, before the receiver frees it.
class RemoteLinesMapping {
 public:
  /// Opens the mapping. Throws ConfigError when this device cannot write there, ResourceError when the runtime cannot
  /// open it.
  explicit RemoteLinesMapping(const RemoteLines& lines);
  ~RemoteLinesMapping();
  RemoteLinesMapping(const RemoteLinesMapping&) = delete;
  RemoteLinesMapping& operator=(const RemoteLinesMapping&) = delete;
  [[nodiscard]] std::byte* data() const noexcept { return data_; }

 private:
  std::byte* data_ = nullptr;
  void* opened_ = nullptr;
};

}  // namespace rashpa::link::pcie
