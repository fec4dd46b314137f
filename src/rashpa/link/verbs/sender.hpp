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

/// Opens the device with `address` and registers the frames for reading, by the receiver itself where `options` say so.
/// Throws ResourceError.
SourceMemory register_sources(const std::string& device, const std::string& address,
                              std::span<const memory::DmaBlock> blocks, const Options& options = {});

struct SenderConfig {
  SourceMemory memory;
  Endpoint destination;  ///< endpoint of the receiver, from endpoints()
  Options options{};     ///< window_bytes is 0 for an RNIC as receiver, which acknowledges only images
  Flow flow = Flow::credits;
  Poll poll = Poll::event;
  std::uint32_t dtp = 0;     ///< id of the DTP
  std::uint64_t slots = 0;   ///< slots of the receiver; 0: credits are not bounded
  std::uint32_t events = 1;  ///< events of an image
  /// The silence after which one message is sent as a probe. Credits are words in memory, where repeated credits are
  /// not visible.
  std::uint32_t window_timeout_us = SenderWindow::kSilenceUs;
};

/// The source side of one DTP: RDMA WRITE by an RNIC from registered memory, with its own queue pair. The constructor
/// takes all memory and is the only function that throws: ConfigError or ResourceError. Completions come late and in
/// order: poll() reports `options.signal_every` writes at a time, and all of them at the event's completion. Where the
/// receiver's endpoint has a `word_offset`, the immediate of each event is also written there, behind the event.
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
