// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "rashpa/core/system/doorbell.hpp"
#include "rashpa/core/system/file_descriptor.hpp"
#include "rashpa/link/arrivals/queue_output.hpp"
#include "rashpa/link/arrivals/threaded_receiver.hpp"
#include "rashpa/link/file_sleep.hpp"
#include "rashpa/link/stream2/connection.hpp"
#include "rashpa/link/stream2/intake.hpp"
#include "rashpa/link/stream2/receiver.hpp"
#include "rashpa/link/stream2/unpackers.hpp"

namespace rashpa::link::stream2 {

/// The thread that reads messages of all senders and decides images; other threads unpack.
class ReceiverThread final : public LinkThread {
 public:
  /// Starts the unpacking threads. `dtps` are all of the receiver. Throws ResourceError.
  ReceiverThread(const ReceiverConfig& config, const std::vector<std::unique_ptr<StreamDtp>>& dtps,
                 ArrivalQueues& queues, Doorbell& bell, StreamCounters& counters);
  ReceiverThread(const ReceiverThread&) = delete;
  ReceiverThread& operator=(const ReceiverThread&) = delete;
  ~ReceiverThread() override;

  /// Adds a sender for these DTPs, before the thread runs. `addresses` are those of its connections; `alone` as for
  /// Intake. Throws ConfigError.
  void add_sender(const std::vector<SenderAddress>& addresses, std::vector<StreamDtp*> dtps, bool alone);
  void run(const std::atomic<bool>& stop) noexcept override;
  void wake() noexcept override { sleep_.wake(); }
  /// Returns the start messages of the series so far. One of several frames is a CBOR array of them. Any thread.
  [[nodiscard]] std::vector<std::string> starts() const;

 private:
  struct Source {
    Intake intake;
    std::vector<std::unique_ptr<Connection>> connections;
    std::vector<StreamDtp*> dtps;
    std::vector<bool> holding;  // by connection: a message that waits
    std::int64_t ended_ns = 0;
  };
  [[nodiscard]] bool look(std::int64_t now) noexcept;
  [[nodiscard]] bool pump(Source& source, std::size_t connection, std::int64_t now) noexcept;
  [[nodiscard]] bool offer(Source& source, std::size_t connection, std::int64_t now) noexcept;
  [[nodiscard]] bool read(const Buffer& buffer, Message& message) noexcept;
  void keep_start(const Buffer& message) noexcept;
  [[nodiscard]] bool retire(std::int64_t now) noexcept;
  void put(const Part& part, const Parts& parts, std::int64_t now) noexcept;
  void pass(std::int64_t now) noexcept;
  void decide(std::int64_t now) noexcept;
  void count_dead_ports() noexcept;
  [[nodiscard]] bool all_taken() noexcept;
  [[nodiscard]] bool something_changed() noexcept;

  ReceiverConfig config_;
  const std::vector<std::unique_ptr<StreamDtp>>* dtps_;
  std::size_t most_bytes_ = 0;  // of a message
  QueueOutput output_;
  StreamCounters* counters_;
  FileSleep sleep_;
  FileDescriptor files_;  // epoll
  std::vector<Source> sources_;
  Message message_;
  mutable std::mutex keeping_;
  std::vector<std::string> starts_;  // guarded by keeping_
  Unpackers unpackers_;              // last: its threads wake this one
};

}  // namespace rashpa::link::stream2
