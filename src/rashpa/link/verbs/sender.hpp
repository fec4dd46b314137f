// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "rashpa/link/link.hpp"
#include "rashpa/link/sending/sender_window.hpp"
#include "rashpa/link/verbs/device.hpp"
#include "rashpa/link/verbs/options.hpp"

namespace rashpa::link::verbs {

/// The common resources of all DTPs of an emulator: the open device and the registered frames.
struct SourceMemory {
  std::shared_ptr<Device> device;
  std::vector<std::shared_ptr<const Registration>> blocks;
};

/// Opens the device with `address` and registers the frames for reading. Throws ResourceError.
SourceMemory register_sources(const std::string& device, const std::string& address,
                              std::span<const memory::DmaBlock> blocks);

struct SenderConfig {
  SourceMemory memory;
  Endpoint destination;  ///< from the receiver's endpoints()
  Options options{};     ///< window_bytes 0 towards an RNIC: it acknowledges images only
  Flow flow = Flow::credits;
  Poll poll = Poll::event;
  std::uint32_t dtp = 0;    ///< DTP id
  std::uint64_t slots = 0;  ///< of the receiver; 0: credits are not bounded
  /// Silence after which one message asks for news. Credits are words in memory: whether one was repeated nobody can
  /// see.
  std::uint32_t window_timeout_us = SenderWindow::kSilenceUs;
};

/// Source side of one DTP: RDMA WRITE by an RNIC from registered memory, its own queue pair. Takes all memory in the
/// constructor; throws ConfigError or ResourceError there and nowhere else. Completions come late and in order: poll()
/// reports writes done `options.signal_every` at a time, and all of them when the event's completion comes.
class VerbsSender final : public Sender {
 public:
  explicit VerbsSender(const SenderConfig& config);
  ~VerbsSender() override;

  [[nodiscard]] Endpoint endpoint() const override;

  std::size_t post(std::span<const BufferDescriptor> writes) override;
  bool post_event(const Event& event) override;
  std::size_t poll(std::uint32_t wait_us) override;
  [[nodiscard]] std::size_t pending() const noexcept override;
  [[nodiscard]] std::uint64_t granted() const noexcept override;
  [[nodiscard]] std::uint32_t largest_message() const noexcept override;
  [[nodiscard]] Counts stats() const override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rashpa::link::verbs
