// SPDX-License-Identifier: Apache-2.0
#include "rashpa/memory/stream_copy.hpp"

#include <atomic>
#include <cstring>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/core/system/cache_line.hpp"

namespace rashpa::memory {

namespace {
constexpr std::size_t kBlock = 4096;    // fits the first cache twice over
constexpr std::size_t kWorthIt = 1024;  // shorter runs do not fill the processor's write-combining buffers well

/// Whole cache lines, `bytes` of them, to where a line begins. Each line that is read asks for the one `ahead` bytes
/// behind it, which need not exist; 0: none.
#ifdef __SSE2__
// A store of a whole line leaves the processor at once: 1.3 x four stores of a quarter on a Xeon of the GPU machine,
// where memory is the limit.
__attribute__((target("avx512f"))) void lines_at_once(std::byte* to, const std::byte* from, std::size_t bytes,
                                                      std::size_t ahead) noexcept {
  for (std::size_t at = 0; at < bytes; at += kCacheLine) {
    if (ahead != 0) _mm_prefetch(reinterpret_cast<const char*>(from) + ahead + at, _MM_HINT_T0);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at), _mm512_loadu_si512(from + at));
  }
}

void lines_in_quarters(std::byte* to, const std::byte* from, std::size_t bytes, std::size_t ahead) noexcept {
  for (std::size_t at = 0; at < bytes; at += kCacheLine) {
    if (ahead != 0) _mm_prefetch(reinterpret_cast<const char*>(from) + ahead + at, _MM_HINT_T0);
    const auto* source = reinterpret_cast<const __m128i*>(from + at);
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

void lines(std::byte* to, const std::byte* from, std::size_t bytes, std::size_t ahead) noexcept {
  __builtin_cpu_supports("avx512f") ? lines_at_once(to, from, bytes, ahead) : lines_in_quarters(to, from, bytes, ahead);
}
#else
void lines(std::byte* to, const std::byte* from, std::size_t bytes, std::size_t /*ahead*/) noexcept {
  std::memcpy(to, from, bytes);
}
#endif

void copy(std::byte* to, std::span<const std::byte> from, std::size_t ahead) noexcept {
  std::size_t at = 0;
  if (from.size() >= kWorthIt) {
    // Whole cache lines only: a part of one would cost a write to memory of its own.
    at = (kCacheLine - reinterpret_cast<std::uintptr_t>(to) % kCacheLine) % kCacheLine;
    std::memcpy(to, from.data(), at);
    const std::size_t whole = (from.size() - at) / kCacheLine * kCacheLine;
    lines(to + at, from.data() + at, whole, ahead);
    at += whole;
  }
  std::memcpy(to + at, from.data() + at, from.size() - at);
}
}  // namespace

void stream_copy(std::byte* to, std::span<const std::byte> from) noexcept { copy(to, from, 0); }

std::uint32_t stream_copy_crc32c(std::byte* to, std::span<const std::byte> from, std::uint32_t crc) noexcept {
  while (!from.empty()) {
    // The first block ends where the destination's cache line does, so that all others begin on one.
    const std::size_t off = reinterpret_cast<std::uintptr_t>(to) % kCacheLine;
    // A short rest goes with the block before it, not on its own.
    const std::size_t bytes = from.size() < kBlock + kWorthIt ? from.size() : kBlock - off;
    const auto block = from.first(bytes);
    // While a block goes to memory the next one comes from there: CRC32C alone waits for neither.
    crc = crc32c(block, crc);
    copy(to, block, block.size());
    to += bytes;
    from = from.subspan(bytes);
  }
  return crc;
}

void stream_fence() noexcept {
#ifdef __SSE2__
  _mm_sfence();
#else
  std::atomic_thread_fence(std::memory_order_release);  // release: of the copy, for a thread that acquires behind it
#endif
}

}  // namespace rashpa::memory
