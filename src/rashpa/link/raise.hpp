#pragma once
#include <atomic>
#include <cstdint>

namespace rashpa::link {

/// Any thread: `word` becomes `value` unless it is already more. Sequentially consistent, because links compare such
/// words with a flag of theirs that says whether they sleep.
inline void raise(std::atomic<std::uint64_t>& word, std::uint64_t value) noexcept {
  std::uint64_t seen = word.load(std::memory_order_relaxed);
  while (seen < value && !word.compare_exchange_weak(seen, value, std::memory_order_seq_cst)) {
  }
}

}  // namespace rashpa::link
