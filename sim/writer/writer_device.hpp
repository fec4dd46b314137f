// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The simulated card that writes memory, as a device of link pcie's CopyEngine: it takes the place of a GPU.
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <variant>
#include <vector>

#include "iommu.hpp"
#include "rashpa/link/pcie/control_block.hpp"
#include "rashpa/link/pcie/copy_engine.hpp"
#include "writer_model.hpp"

namespace rashpa::sim {

/// The way of a card to the memory of a receiver.
struct WriterPlace {
  std::shared_ptr<const link::pcie::RemoteMemory> memory;
  std::uint32_t dtp = 0;          ///< number at the receiver
  std::uint32_t id = 0;           ///< of the DTP, for messages
  std::uint64_t mapped = ~0ULL;   ///< bytes of the region that the Iommu maps, if less than all
  std::uint64_t allowed = ~0ULL;  ///< bytes of the region that the card's table of addresses allows, if less than all
};

/// A card of one DTP. A thread of its own plays it, so no call waits. When it fails, the log says the address and the
/// DTP.
class WriterDevice final : public link::pcie::CopyDevice {
 public:
  explicit WriterDevice(WriterPlace place);
  ~WriterDevice() override;
  WriterDevice(const WriterDevice&) = delete;
  WriterDevice& operator=(const WriterDevice&) = delete;

  bool copy(const link::pcie::Rectangle& rectangle) noexcept override;
  bool mark(std::uint64_t number, const link::Event* event, std::atomic<std::uint32_t>* lock) noexcept override;
  [[nodiscard]] std::uint64_t reached() const noexcept override { return reached_.load(std::memory_order_acquire); }
  bool sound() noexcept override { return !failed_.load(std::memory_order_acquire); }

 private:
  struct Mark {
    std::uint64_t number = 0;
    bool event = false;
    std::uint64_t destination = 0;
    std::uint32_t immediate = 0;
    std::array<std::byte, FrameRecord::kBytes> record{};
  };
  using Order = std::variant<link::pcie::Rectangle, Mark>;

  bool tell(const Order& order) noexcept;
  void play();
  void write(const link::pcie::Rectangle& rectangle);
  void end(const Mark& mark);
  std::uint64_t place_for(std::uint32_t bytes, std::uint32_t lead);
  void run();

  WriterPlace place_;
  Iommu iommu_;
  WriterModel card_;
  std::uint64_t free_ = 0;  // card memory from here on
  std::mutex mutex_;
  std::condition_variable told_;
  std::deque<Order> orders_;
  bool ends_ = false;
  std::atomic<std::uint64_t> reached_{0};  // release by the card's thread, acquire by the source
  std::atomic<bool> failed_{false};        // the same
  std::thread thread_;
};

}  // namespace rashpa::sim
