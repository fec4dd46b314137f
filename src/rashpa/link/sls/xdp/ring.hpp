// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <linux/if_xdp.h>
#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace rashpa::link::sls::xdp {

/// A ring that this process shares with the kernel. One side writes entries, the other reads them. Movable, one owner.
template <typename Entry>
class Ring {
 public:
  Ring() = default;
  /// Maps the ring of `socket`. `entries` is a power of two. Check valid() afterwards.
  Ring(int socket, const xdp_ring_offset& offsets, std::uint32_t entries, std::uint64_t place) noexcept
      : bytes_(offsets.desc + entries * sizeof(Entry)), mask_(entries - 1) {
    constexpr int kAccess = PROT_READ | PROT_WRITE;
    void* const at = mmap(nullptr, bytes_, kAccess, MAP_SHARED | MAP_POPULATE, socket, static_cast<off_t>(place));
    if (at == MAP_FAILED) return;  // NOLINT: the system's macro
    base_ = static_cast<std::byte*>(at);
    producer_ = word(offsets.producer);
    consumer_ = word(offsets.consumer);
    flags_ = word(offsets.flags);
    entries_ = reinterpret_cast<Entry*>(base_ + offsets.desc);
  }
  Ring(Ring&& other) noexcept { *this = std::move(other); }
  Ring& operator=(Ring&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(bytes_, other.bytes_);
    std::swap(mask_, other.mask_);
    std::swap(producer_, other.producer_);
    std::swap(consumer_, other.consumer_);
    std::swap(flags_, other.flags_);
    std::swap(entries_, other.entries_);
    return *this;
  }
  ~Ring() {
    if (base_ != nullptr) munmap(base_, bytes_);
  }

  [[nodiscard]] bool valid() const noexcept { return base_ != nullptr; }
  [[nodiscard]] Entry& at(std::uint32_t place) noexcept { return entries_[place & mask_]; }
  /// Returns the place behind the last entry, with the entries before it visible.
  [[nodiscard]] std::uint32_t produced() const noexcept {
    return std::atomic_ref(*producer_).load(std::memory_order_acquire);  // acquire: the kernel released its entries
  }
  /// Shows entries before `place` to the kernel.
  void produce(std::uint32_t place) noexcept {
    std::atomic_ref(*producer_).store(place, std::memory_order_release);  // release: our entries come before it
  }
  /// Tells the kernel that entries before `place` are read.
  void consume(std::uint32_t place) noexcept {
    std::atomic_ref(*consumer_).store(place, std::memory_order_release);  // release: our reads come before it
  }
  /// Returns true when the kernel wants to be called about new entries.
  [[nodiscard]] bool wants_call() const noexcept {
    // relaxed: a hint that the kernel sets; poll() before a sleep calls it in any case
    return (std::atomic_ref(*flags_).load(std::memory_order_relaxed) & XDP_RING_NEED_WAKEUP) != 0;
  }

 private:
  [[nodiscard]] std::uint32_t* word(std::uint64_t offset) const noexcept {
    return reinterpret_cast<std::uint32_t*>(base_ + offset);
  }
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint32_t mask_ = 0;
  std::uint32_t* producer_ = nullptr;
  std::uint32_t* consumer_ = nullptr;
  std::uint32_t* flags_ = nullptr;
  Entry* entries_ = nullptr;
};

}  // namespace rashpa::link::sls::xdp
