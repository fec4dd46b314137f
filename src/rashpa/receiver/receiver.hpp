// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "rashpa/core/books/books.hpp"
#include "rashpa/link/count_watch.hpp"
#include "rashpa/link/factory/factory.hpp"
#include "rashpa/memory/buffer.hpp"
#include "rashpa/memory/device_images.hpp"
#include "rashpa/receiver/buffers/memory_layout.hpp"
#include "rashpa/receiver/config.hpp"
#include "rashpa/receiver/distributor.hpp"
#include "rashpa/scheduler/scheduler.hpp"

namespace rashpa::receiver {

enum class State : std::uint8_t { configured, armed, running, finished, stopped };

struct DtpStatus {
  std::uint32_t id = 0;
  std::uint32_t module = 0;
  std::uint64_t expected = 0;
  scheduler::LaneDtpStats counts{};
};

/// The number of images of a DTP that were due: all of lower index.
struct DtpEnd {
  std::uint32_t id = 0;
  std::uint64_t images = 0;
};

struct BufferStatus {
  std::string name;
  Books books;  ///< expected: so far, while the end is not known
  bool end_known = true;
  std::vector<ReasonCount> vetoes;                    ///< every reason that the pipeline knows, also those that count 0
  std::array<std::uint64_t, kErrorReasons> errors{};  ///< by ErrorReason
  std::optional<FirstErrored> first_errored{};
  std::uint64_t to_write = 0;  ///< images whose slots a sink holds, or the unit
  std::vector<DtpStatus> dtps;
  const Histogram* ready = nullptr;     ///< last packet → stack ready
  const Histogram* decision = nullptr;  ///< stack ready → decided
  const Histogram* written = nullptr;   ///< decided → slots given back
  std::vector<SinkStatus> sinks;
  std::string sink_error;           ///< the first one of any sink
  std::string unit;                 ///< how it works, in words
  std::string unit_error;           ///< the error that made it fail for good
  std::string busy;                 ///< the step that has been at work for long, in words; empty: none has
  std::uint64_t bytes_written = 0;  ///< over all sinks: of written images, before compression
  std::uint64_t bytes_stored = 0;   ///< … and those that went to storage
  std::optional<feedback::PublisherStatus> feedback{};
};

struct Status {
  State state = State::configured;
  std::vector<BufferStatus> buffers;
  link::Counts link{};
  std::string memory;            ///< the pages that the machine gave
  std::string registration;      ///< how it was made usable by an RNIC, in words; empty where that is not needed
  double elapsed_s = 0;          ///< first packet → last decision
  std::string first_incomplete;  ///< in words; empty when every decided image is complete
};

/// Owns RASHPA buffers, link, scheduler, units and sinks (ROMULU). Set-up calls from one thread, in the order
/// construct, arm, start, finish or stop; status calls from any thread.
class Receiver {
 public:
  /// Takes memory, sockets and output files; throws ConfigError, ResourceError or FileError, nothing starts then.
  explicit Receiver(Config config);
  ~Receiver();
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  /// One per DTP: buffers in order, DTPs in order.
  [[nodiscard]] std::vector<link::Endpoint> endpoints() const;
  /// Returns the descriptions that sources give of themselves so far; empty where they give none. Any thread.
  [[nodiscard]] std::vector<std::string> descriptions() const;
  /// The placements for sources: offsets as the link's device counts them.
  [[nodiscard]] const std::vector<Placement>& placements() const noexcept { return placements_; }
  /// The sources of the DTPs, in the same order. Throws ConfigError when the number differs.
  void arm(const std::vector<link::Endpoint>& sources);
  void start();
  /// Stops the deadlines of images while `held`, since the sources get the order to pause one after the other. finish()
  /// ends it at the latest. Any thread.
  void hold_deadlines(bool held) noexcept;
  /// Gives step `step` of a buffer's pipeline the limits among `values`, which has all of its parameters. Returns the
  /// index of the first image that is decided by them; all before it are decided by those that were. Throws
  /// ConfigError, or StateError when no image is left or the unit cannot. Any thread.
  std::uint64_t adjust(std::size_t buffer, std::size_t step, const NamedValues& values);
  /// Expects nothing more: open images are closed when their deadline has passed. `ends`: for DTPs of buffers that
  /// learn their ends, the last images of their sources; the largest of a buffer's DTPs is its end. A buffer without
  /// one ends with its last arrived image. The first call counts. Throws ConfigError for a DTP that it has not.
  void finish(const std::vector<DtpEnd>& ends = {});
  /// Ends everything at once: open images are missing, and arrived ones are decided and written. Bounded by the sinks.
  /// Any thread; a second call waits for the first.
  void stop() noexcept;
  /// Returns true when every expected image is decided and written within `timeout_s`.
  [[nodiscard]] bool wait(double timeout_s) const;
  /// Logs what the link has refused since the last time; for a thread that waits for the run, several times
  /// a second. `last`: nothing more will come. Any thread; it allocates.
  void observe(bool last = false);

  [[nodiscard]] Status status() const;
  [[nodiscard]] std::vector<Completeness> completeness(std::size_t buffer) const;
  [[nodiscard]] std::vector<Decision> decisions(std::size_t buffer) const;
  [[nodiscard]] std::shared_ptr<const Preview> preview(std::size_t buffer) const;
  [[nodiscard]] std::shared_ptr<const Preview> first(std::size_t buffer, FirstOf what) const;
  [[nodiscard]] const Output& output(std::size_t buffer) const;
  /// The last thread of a buffer, for its sinks.
  [[nodiscard]] const Distributor& distributor(std::size_t buffer) const;

 private:
  struct Buffer;  // with its lane, unit and distributor
  /// Logs each step that does not come to its end, once. The caller holds `watching_`.
  void observe_steps(std::size_t buffer);
  void make_link();
  /// The origin of rings' offsets.
  [[nodiscard]] std::byte* images_at() const noexcept { return images_ ? images_->block().data : memory_.data(); }
  void say_set_up() const;
  [[nodiscard]] std::string registration() const;
  [[nodiscard]] std::string first_incomplete() const;
  [[nodiscard]] const Buffer& at(std::size_t buffer) const;

  Config config_;
  MemoryLayout layout_;
  std::unique_ptr<memory::DeviceImages> images_;  // null: they lie in memory_
  memory::Buffer memory_;
  Doorbell bell_;
  link::ArrivalQueues queues_;
  std::unique_ptr<link::Receiver> link_;
  const link::Registering* registering_ = nullptr;  // the link, where memory is registered
  std::vector<Placement> placements_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::unique_ptr<scheduler::Scheduler> scheduler_;
  std::atomic<State> state_{State::configured};
  std::mutex finishing_;
  std::mutex stopping_;
  std::mutex watching_;
  link::CountWatch watch_;  // guarded by watching_
};

}  // namespace rashpa::receiver
