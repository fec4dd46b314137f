// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The link contract over a DMA engine: lines and records are written by the device, the event is a 32-bit word that it
/// writes last and that the receiver's thread polls. For tests of the virtual machine only.
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "edu_engine.hpp"
#include "rashpa/core/system/doorbell.hpp"
#include "rashpa/link/arrival_queue.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::vm {

/// What both sides of one DTP share besides the engine.
struct EduChannel {
  std::uint64_t event_offset = 0;  ///< of its event word in the RASHPA buffer
  std::atomic<std::uint64_t> granted{0};
};

/// Value of an event word before the first event; no immediate of a run shorter than 2²⁴ images.
inline constexpr std::uint32_t kNoEvent = 0xFFFFFFFFU;

/// Memory as the processor sees it and as the device does.
struct Window {
  const std::byte* data = nullptr;
  std::uint64_t device_address = 0;
  [[nodiscard]] std::uint64_t to_device(const std::byte* at) const noexcept {
    return device_address + static_cast<std::uint64_t>(at - data);
  }
};

/// Source side of one DTP. Unlike other links post() and post_event() wait for the device.
class EduSender final : public link::Sender {
 public:
  /// `frames`: where descriptors' sources lie; `region`: the RASHPA buffer.
  EduSender(EduEngine& engine, EduChannel& channel, Window frames, Window region);

  [[nodiscard]] link::Endpoint endpoint() const override { return {.address = "edu"}; }
  std::size_t post(std::span<const link::BufferDescriptor> writes) override;
  bool post_event(const link::Event& event) override;
  std::size_t poll(std::uint32_t wait_us) override;
  [[nodiscard]] std::size_t pending() const noexcept override { return 0; }
  [[nodiscard]] std::uint64_t granted() const noexcept override { return channel_.granted; }
  [[nodiscard]] std::uint32_t largest_message() const noexcept override { return EduEngine::kLargest; }
  [[nodiscard]] link::Counts stats() const override;
  /// Writes that lay across a boundary of two huge pages.
  [[nodiscard]] std::uint64_t page_crossings() const noexcept { return crossings_; }

 private:
  void store(std::uint32_t at, std::uint64_t offset, std::uint32_t bytes);
  EduEngine& engine_;
  EduChannel& channel_;
  Window frames_;
  Window region_;
  memory::Buffer staging_;  // record and event word, read by the device
  std::unique_ptr<memory::DeviceMapping> staging_mapping_;
  std::size_t done_ = 0;
  std::atomic<std::uint64_t> messages_{0}, bytes_{0}, crossings_{0};
};

/// Destination side: one thread. An image is complete when its record's CRC32C is that of its lines.
class EduReceiver final : public link::Receiver {
 public:
  EduReceiver(std::span<std::byte> region, std::vector<link::ReceiverDtp> dtps, std::vector<EduChannel*> channels,
              link::ArrivalQueues& queues, Doorbell& bell);
  ~EduReceiver() override { stop(); }

  [[nodiscard]] std::vector<link::Endpoint> endpoints() const override;
  void connect(std::span<const link::Endpoint> /*senders*/) override {}
  void start() override;
  void release(std::uint32_t dtp, std::uint64_t end) noexcept override;
  void close(std::uint32_t dtp, std::uint64_t end) noexcept override;
  [[nodiscard]] bool sources_write() const noexcept override { return true; }
  void stop() noexcept override { thread_ = {}; }
  [[nodiscard]] link::Counts stats() const override;

 private:
  struct PolledDtp {
    std::uint64_t next = 0;
    std::atomic<std::uint64_t> closed{0};
  };
  void run(const std::stop_token& stop) noexcept;
  [[nodiscard]] std::uint64_t announced(std::uint32_t dtp) const noexcept;
  [[nodiscard]] link::Arrival judge(std::uint32_t dtp, std::uint64_t index, bool event) noexcept;

  std::span<std::byte> region_;
  std::vector<link::ReceiverDtp> dtps_;
  std::vector<EduChannel*> channels_;
  std::vector<PolledDtp> polled_;
  link::ArrivalQueues& queues_;
  Doorbell& bell_;
  std::atomic<std::uint64_t> events_{0}, bad_records_{0}, crc_mismatches_{0};
  std::jthread thread_;
};

}  // namespace rashpa::vm
