// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "rashpa/core/cbor/cbor.hpp"
#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4.hpp"
#include "rashpa/sink/chunk_board.hpp"
#include "rashpa/sink/nxmx_metadata.hpp"
#include "rashpa/sink/output.hpp"
#include "rashpa/sink/sink.hpp"
#include "rashpa/sink/stream2/lane.hpp"
#include "rashpa/sink/stream2/messages.hpp"

namespace rashpa::sink {

struct Stream2Config {
  std::string endpoint;       ///< endpoint of the first outlet, tcp://ADDRESS:PORT
  std::uint32_t outlets = 1;  ///< number of outlets, on consecutive ports; port 0: any free ones
  stream2::Pattern pattern = stream2::Pattern::push;
  std::uint32_t waiting = 256;  ///< most messages that wait for a consumer before it misses some
  double wait_s = 0;            ///< time that begin() waits until each outlet has a consumer
  NxmxMetadata metadata{};
};

/// Sends accepted images to programs that read DECTRIS Stream V2: CBOR by ZeroMQ (docs/reference/stream2.md), by a
/// separate process. Each outlet has its own queue, and the sink waits for none. An image counts as missed at an outlet
/// without room or consumer, and while that process is absent.
/// An image is written when the queue of at least one outlet has taken it, and dropped otherwise. New consumers get
/// `start` first; `end` is also sent when the run is left early. At the end consumers have five seconds to fetch queued
/// messages.
class Stream2Sink final : public Sink, public RowKeeping, public Sending {
 public:
  /// Binds the sockets. Throws ConfigError when that fails or images are lists, ResourceError without libzmq.
  Stream2Sink(const Stream2Config& config, const Output& output);
  ~Stream2Sink() override;
  void begin() override;
  Put put(const Stack& stack, std::span<ErrorReason> results) override;
  void skip(std::span<const SkippedImage> images) override;
  void close(const Books& books) override;
  [[nodiscard]] SinkStats stats() const noexcept override;
  [[nodiscard]] std::string error() const override { return {}; }
  [[nodiscard]] std::vector<ConsumerStatus> consumers() const override;
  [[nodiscard]] std::uint64_t restarts() const override { return lane_.restarts(); }
  /// Returns the sending process, for tests.
  [[nodiscard]] const publish::Process& process() const noexcept { return lane_.process(); }

 private:
  void wait_for_consumers();
  void send_start();
  [[nodiscard]] ErrorReason send(const Stack& stack, const StackImage& image);
  [[nodiscard]] ChunkRef chunk_of(const Stack& stack, const StackImage& image, bool wanted, ErrorReason& why);
  void send_ends(const Books* books);

  Output output_;
  NxmxMetadata metadata_;
  stream2::Lane lane_;
  kernel::bitshuffle_lz4::Compressor compressor_;
  std::vector<std::byte> scratch_;  // of the compressor
  std::vector<std::byte> copy_;     // of an image that may change while it is compressed
  Cbor cbor_;
  stream2::Series series_;
  stream2::Tally tally_;
  std::chrono::duration<double> wait_;
  bool begun_ = false;
  bool ended_ = false;
  mutable std::mutex lock_;
  SinkStats stats_;  // guarded by lock_
};

}  // namespace rashpa::sink
