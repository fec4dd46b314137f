// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/sls/xdp/engine.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "rashpa/link/sls/xdp/interface.hpp"
#include "rashpa/link/sls/xdp/port.hpp"

namespace rashpa::link::sls::xdp {

Engine::Engine(const Options& options, std::span<const PortEnd> ends, memory::Gathering* gathers) {
  const Interface interface = interface_with(ends.front().socket->local());
  std::vector<std::uint16_t> ports;
  for (const PortEnd& end : ends) ports.push_back(end.socket->local().port());
  program_ = std::make_unique<Program>(interface.address, ports, interface.queues);
  // Frames go to the kernel until their socket is there. The program comes first, since only one can be at an
  // interface, while the queues of an earlier receiver are busy for a moment after its end.
  program_->attach(interface.index, interface.name);
  constexpr std::uint32_t kLeast = 64;  // chunks of a port
  const std::uint32_t chunks = std::bit_ceil(std::max(kLeast, options.socket_buffer / kChunk));
  std::vector<std::vector<std::unique_ptr<FrameSocket>>> sockets(ends.size());
  for (std::uint32_t queue = 0; queue < interface.queues; ++queue) {
    memory_.push_back(std::make_unique<FrameMemory>(chunks * static_cast<std::uint32_t>(ends.size()), gathers));
    int first = -1;
    for (std::uint32_t p = 0; p < ends.size(); ++p) {
      sockets[p].push_back(std::make_unique<FrameSocket>(interface, queue, *memory_.back(), chunks, first));
      const int socket = sockets[p].back()->fd();
      program_->give(p, queue, socket);
      if (first < 0) first = socket;
    }
  }
  for (std::size_t p = 0; p < ends.size(); ++p) {
    intakes_.push_back(std::make_unique<Port>(std::move(sockets[p]), *ends[p].socket, ends[p].stride,
                                              std::uint64_t{chunks} * kChunk, p == 0, *ends[p].counters,
                                              ends[p].gather));
  }
}

}  // namespace rashpa::link::sls::xdp
