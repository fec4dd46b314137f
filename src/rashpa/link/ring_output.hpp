#pragma once
#include <atomic>
#include <chrono>
#include <thread>

#include "rashpa/core/doorbell.hpp"
#include "rashpa/link/assembly.hpp"

namespace rashpa::link {

/// Arrivals of one link thread into its ring. A full ring blocks that thread until there is room or the link stops.
class RingOutput final : public ArrivalOutput {
 public:
  RingOutput(ArrivalRing& ring, Doorbell& bell) noexcept : ring_(&ring), bell_(&bell) {}

  /// Before the thread's first arrival: what tells it to end.
  void stop_with(const std::atomic<bool>& stop) noexcept { stop_ = &stop; }
  bool emit(const Arrival& arrival) noexcept override {
    while (ring_->try_push(arrival) == memory::Push::full) {
      if (stop_->load(std::memory_order_relaxed)) return false;
      bell_->ring();
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    pushed_ = true;
    return true;
  }
  /// Rings the bell if something was pushed since the last call.
  void ring() noexcept {
    if (pushed_) bell_->ring();
    pushed_ = false;
  }

 private:
  ArrivalRing* ring_;
  Doorbell* bell_;
  const std::atomic<bool>* stop_ = nullptr;
  bool pushed_ = false;
};

}  // namespace rashpa::link
