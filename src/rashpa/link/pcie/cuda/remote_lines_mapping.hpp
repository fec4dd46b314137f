// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

#include "rashpa/link/pcie/control_block.hpp"

namespace rashpa::link::pcie {

/// Lines of a receiver in memory of a device, as the current device writes to them: its own memory, or a peer's over
/// NVLink or PCIe. Of another process they are opened, and closed with this object: before the receiver gives them
/// back.
class RemoteLinesMapping {
 public:
  /// Throws ConfigError when this device cannot write there, ResourceError when the runtime cannot open it.
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
