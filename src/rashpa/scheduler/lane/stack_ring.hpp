// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rashpa/core/frame/dealt.hpp"
#include "rashpa/core/frame/stack.hpp"
#include "rashpa/core/numbers/payload_sum.hpp"
#include "rashpa/link/link.hpp"
#include "rashpa/scheduler/lane/lane_config.hpp"

namespace rashpa::scheduler {

/// The ring of a lane's stacks, in which it records all facts of arrivals for each image. It knows no time, link or
/// unit, and reads no pixels. One thread, unless a function says otherwise; a submitted stack belongs to its new owner
/// until its release. The constructor takes all memory.
class StackRing {
 public:
  /// Takes all memory. `config` outlives the ring; all stacks get `guard`. `compared`: proven CRC32Cs are compared
  /// again later, since sources can still write into the slots. Throws ConfigError when slots and stack do not fit.
  StackRing(const LaneConfig& config, const SlotGuard& guard, bool compared);

  [[nodiscard]] Stack& of(std::uint64_t number) noexcept { return stacks_[number % stacks_.size()]; }
  [[nodiscard]] StackImage& image(std::uint64_t index) noexcept {
    return of(index / config_.stack).images[index % config_.stack];
  }
  /// Returns the index behind the last image of a stack, in a run of `limit` images.
  [[nodiscard]] std::uint64_t end_of(std::uint64_t number, std::uint64_t limit) const noexcept {
    return std::min((number + 1) * config_.stack, limit);
  }
  /// Returns false while another owner has the image's stack.
  [[nodiscard]] bool is_free(std::uint64_t index) const noexcept {
    return index / config_.stack < released_.load(std::memory_order_acquire) + stacks_.size();
  }
  /// Returns the index before which the sources have slots for images.
  [[nodiscard]] std::uint64_t granted() const noexcept {
    return released_.load(std::memory_order_acquire) * config_.stack + config_.slots;
  }

  /// Opens the stacks up to that of an image for which is_free() is true, below `limit`, and clears them.
  void open_to(std::uint64_t index, std::uint64_t limit) noexcept {
    while (opened_ <= index / config_.stack) open(opened_++, limit);
  }
  /// Returns true when the arrival has the same frame as earlier arrivals of this open image. Where records name the
  /// frames, DTPs that disagree did not send the same image.
  [[nodiscard]] bool agrees(const link::Arrival& arrival) noexcept {
    if (config_.slice != kToldByRecords || arrival.completeness == Completeness::missing) return true;
    const std::uint64_t frame = image(arrival.index).frame_number;
    return frame == kUnknownFrame || frame == arrival.record.frame_number;
  }
  /// Returns the arrival as missing and corrupt, the form in which it counts when agrees() is false.
  [[nodiscard]] link::Arrival refused(const link::Arrival& arrival) const noexcept;
  /// Takes an arrival of an open image for which agrees() is true.
  void take(std::size_t dtp, const link::Arrival& arrival) noexcept;
  /// The first loss of an image, with the position of its DTP.
  struct FirstLoss {
    std::uint32_t dtp = 0;
    link::Loss loss = link::Loss::none;
  };
  [[nodiscard]] FirstLoss first_loss(std::uint64_t index) const noexcept {
    return states_[index % config_.slots].first;
  }
  /// Closes stack `number` of a run of `limit` images, which gets no more arrivals. Each of its images then has a
  /// completeness.
  Stack& close(std::uint64_t number, std::uint64_t limit) noexcept;
  /// Frees a stack for reuse. Any thread, one at a time and in order.
  void release(std::uint64_t number) noexcept { released_.store(number + 1, std::memory_order_release); }

  /// most runs of lost lines of an image
  [[nodiscard]] std::uint32_t lost_per_image() const noexcept { return lost_per_image_; }

 private:
  struct ImageState {  // beside the StackImage
    std::uint32_t complete = 0, missing = 0;
    std::size_t header_dtp = 0;
    FirstLoss first;
  };
  void open(std::uint64_t number, std::uint64_t limit) noexcept;
  void add_lost(StackImage& image, std::size_t dtp, const link::Arrival& arrival) noexcept;

  const LaneConfig& config_;
  bool compared_;
  std::uint32_t lost_per_image_ = 0;
  std::vector<Stack> stacks_;
  std::vector<ImageState> states_;
  std::vector<LostRun> lost_;
  std::vector<PayloadSum> sums_;            // [image of the ring][dtp]
  std::uint64_t opened_ = 0;                // stacks before this one have been cleared for use
  std::atomic<std::uint64_t> released_{0};  // stacks; release by the thread that frees slots, acquire by the lane's
};

}  // namespace rashpa::scheduler
