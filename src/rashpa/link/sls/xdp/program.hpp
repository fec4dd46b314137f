// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rashpa/link/sls/xdp/kernel.hpp"

namespace rashpa::link::sls::xdp {

/// The program at an interface that gives frames with UDP datagrams of some ports to AF_XDP sockets. All others go on
/// to the kernel: also fragments, frames with a VLAN tag, with IP options or IPv6. It leaves the interface with its
/// destructor, or with the process.
class Program {
 public:
  /// Loads the program. `address`: IPv4 destination in network order; `ports`: in host order; `queues`: receive queues
  /// of the interface. Throws ResourceError.
  Program(std::uint32_t address, std::span<const std::uint16_t> ports, std::uint32_t queues);

  /// Sets the socket for frames of the port at place `port` from `queue`. Throws ResourceError.
  void give(std::uint32_t port, std::uint32_t queue, int socket);
  /// Begins to give frames: in the driver where it can, else before the kernel's own stack. Throws ResourceError.
  void attach(int interface, const std::string& name);
  /// Returns true when the driver runs the program.
  [[nodiscard]] bool in_driver() const noexcept { return in_driver_; }

 private:
  std::uint32_t queues_;
  FileDescriptor sockets_;
  FileDescriptor program_;
  FileDescriptor link_;
  bool in_driver_ = false;
};

/// Returns the program's instructions. `map` is the file of the map of sockets, which has `queues` entries for each of
/// `ports`.
std::vector<bpf_insn> instructions(std::uint32_t address, std::span<const std::uint16_t> ports, std::uint32_t queues,
                                   int map);

}  // namespace rashpa::link::sls::xdp
