// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstring>
#include <utility>

#include "rashpa/link/pcie/engine.hpp"
#include "rashpa/memory/stream_copy.hpp"

namespace rashpa::link::pcie {

/// Copies by the calling thread with streaming stores, and computes the CRC32C in the same pass. All work is done when
/// a call returns.
class CpuEngine final : public Engine {
 public:
  explicit CpuEngine(std::span<std::byte> memory) noexcept : memory_(memory) {}

  std::size_t copy(std::span<const BufferDescriptor> writes) noexcept override;
  Progress take_done() noexcept override { return std::exchange(done_, {}); }
  bool announce(const Event& event, std::atomic<std::uint32_t>& lock) noexcept override;
  [[nodiscard]] std::size_t pending() const noexcept override { return 0; }
  [[nodiscard]] bool makes_crc32c() const noexcept override { return true; }
  [[nodiscard]] std::optional<std::uint32_t> crc32c() const noexcept override { return crc_; }
  void drop_image() noexcept override { crc_ = 0; }

 private:
  std::span<std::byte> memory_;
  std::uint32_t crc_ = 0;
  Progress done_{};
};

inline std::size_t CpuEngine::copy(std::span<const BufferDescriptor> writes) noexcept {
  for (const BufferDescriptor& write : writes) {
    crc_ = memory::stream_copy_crc32c(memory_.data() + write.destination, {write.source, write.bytes}, crc_);
  }
  done_.writes += writes.size();
  return writes.size();
}

inline bool CpuEngine::announce(const Event& event, std::atomic<std::uint32_t>& lock) noexcept {
  std::memcpy(memory_.data() + event.destination, event.record, FrameRecord::kBytes);
  memory::stream_fence();
  // Sequentially consistent: this thread publishes the word before it reads the receiver's flag, and releases the
  // record to the receiver.
  lock.exchange(event.immediate, std::memory_order_seq_cst);
  crc_ = 0;
  ++done_.announced;
  return true;
}

}  // namespace rashpa::link::pcie
