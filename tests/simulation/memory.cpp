// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace rashpa::simulation::memory {

namespace {

thread_local std::uint64_t t_left = 0;
thread_local bool t_failed = false;

void* take(std::size_t bytes, std::size_t alignment) {
  if (t_left > 0 && --t_left == 0) {
    t_failed = true;
    throw std::bad_alloc();
  }
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* const memory = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// Not inlined: the compiler would see memory of `new` go to `free`.
[[gnu::noinline]] void give(void* memory) noexcept { std::free(memory); }

}  // namespace

void fail_at(std::uint64_t nth) noexcept {
  t_left = nth;
  t_failed = false;
}

bool failed() noexcept { return t_failed; }

Spared::Spared() noexcept : left_(t_left) { t_left = 0; }
Spared::~Spared() { t_left = left_; }

}  // namespace rashpa::simulation::memory

namespace memory = rashpa::simulation::memory;

void* operator new(std::size_t bytes) { return memory::take(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return memory::take(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* at) noexcept { memory::give(at); }
void operator delete(void* at, std::size_t /*bytes*/) noexcept { memory::give(at); }
void operator delete(void* at, std::align_val_t /*alignment*/) noexcept { memory::give(at); }
void operator delete(void* at, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept { memory::give(at); }
