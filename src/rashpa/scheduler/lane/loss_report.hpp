// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rashpa/core/frame/stack.hpp"
#include "rashpa/core/log.hpp"
#include "rashpa/link/link.hpp"
#include "rashpa/scheduler/lane/lane_config.hpp"

namespace rashpa::scheduler {

/// The counts of one DTP on the destination side; losses are counted in images.
struct LaneDtpStats {
  std::uint64_t complete = 0, partial = 0, missing = 0, lines_missing = 0;
  std::array<std::uint64_t, 6> losses{};  ///< number of images by link::Loss
};

/// The lowest incomplete image with its reason; `known` is set last.
struct FirstIncomplete {
  std::atomic<bool> known{false};  // release by the lane's thread, acquire by a status: the loss is complete
  std::uint64_t index = 0, frame = 0;
  std::uint32_t dtp = 0, module = 0;
  link::Loss loss = link::Loss::none;
  bool ended = false;  ///< true: it was not given up, but the run ended while it was due
};

/// The books of arrivals of one lane by DTP, the first loss, and the log of losses. It makes no decisions. One thread
/// writes, any thread reads. Only the constructor takes memory.
class LossReport {
 public:
  /// Creates empty books. `config` outlives the object.
  explicit LossReport(const LaneConfig& config);

  /// Counts an arrival. Here and below, `dtp` is the position in the lane's list.
  void count(std::size_t dtp, const link::Arrival& arrival) noexcept {
    OfDtp& of = dtps_[dtp];
    auto& counter = arrival.completeness == Completeness::complete  ? of.complete
                    : arrival.completeness == Completeness::partial ? of.partial
                                                                    : of.missing;
    // relaxed, here and below: the lane's threads count, and a status reads each counter by itself
    counter.fetch_add(1, std::memory_order_relaxed);
    of.losses[static_cast<std::size_t>(arrival.loss) % 6].fetch_add(1, std::memory_order_relaxed);
    of.lines_missing.fetch_add(arrival.lines_missing, std::memory_order_relaxed);
  }
  /// Counts `images` images of a DTP that never began as missing.
  void count_never_come(std::size_t dtp, std::uint64_t images) noexcept;
  /// Logs a few of the incomplete arrivals; `image` has the lost lines.
  void say(std::size_t dtp, const link::Arrival& arrival, const StackImage& image) noexcept;
  /// Stores the first incomplete image. Calls come in the order of images, so that the first one is the lowest. `ended`
  /// as in FirstIncomplete.
  void note_first(std::uint64_t index, std::size_t dtp, link::Loss loss, bool ended) noexcept;

  [[nodiscard]] LaneDtpStats stats(std::size_t dtp) const noexcept;               ///< any thread
  [[nodiscard]] const FirstIncomplete& first() const noexcept { return first_; }  ///< any thread

 private:
  struct OfDtp {
    // relaxed: the lane's threads count, and a status reads each counter by itself
    std::atomic<std::uint64_t> complete{0}, partial{0}, missing{0}, lines_missing{0};
    std::array<std::atomic<std::uint64_t>, 6> losses{};
    std::array<log::Limiter, 6> said{};  // by link::Loss
  };

  const LaneConfig& config_;
  std::vector<OfDtp> dtps_;
  FirstIncomplete first_;
};

}  // namespace rashpa::scheduler
