// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A pipeline of kernels on images in memory: the units and steps of a receiver without link and scheduler. For
/// notebooks, stored data and comparisons with other programs.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rashpa/core/system/doorbell.hpp"
#include "rashpa/memory/buffer.hpp"
#include "rashpa/unit/factory.hpp"

namespace rashpa::offline {

struct Config {
  unit::Choice unit{};
  unit::Pipeline pipeline{};
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  PixelType pixel = PixelType::u16;
  std::uint32_t stack = 16;                      ///< images that are processed together
  std::uint32_t stacks = 2;                      ///< stacks with room for results
  std::int64_t largest_count = kNoLargestCount;  ///< as returned by largest_count_of()
  std::optional<kernel::Masked> masked{};        ///< as unit::Layout
};

/// Images in memory of the caller, each without gaps; image i begins at `first` + i · `stride`. A null member means one
/// value for all images.
struct Images {
  const std::byte* first = nullptr;  ///< aligned to a pixel
  std::ptrdiff_t stride = 0;         ///< bytes
  std::size_t count = 0;
  std::uint64_t first_index = 0;                ///< StackImage::index of the first image
  const std::uint64_t* frame_number = nullptr;  ///< null: equal to the index
  const std::uint64_t* timestamp_ns = nullptr;  ///< null: 0
  const std::uint32_t* flags = nullptr;         ///< FrameRecord::Flag bits; null: 0
  const Completeness* completeness = nullptr;   ///< null: complete
  /// The lost lines of image i are lost[lost_first[i]] to lost[lost_first[i + 1]], excluding the last. Null: none.
  const std::uint64_t* lost_first = nullptr;
  LostRun* lost = nullptr;
};

/// Receives finished stacks of a runner. The thread that called run() makes all calls.
class Taker {
 public:
  virtual ~Taker() = default;
  /// Receives the next stack, in order, and owns it until give_back() returns it.
  virtual void take(Stack& stack) noexcept = 0;
  /// Returns a stack that is no longer needed, in any order; null when there is none.
  virtual Stack* give_back() noexcept = 0;
};

/// Runs a pipeline. The constructor takes all memory for results. One thread at a time.
class Runner {
 public:
  /// Creates the unit and memory for results. Throws as unit::make_unit() does.
  explicit Runner(const Config& config);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  /// Processes all images and waits for them. Unit cpu reads them in place, other units get copies. The results stay in
  /// results() until the next call; there is room for room() images. Throws ConfigError when there are more, StateError
  /// when the unit has failed for good.
  void run(const Images& images);
  /// Processes any number of `images`. Each stack goes to `taker`, which rings bell() when one can be returned.
  void run(const Images& images, Taker& taker);
  /// Returns the accumulation windows that ended with the last run() without a taker.
  [[nodiscard]] const Accumulated& open() const noexcept { return open_; }
  /// Returns the results of the last run() without a taker.
  [[nodiscard]] const std::vector<Stack>& results() const noexcept { return stacks_; }
  /// Returns the stack of a slot, for a taker that returns it.
  [[nodiscard]] Stack& stack(std::uint32_t slot) noexcept { return stacks_[slot]; }
  [[nodiscard]] std::size_t room() const noexcept { return std::size_t{config_.stack} * config_.stacks; }
  [[nodiscard]] const unit::Output& output() const noexcept { return unit_->output(); }
  [[nodiscard]] std::string how() const { return unit_->how(); }
  [[nodiscard]] std::size_t device_bytes() const noexcept { return unit::device_bytes_of(*unit_); }
  /// Ends the open accumulation windows and returns them, over all images since the last call; see
  /// unit::Unit::conclude().
  [[nodiscard]] Accumulated conclude() noexcept { return unit::concluded(*unit_); }
  /// Returns why the step of StackImage::failed_in failed.
  [[nodiscard]] std::string failure(std::uint8_t failed_in) const { return unit_->failure(failed_in); }
  [[nodiscard]] Doorbell& bell() noexcept { return bell_; }

 private:
  void process(const Images& images, Taker* taker);
  void fill(Stack& stack, const Images& images, std::uint64_t number) noexcept;

  Config config_;
  std::size_t image_bytes_;
  std::size_t image_stride_ = 0;  // of ring_
  memory::Buffer ring_;           // of units with memory of their own
  std::vector<Stack> stacks_;
  std::vector<bool> busy_;  // by slot
  Doorbell bell_;
  std::unique_ptr<unit::Unit> unit_;  // last: its threads use the above
  Accumulated open_{};
};

}  // namespace rashpa::offline
