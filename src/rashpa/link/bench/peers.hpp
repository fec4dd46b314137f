#pragma once
/// The contestants of rashpa_link_bench: each moves lines from one thread to another for a while and says how fast.
#include <cstdint>
#include <string>

#include "rashpa/link/roce/options.hpp"

namespace rashpa::link::bench {

struct Load {
  std::uint32_t line_bytes = 4096;
  double seconds = 2;
  roce::Options roce{};
  int source_processor = 0;
  int destination_processor = 1;
};

struct Result {
  double gigabits_per_s = 0;  ///< of payload
  std::uint64_t lines = 0;
  std::uint64_t lost = 0;  ///< lines sent and not received, or images not complete
  std::string note;
};

/// Our link with everything on: credits, ICRC made and checked, CRC32C made and checked, line map, frame records.
Result run_roce(const Load& load);
/// ZeroMQ push/pull over TCP loopback, one message a line, default settings. Not available without libzmq: rate 0.
Result run_zeromq(const Load& load);
/// Plain UDP sockets, one line a datagram, sendmmsg and recvmmsg of 64, no GSO, no GRO, no checksums. Loss-free by a
/// window whose news travels back over the sockets once a batch, as any loss-free protocol on them needs.
Result run_udp(const Load& load);
/// One thread copies lines into a block, the other copies them out of it.
Result run_memcpy(const Load& load);

}  // namespace rashpa::link::bench
