// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The pause of a thread that polls a word which another thread will soon write.
#include <atomic>

namespace rashpa {

/// Tells the processor that this is a spinning wait: it saves power and lets the core's other thread run. Any thread.
inline void pause_spinning() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");  // `yield` returns at once on most cores
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);  // seq_cst for the compiler alone: one thread
#endif
}

}  // namespace rashpa
