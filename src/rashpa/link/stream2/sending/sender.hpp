// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rashpa/core/cbor/cbor.hpp"
#include "rashpa/core/image/pixel_type.hpp"
#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4.hpp"
#include "rashpa/link/link.hpp"
#include "rashpa/link/stream2/options.hpp"
#include "rashpa/link/stream2/sending/message_queue.hpp"
#include "rashpa/link/stream2/sending/outlet.hpp"

namespace rashpa::link::stream2 {

struct SenderConfig {
  std::string bind_address = "127.0.0.1";
  Endpoint destination;  ///< endpoint of the receiver, from endpoints()
  Options options{};
  std::uint32_t dtp = 0;
  std::uint64_t images = 0;
  std::uint64_t payload_bytes = 0;
  std::optional<FaultConfig> faults{};
};

/// The source side of one DTP: a detector that pushes DECTRIS Stream V2, with one channel. It gets no answers, so all
/// images are granted, and unread messages delay the sender. Lines are copied before they are packed.
class Stream2Sender final : public Sender, public Injecting {
 public:
  /// Opens the socket. Throws ConfigError or ResourceError.
  explicit Stream2Sender(const SenderConfig& config);

  [[nodiscard]] Endpoint endpoint() const override;
  std::size_t post(std::span<const BufferDescriptor> writes) override;
  bool post_event(const Event& event) override;
  std::size_t poll(std::uint32_t wait_us) override;
  [[nodiscard]] std::size_t pending() const noexcept override { return queue_.size(); }
  [[nodiscard]] std::uint64_t granted() const noexcept override { return kUnlimited; }
  [[nodiscard]] std::uint32_t largest_message() const noexcept override;
  [[nodiscard]] Counts stats() const override;
  [[nodiscard]] FaultCounts injected() const noexcept override { return queue_.counts(); }
  [[nodiscard]] const Fates* fates() const noexcept override { return faulty_ ? &queue_ : nullptr; }

 private:
  void pump() noexcept;
  [[nodiscard]] bool room() noexcept;
  void write_start(const FrameRecord& record);
  void write_image(const FrameRecord& record);
  void write_end(const FrameRecord& record);
  void write_series(Cbor::Map& map, std::string_view type, const FrameRecord& record);

  Options options_;
  std::uint64_t images_;
  std::uint32_t rows_, columns_;
  PixelType pixel_;
  MessageQueue queue_;
  bool faulty_;
  Outlet outlet_;
  kernel::bitshuffle_lz4::Compressor compressor_;
  std::vector<std::byte> pixels_;
  std::vector<std::byte> packed_;
  Cbor message_;
  std::string channel_;
  bool started_ = false;
  std::uint64_t linear_ = 0;  // bytes of the image that were posted
  std::size_t done_ = 0;      // writes, since the last poll
  SenderCounters counters_;
};

}  // namespace rashpa::link::stream2
