// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rashpa/link/pcie/control_block.hpp"
#include "rashpa/link/pcie/copy_engine.hpp"

namespace rashpa::link::pcie {

/// A GPU as the DMA engine of one emulator: it holds the frames and writes into the memory of receivers. Set-up thread.
class CudaSource {
 public:
  /// Throws ConfigError when this program was built without CUDA, or there is no device with that number.
  static void check(int device);
  /// Copies `frames`, all source memory, to the device; it must not change, and outlives the copies. Where the device
  /// has no room for it, the device reads it in place, as it does all other memory. Throws ConfigError as check(), or
  /// ResourceError.
  CudaSource(int device, std::span<const std::span<const std::byte>> frames);

  /// Makes the device's work for one DTP, in a stream of its own. It keeps `memory` and the needed parts of this object
  /// alive. Throws ResourceError.
  [[nodiscard]] std::unique_ptr<CopyDevice> make(std::shared_ptr<const RemoteMemory> memory) const;
  /// Returns where the frames are, as text.
  [[nodiscard]] const std::string& how() const noexcept;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace rashpa::link::pcie
