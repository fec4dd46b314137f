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

/// A GPU as the DMA engine of one emulator: the frames lie in its memory, and it writes into the memory of receivers.
/// Set-up thread.
class CudaSource {
 public:
  /// Throws ConfigError when this program was built without CUDA, or there is no device of that number.
  static void check(int device);
  /// `frames`: all source memory, as it is now and stays; it outlives the copies. Where the device has no room for it,
  /// it is read where it is, as is all other memory. Throws ConfigError as check(), or ResourceError.
  CudaSource(int device, std::span<const std::span<const std::byte>> frames);

  /// The device's work for one DTP, in a stream of its own. Keeps what it needs of this object, and `memory`. Throws
  /// ResourceError.
  [[nodiscard]] std::unique_ptr<CopyDevice> make(std::shared_ptr<const RemoteMemory> memory) const;
  /// Returns where the frames are, in words.
  [[nodiscard]] const std::string& how() const noexcept;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace rashpa::link::pcie
