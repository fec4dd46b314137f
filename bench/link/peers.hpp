// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The contestants of rashpa_link_bench: each moves lines from one thread to another for a while and says how fast.
#include <cstdint>
#include <string>

#include "rashpa/link/link.hpp"
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
/// The same with one message an image of 1 MiB (256 lines of 4 KiB), as streams of whole images do.
Result run_zeromq_images(const Load& load);
/// Plain UDP sockets, one line a datagram, sendmmsg and recvmmsg of 64, no GSO, no GRO, no checksums. Loss-free by a
/// window whose news travels back over the sockets once a batch, as any loss-free protocol on them needs.
Result run_udp(const Load& load);
/// The same with the kernel's help: datagrams of up to 64 KiB, which it cuts into lines (UDP_SEGMENT) and merges again
/// (UDP_GRO), 8 a call.
Result run_udp_gso(const Load& load);
/// One thread copies lines into a block, the other copies them out of it.
Result run_memcpy(const Load& load);
/// The same, but out of it past the caches.
Result run_stream_copy(const Load& load);

/// Our link pcie with everything on: credits, CRC32C made, frame records, lock words; images of 1 MiB in runs of 1 MiB,
/// from and to memory that is larger than the caches. `verify`: of which images the receiver reads all bytes.
Result run_pcie(const Load& load, Verify verify);
/// The floor of a DMA engine made of one core: memcpy of 1 MiB runs into a ring in the same kind of shared memory and
/// of the same size, then a flag; the other core only acknowledges, it reads no byte of them.
Result run_shared_memcpy(const Load& load);
/// The same with a copy past the caches, as the link's own.
Result run_shared_stream_copy(const Load& load);

/// Nanoseconds of single events, both cores spinning, one event at a time.
struct Latency {
  double one_way_p50 = 0, one_way_p99 = 0, one_way_max = 0;           ///< the call → the other core has seen the word
  double round_trip_p50 = 0, round_trip_p99 = 0, round_trip_max = 0;  ///< the call → its answer is back
  std::uint64_t events = 0;
};
/// Of the link: post_event() of an image of 64 bytes → its lock word seen → its arrival taken from the ring by the core
/// that sent it.
Latency pcie_latency(const Load& load, std::uint64_t events);
/// Of two bare words between the same cores, one in each direction.
Latency flag_latency(const Load& load, std::uint64_t events);

}  // namespace rashpa::link::bench
