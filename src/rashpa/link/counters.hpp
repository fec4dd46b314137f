#pragma once
#include <atomic>
#include <cstdint>

#include "rashpa/link/link.hpp"

namespace rashpa::link {

/// A count that one thread writes and any thread reads; no bus lock.
class Counter {
 public:
  void add(std::uint64_t n) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// ReceiverStats as one link thread counts them.
struct ReceiverCounters {
  Counter packets, payload_bytes, events, duplicate_packets, late_packets, overrun_packets, icrc_exact, icrc_modulo_id,
      icrc_bad, malformed, unknown_qp, wrong_source, refused_key, sequence_drops, bad_records, crc_mismatches,
      ce_packets, fecn_packets, becn_packets, cnps_sent, acks, naks, rnr_naks, sequence_gaps;

  void add_to(ReceiverStats& sum) const noexcept {
    sum.packets += packets.get();
    sum.payload_bytes += payload_bytes.get();
    sum.events += events.get();
    sum.duplicate_packets += duplicate_packets.get();
    sum.late_packets += late_packets.get();
    sum.overrun_packets += overrun_packets.get();
    sum.icrc_exact += icrc_exact.get();
    sum.icrc_modulo_id += icrc_modulo_id.get();
    sum.icrc_bad += icrc_bad.get();
    sum.malformed += malformed.get();
    sum.unknown_qp += unknown_qp.get();
    sum.wrong_source += wrong_source.get();
    sum.refused_key += refused_key.get();
    sum.sequence_drops += sequence_drops.get();
    sum.bad_records += bad_records.get();
    sum.crc_mismatches += crc_mismatches.get();
    sum.acks += acks.get();
    sum.naks += naks.get();
    sum.rnr_naks += rnr_naks.get();
    sum.sequence_gaps += sequence_gaps.get();
    sum.ce_packets += ce_packets.get();
    sum.fecn_packets += fecn_packets.get();
    sum.becn_packets += becn_packets.get();
    sum.cnps_sent += cnps_sent.get();
  }
};

}  // namespace rashpa::link
