#pragma once
#include <utility>

#include "rashpa/link/pcie/engine.hpp"

namespace rashpa::link::pcie {

/// The calling thread copies, with streaming stores, and makes the CRC32C in the same pass. Everything is done when a
/// call returns.
class CpuEngine final : public Engine {
 public:
  explicit CpuEngine(std::span<std::byte> memory) noexcept : memory_(memory) {}

  std::size_t copy(std::span<const BufferDescriptor> writes) noexcept override;
  std::size_t take_done() noexcept override { return std::exchange(done_, 0); }
  bool announce(const Event& event, std::atomic<std::uint32_t>& lock) noexcept override;
  [[nodiscard]] std::size_t pending() const noexcept override { return 0; }
  [[nodiscard]] bool makes_crc32c() const noexcept override { return true; }
  [[nodiscard]] std::optional<std::uint32_t> crc32c() const noexcept override { return crc_; }
  void begin_image() noexcept override { crc_ = 0; }

 private:
  std::span<std::byte> memory_;
  std::uint32_t crc_ = 0;
  std::size_t done_ = 0;
};

}  // namespace rashpa::link::pcie
