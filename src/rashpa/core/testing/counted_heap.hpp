// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Counts the heap allocations of a test program. Include it in one file of the program: it defines the allocation
/// operators, and a test that the program counts.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <thread>

namespace rashpa {

namespace counted_heap {

inline std::atomic<std::uint64_t> g_taken{0};  // all threads → the test; relaxed: a number alone

inline void* take(std::size_t bytes, std::size_t alignment) {
  g_taken.fetch_add(1, std::memory_order_relaxed);
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// Not inlined: the compiler would see memory of `new` go to `free`, as intended here.
[[gnu::noinline]] inline void give(void* memory) noexcept { std::free(memory); }

}  // namespace counted_heap

/// Returns the number of allocations of all threads so far.
inline std::uint64_t heap_taken() noexcept { return counted_heap::g_taken.load(std::memory_order_relaxed); }

}  // namespace rashpa

// NOLINTBEGIN(misc-definitions-in-headers): a program has these operators once
void* operator new(std::size_t bytes) { return rashpa::counted_heap::take(bytes, alignof(std::max_align_t)); }
// GoogleTest uses it; a sanitizer has one of its own, whose memory must not come to the operators below.
void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  return rashpa::counted_heap::take(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return rashpa::counted_heap::take(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { rashpa::counted_heap::give(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { rashpa::counted_heap::give(memory); }
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept { rashpa::counted_heap::give(memory); }
void operator delete(void* memory, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
  rashpa::counted_heap::give(memory);
}
// Those of arrays, too: of a library they call the ones above, of a sanitizer they do not.
void* operator new[](std::size_t bytes) { return ::operator new(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t& tag) noexcept { return ::operator new(bytes, tag); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) { return ::operator new(bytes, alignment); }
void operator delete[](void* memory) noexcept { rashpa::counted_heap::give(memory); }
void operator delete[](void* memory, std::size_t /*bytes*/) noexcept { rashpa::counted_heap::give(memory); }
void operator delete[](void* memory, std::align_val_t /*alignment*/) noexcept { rashpa::counted_heap::give(memory); }
void operator delete[](void* memory, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
  rashpa::counted_heap::give(memory);
}
// NOLINTEND(misc-definitions-in-headers)

namespace rashpa {

TEST(CountedHeap, each_time_is_counted_in_every_thread) {
  // Called by name: a new-expression may be left out by the compiler.
  const auto take_and_give = [] {
    ::operator delete(::operator new(sizeof(int)));
    ::operator delete[](::operator new[](sizeof(int)));
    ::operator delete (::operator new (64, std::align_val_t{64}), std::align_val_t{64});
  };
  const std::uint64_t before = heap_taken();
  take_and_give();
  EXPECT_GE(heap_taken(), before + 3);
  std::uint64_t of_thread = 0;
  std::thread([&] {
    const std::uint64_t own = heap_taken();
    take_and_give();
    of_thread = heap_taken() - own;
  }).join();
  EXPECT_GE(of_thread, 3U);
}

}  // namespace rashpa
