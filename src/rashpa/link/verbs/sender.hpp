#pragma once
#include <memory>
#include <string>
#include <vector>

#include "rashpa/link/ends.hpp"
#include "rashpa/link/roce/options.hpp"
#include "rashpa/link/verbs/device.hpp"
#include "rashpa/link/verbs/options.hpp"

namespace rashpa::link::verbs {

/// What all DTPs of an emulator share: the open device and the registered frames.
struct SourceMemory {
  std::shared_ptr<Device> device;
  std::vector<std::shared_ptr<const Registration>> blocks;
};

/// Opens the device with `address` and registers the frames for reading. Throws ResourceError.
SourceMemory register_sources(const std::string& device, const std::string& address,
                              std::span<const memory::DmaBlock> blocks);

struct SenderConfig {
  SourceMemory memory;
  roce::Endpoint destination;  ///< from the receiver's endpoints()
  roce::Options
      packets{};  ///< transport, pmtu, packetisation, window_bytes (0 towards an RNIC: it acknowledges images only)
  Options options{};
  roce::Flow flow = roce::Flow::credits;
  roce::Poll poll = roce::Poll::event;
  std::uint32_t dtp = 0;                   ///< DTP id
  std::uint32_t window_timeout_us = 4000;  ///< without news for so long, the bytes in flight are taken as lost
};

/// Source side of one DTP: RDMA WRITE by an RNIC from registered memory, its own queue pair. Takes all memory in the
/// constructor; throws ConfigError or ResourceError there and nowhere else. Completions come late and in order: poll()
/// reports writes done `options.signal_every` at a time, and all of them when the event's completion comes.
class VerbsSender final : public SourceLink {
 public:
  explicit VerbsSender(const SenderConfig& config);
  ~VerbsSender() override;

  [[nodiscard]] roce::Endpoint endpoint() const override;

  std::size_t post(std::span<const BufferDescriptor> writes) override;
  bool post_event(const Event& event) override;
  std::size_t poll(std::uint32_t wait_us) override;
  [[nodiscard]] std::size_t pending() const noexcept override;
  [[nodiscard]] std::uint64_t granted() const noexcept override;
  [[nodiscard]] std::uint32_t largest_message() const noexcept override;
  [[nodiscard]] SenderStats stats() const noexcept override;  ///< any thread

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rashpa::link::verbs
