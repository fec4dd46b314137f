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

/// The number of images of a DTP that were due: all with lower indices.
struct DtpEnd {
  std::uint32_t id = 0;
  std::uint64_t images = 0;
};

struct BufferStatus {
  std::string name;
  Books books;  ///< `expected` counts the images so far, while the end is unknown
  bool end_known = true;
  std::vector<ReasonCount> vetoes;                    ///< all reasons of the pipeline, also those with count 0
  std::array<std::uint64_t, kErrorReasons> errors{};  ///< by ErrorReason
  std::optional<FirstErrored> first_errored{};
  std::uint64_t to_write = 0;  ///< images whose slots a sink or the unit holds
  std::vector<DtpStatus> dtps;
  const Histogram* ready = nullptr;     ///< latency from the last packet to the ready stack
  const Histogram* decision = nullptr;  ///< latency from the ready stack to the decision
  const Histogram* written = nullptr;   ///< latency from the decision to released slots
  std::vector<SinkStatus> sinks;
  std::string sink_error;           ///< first error of any sink
  std::string unit;                 ///< description of the unit
  std::string unit_error;           ///< error by which the unit failed for good
  std::string busy;                 ///< description of a step that has run for too long; empty: none
  std::uint64_t bytes_written = 0;  ///< bytes of written images over all sinks, before compression
  std::uint64_t bytes_stored = 0;   ///< bytes that all sinks stored
  std::optional<feedback::PublisherStatus> feedback{};
};

struct Status {
  State state = State::configured;
  std::vector<BufferStatus> buffers;
  link::Counts link{};
  std::string memory;            ///< kind of pages that the machine gave
  std::string registration;      ///< description of the registration for an RNIC; empty where that is not needed
  double elapsed_s = 0;          ///< from the first packet to the last decision
  std::string first_incomplete;  ///< text about the first incomplete image; empty when all decided images are complete
};

/// The owner of RASHPA buffers, link, scheduler, units and sinks (ROMULU). One thread makes set-up calls in the order
/// construct, arm, start, finish or stop; any thread may make status calls.
class Receiver {
 public:
  /// Takes memory, sockets and output files. Throws ConfigError, ResourceError or FileError, and then starts nothing.
  explicit Receiver(Config config);
  ~Receiver();
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  /// Returns the endpoint of each DTP, in order of buffers and their DTPs.
  [[nodiscard]] std::vector<link::Endpoint> endpoints() const;
  /// Returns the descriptions that sources have sent so far; empty where they send none. Any thread.
  [[nodiscard]] std::vector<std::string> descriptions() const;
  /// Returns the placements for sources, with offsets as the link's device counts them.
  [[nodiscard]] const std::vector<Placement>& placements() const noexcept { return placements_; }
  /// Connects the sources of the DTPs, in the same order. Throws ConfigError when their number differs.
  void arm(const std::vector<link::Endpoint>& sources);
  void start();
  /// Stops the deadlines of images while `held`, because sources pause one after another. finish() ends it at the
  /// latest. Any thread.
  void hold_deadlines(bool held) noexcept;
  /// Sets new limits for step `step` of a buffer's pipeline; `values` has all its parameters. Returns the index of the
  /// first image that they decide; the old limits decide all images before. Throws ConfigError, or StateError when no
  /// image is left or the unit cannot change limits. Any thread.
  std::uint64_t adjust(std::size_t buffer, std::size_t step, const NamedValues& values);
  /// Ends the run when the sources have ended: open images are closed after their deadline. For DTPs of buffers with an
  /// open end, `ends` has the number of images of their sources; the largest of a buffer's DTPs is its end. A buffer
  /// without one ends with its last arrived image. The first call counts. Throws ConfigError for an unknown DTP.
  void finish(const std::vector<DtpEnd>& ends = {});
  /// Ends everything at once: open images are missing, and arrived ones are decided and written. The sinks bound its
  /// duration. Any thread; a second call waits for the first.
  void stop() noexcept;
  /// Waits up to `timeout_s` seconds; returns true when each expected image is decided and written.
  [[nodiscard]] bool wait(double timeout_s) const;
  /// Logs new refusals of the link. The thread that waits for the run calls it several times a second. `last` means
  /// that nothing more will come. Any thread; it allocates.
  void observe(bool last = false);

  [[nodiscard]] Status status() const;
  [[nodiscard]] std::vector<Completeness> completeness(std::size_t buffer) const;
  [[nodiscard]] std::vector<Decision> decisions(std::size_t buffer) const;
  [[nodiscard]] std::shared_ptr<const Preview> preview(std::size_t buffer) const;
  [[nodiscard]] std::shared_ptr<const Preview> first(std::size_t buffer, FirstOf what) const;
  [[nodiscard]] const Output& output(std::size_t buffer) const;
  /// Returns the distributor of a buffer, for its sinks.
  [[nodiscard]] const Distributor& distributor(std::size_t buffer) const;

 private:
  struct Buffer;  // with its lane, unit and distributor
  /// Logs, once, each step that does not end. The caller holds `watching_`.
  void observe_steps(std::size_t buffer);
  void make_link();
  /// Returns the last words of `dtps` DTPs from number `first` on; empty where the link has none.
  [[nodiscard]] std::vector<LastWord> last_words_of(std::size_t first, std::size_t dtps) const;
  /// Returns the memory in which ring offsets count.
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
