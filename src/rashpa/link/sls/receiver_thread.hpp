// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "rashpa/core/system/doorbell.hpp"
#include "rashpa/link/arrivals/queue_output.hpp"
#include "rashpa/link/arrivals/threaded_receiver.hpp"
#include "rashpa/link/file_sleep.hpp"
#include "rashpa/link/sls/port_handler.hpp"
#include "rashpa/link/sls/port_socket.hpp"
#include "rashpa/link/sls/receiver.hpp"

namespace rashpa::link::sls {

/// A UDP port with its images; `place` is its place among the receiver's ports.
struct Port {
  std::size_t place;
  std::unique_ptr<memory::Gather> gather;  // null: pixels are copied
  PortSocket socket;
  PortHandler handler;
  std::unique_ptr<PortIntake> engine = nullptr;  // that takes datagrams before the socket does; null: none does
  std::uint64_t bytes = 0;                       // that came since the port was empty, or as much had come as it holds

  [[nodiscard]] PortIntake& intake() noexcept { return engine ? *engine : socket; }
};

/// One thread of an SlsReceiver and its ports.
class ReceiverThread final : public LinkThread {
 public:
  /// Takes the memory. `ports` are the thread's own; `tiles` is the number of DTPs of a port. Throws ResourceError.
  ReceiverThread(const ReceiverConfig& config, std::uint32_t number, std::vector<Port*> ports, std::uint32_t tiles,
                 FrameCounts& counts, ArrivalQueues& queues, Doorbell& bell, PortCounters& counters);
  ReceiverThread(const ReceiverThread&) = delete;
  ReceiverThread& operator=(const ReceiverThread&) = delete;
  ~ReceiverThread() override;

  void run(const std::atomic<bool>& stop) noexcept override;
  void wake() noexcept override { sleep_.wake(); }

 private:
  [[nodiscard]] bool take(Port& port, std::int64_t now, bool tidy, bool& drained) noexcept;
  void look_for_first(std::int64_t now) noexcept;
  void decide_all(std::int64_t now) noexcept;
  void count_drops() noexcept;
  [[nodiscard]] bool something_changed() noexcept;

  ReceiverConfig config_;
  std::uint32_t number_;
  std::vector<Port*> ports_;
  FrameCounts* counts_;
  QueueOutput output_;
  PortCounters* counters_;
  FileSleep sleep_;
  int sockets_;  // epoll
};

}  // namespace rashpa::link::sls
