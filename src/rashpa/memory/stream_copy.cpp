// SPDX-License-Identifier: Apache-2.0
#include "rashpa/memory/stream_copy.hpp"

#include <atomic>
#include <cstring>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "rashpa/core/checksum.hpp"

namespace rashpa::memory {

namespace {
constexpr std::size_t kBlock = 4096;    // fits the first cache twice over
constexpr std::size_t kWorthIt = 1024;  // shorter runs do not fill the processor's write-combining buffers well
constexpr std::size_t kCacheLine = 64;

/// With `ahead`, as many bytes behind `from` are on their way to the first cache when it returns. They need not exist.
template <bool ahead>
void copy(std::byte* to, std::span<const std::byte> from) noexcept {
  std::size_t at = 0;
#ifdef __SSE2__
  if (from.size() >= kWorthIt) {
    // Whole cache lines only: a part of one would cost a write to memory of its own.
    at = (kCacheLine - reinterpret_cast<std::uintptr_t>(to) % kCacheLine) % kCacheLine;
    std::memcpy(to, from.data(), at);
    for (; at + kCacheLine <= from.size(); at += kCacheLine) {
      if constexpr (ahead) {
        _mm_prefetch(reinterpret_cast<const char*>(from.data()) + from.size() + at, _MM_HINT_T0);
      }
      const auto* source = reinterpret_cast<const __m128i*>(from.data() + at);
      auto* target = reinterpret_cast<__m128i*>(to + at);
      const __m128i a = _mm_loadu_si128(source);
      const __m128i b = _mm_loadu_si128(source + 1);
      const __m128i c = _mm_loadu_si128(source + 2);
      const __m128i d = _mm_loadu_si128(source + 3);
      _mm_stream_si128(target, a);
      _mm_stream_si128(target + 1, b);
      _mm_stream_si128(target + 2, c);
      _mm_stream_si128(target + 3, d);
    }
  }
#endif
  std::memcpy(to + at, from.data() + at, from.size() - at);
}
}  // namespace

void stream_copy(std::byte* to, std::span<const std::byte> from) noexcept { copy<false>(to, from); }

std::uint32_t stream_copy_crc32c(std::byte* to, std::span<const std::byte> from, std::uint32_t crc) noexcept {
  while (!from.empty()) {
    // The first block ends where the destination's cache line does, so that all others begin on one.
    const std::size_t off = reinterpret_cast<std::uintptr_t>(to) % kCacheLine;
    // A short rest goes with the block before it, not on its own.
    const std::size_t bytes = from.size() < kBlock + kWorthIt ? from.size() : kBlock - off;
    const auto block = from.first(bytes);
    // While a block goes to memory the next one comes from there: CRC32C alone waits for neither.
    crc = crc32c(block, crc);
    copy<true>(to, block);
    to += bytes;
    from = from.subspan(bytes);
  }
  return crc;
}

void stream_fence() noexcept {
#ifdef __SSE2__
  _mm_sfence();
#else
  std::atomic_thread_fence(std::memory_order_release);
#endif
}

}  // namespace rashpa::memory
