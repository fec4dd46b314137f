// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "rashpa/link/sls/options.hpp"
#include "rashpa/link/sls/port_counters.hpp"
#include "rashpa/link/sls/port_intake.hpp"
#include "rashpa/link/sls/port_socket.hpp"
#include "rashpa/link/sls/xdp/program.hpp"
#include "rashpa/link/sls/xdp/queue.hpp"

namespace rashpa::link::sls::xdp {

/// AF_XDP for the ports of a receiver: one program at the interface, memory for each of its queues, and a socket for
/// each port and queue.
class Engine {
 public:
  /// A port: its kernel socket, which gives the port number and takes what the program leaves, its counters, and the
  /// gather of its pixels, where a device has these.
  struct PortEnd {
    PortSocket* socket = nullptr;
    std::size_t stride = 0;
    PortCounters* counters = nullptr;
    const memory::Gather* gather = nullptr;
  };
  /// Puts the program at the interface, and opens all sockets; `gathers` opens frames to a device, null: none reads
  /// them. The ports' ends outlive the engine. Throws ConfigError for an address of no interface, ResourceError.
  Engine(const Options& options, std::span<const PortEnd> ends, memory::Gathering* gathers);

  /// Returns what takes the datagrams of each port, in order; call it once. The engine outlives all of them.
  [[nodiscard]] std::vector<std::unique_ptr<PortIntake>> intakes() { return std::move(intakes_); }

 private:
  std::vector<std::unique_ptr<FrameMemory>> memory_;  // of each queue
  std::vector<std::unique_ptr<PortIntake>> intakes_;
  std::unique_ptr<Program> program_;
};

}  // namespace rashpa::link::sls::xdp
