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

/// The stacks of a lane, over and over again, and all that arrivals say of each image. Knows no time, no link and no
/// unit, and touches no pixel. One thread, unless a function says otherwise; a stack that is handed on is its new
/// owner's until it is released. Takes all memory in its constructor.
class StackRing {
 public:
  /// `config` outlives it; `guard` is set into all stacks. `compared`: proven CRC32Cs are compared again later, since
  /// sources can still write into the slots. Throws ConfigError when slots and stack do not fit.
  StackRing(const LaneConfig& config, const SlotGuard& guard, bool compared);

  [[nodiscard]] Stack& of(std::uint64_t number) noexcept { return stacks_[number % stacks_.size()]; }
  [[nodiscard]] StackImage& image(std::uint64_t index) noexcept {
    return of(index / config_.stack).images[index % config_.stack];
  }
  /// The number behind the last image of a stack, in a run of `limit` images.
  [[nodiscard]] std::uint64_t end_of(std::uint64_t number, std::uint64_t limit) const noexcept {
    return std::min((number + 1) * config_.stack, limit);
  }
  /// Returns false while the image's stack is somebody else's.
  [[nodiscard]] bool is_free(std::uint64_t index) const noexcept {
    return index / config_.stack < released_.load(std::memory_order_acquire) + stacks_.size();
  }
  /// The sources have slots for the images before that one.
  [[nodiscard]] std::uint64_t granted() const noexcept {
    return released_.load(std::memory_order_acquire) * config_.stack + config_.slots;
  }

  /// Clears the stacks up to that of an image that is_free(), below `limit`, for use.
  void open_to(std::uint64_t index, std::uint64_t limit) noexcept {
    while (opened_ <= index / config_.stack) open(opened_++, limit);
  }
  /// Returns true when the arrival is of the same frame as those that others have brought for this open image. Where
  /// records name the frames, DTPs that disagree have not brought one image.
  [[nodiscard]] bool agrees(const link::Arrival& arrival) noexcept {
    if (config_.slice != kToldByRecords || arrival.completeness == Completeness::missing) return true;
    const std::uint64_t frame = image(arrival.index).frame_number;
    return frame == kUnknownFrame || frame == arrival.record.frame_number;
  }
  /// An arrival that does not, as it counts.
  [[nodiscard]] link::Arrival refused(const link::Arrival& arrival) const noexcept;
  /// An arrival of an image that is open and with which it agrees().
  void take(std::size_t dtp, const link::Arrival& arrival) noexcept;
  /// The first loss of an image, and the DTP, as position.
  struct FirstLoss {
    std::uint32_t dtp = 0;
    link::Loss loss = link::Loss::none;
  };
  [[nodiscard]] FirstLoss first_loss(std::uint64_t index) const noexcept {
    return states_[index % config_.slots].first;
  }
  /// Closes the stack `number` of `limit` images, which gets no further ones. Each image has its completeness now.
  Stack& close(std::uint64_t number, std::uint64_t limit) noexcept;
  /// Any thread, one at a time and in order: that stack may be used again.
  void release(std::uint64_t number) noexcept { released_.store(number + 1, std::memory_order_release); }

  [[nodiscard]] std::uint32_t lost_per_image() const noexcept { return lost_per_image_; }  ///< most runs of lost lines

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
