// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The mapping from the detector's frame numbers to the frames of a run. Numbers begin anywhere, have 48 bits with some
/// models, jump, and restart with the detector. All ports of a receiver share one count.
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace rashpa::link::sls {

/// Returns the difference of two numbers that count modulo 2^48: positive when `number` is after `first`.
[[nodiscard]] constexpr std::int64_t distance(std::uint64_t number, std::uint64_t first) noexcept {
  constexpr unsigned kUnused = 16;
  return static_cast<std::int64_t>((number - first) << kUnused) >> kUnused;
}

/// A part of the run with consecutive numbering: `number` is frame `frame` of the run.
struct Stretch {
  std::uint64_t number = 0;
  std::uint64_t frame = 0;
};

/// The stretches of a run, shared by all ports. All threads read them without a lock; new stretches are rare.
class FrameCounts {
 public:
  /// Sets frame 0. `first` is its number; 0: the lowest number among the first datagrams of all `ports`.
  FrameCounts(std::uint64_t first, std::size_t ports);

  /// Returns true once the number of frame 0 is known.
  [[nodiscard]] bool begun() const noexcept { return count_.load(std::memory_order_acquire) != 0; }
  /// Records that the first datagram of a port, of frame `number`, came.
  void offer(std::size_t port, std::uint64_t number, std::int64_t now) noexcept;
  /// Fixes frame 0 when all ports have offered a number, or some have been silent for kPatienceNs.
  void settle(std::int64_t now) noexcept;
  /// Returns true when a port has offered a number.
  [[nodiscard]] bool offering() const noexcept { return first_offer_ns_.load() != 0; }
  [[nodiscard]] bool offered(std::size_t port) const noexcept {
    return offers_[port].load(std::memory_order_relaxed) != kNone;
  }

  [[nodiscard]] std::size_t stretches() const noexcept { return count_.load(std::memory_order_acquire); }
  [[nodiscard]] const Stretch& stretch(std::size_t at) const noexcept { return stretches_[at]; }
  /// Records that a port has seen frame `frame`.
  void raise(std::uint64_t frame) noexcept;
  /// Begins a stretch when a port finds that numbers have restarted at `number`: its frame is the first that no port
  /// has seen. `known` is the number of stretches that the port knew; when there are more by now, nothing happens.
  /// Returns false when there is no room for another.
  bool fall_back(std::uint64_t number, std::size_t known) noexcept;

  static constexpr std::int64_t kPatienceNs = 100'000'000;

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  static constexpr std::size_t kMost = 64;
  void add(const Stretch& stretch) noexcept;

  std::vector<std::atomic<std::uint64_t>> offers_;  // by port; its thread releases, the counting one acquires
  std::atomic<std::int64_t> first_offer_ns_{0};
  std::mutex adding_;
  std::array<Stretch, kMost> stretches_{};
  std::atomic<std::size_t> count_{0};  // release by the counting thread, acquire by others: stretches are complete
  alignas(64) std::atomic<std::uint64_t> seen_{0};  // frames below some port has seen
};

/// The count of one port. Only its thread uses it.
class PortCount {
 public:
  /// Creates the count. `packets` is the number of packets in a frame. The same number of old frame numbers in a row
  /// proves that the detector has restarted its count.
  PortCount(FrameCounts& counts, std::uint32_t packets) noexcept;

  /// Returns the run's frame of a packet with that number; nothing when it belongs to no frame, or its frame is not
  /// known yet.
  [[nodiscard]] std::optional<std::uint64_t> frame(std::uint64_t number) noexcept;
  /// Returns how often numbers restarted at this port.
  [[nodiscard]] std::uint64_t falls() const noexcept { return falls_; }

 private:
  [[nodiscard]] std::optional<std::uint64_t> place(std::uint64_t number, std::size_t stretch) const noexcept;
  [[nodiscard]] std::optional<std::uint64_t> behind(std::uint64_t number, std::optional<std::uint64_t> frame) noexcept;
  [[nodiscard]] std::optional<std::uint64_t> ahead(std::uint64_t frame) noexcept;

  FrameCounts* counts_;
  std::uint32_t proof_;
  std::size_t stretch_ = 0;
  bool begun_ = false;
  std::uint64_t highest_ = 0;  // frame seen
  std::uint32_t row_ = 0;      // packets in a row that lie behind
  std::uint64_t lowest_ = 0;   // number among them
  std::uint64_t last_ = 0;     // number among them
  std::uint64_t far_ = 0;      // frame of the latest packet that lies far ahead
  std::uint32_t far_packets_ = 0;
  std::uint64_t falls_ = 0;
};

}  // namespace rashpa::link::sls
