// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Copies of images for viewers of a run. Accepted images are copied only on request.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "rashpa/core/frame/stack.hpp"
#include "rashpa/core/image/pixel_type.hpp"
#include "rashpa/sink/output.hpp"

namespace rashpa::receiver {

/// The memory layout of an image, row-major.
struct ImageForm {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  PixelType pixel = PixelType::u16;

  [[nodiscard]] std::uint64_t bytes() const noexcept { return std::uint64_t{width} * height * pixel_bytes(pixel); }
};

/// One image with all its results.
struct Preview {
  std::uint64_t index = 0;
  std::uint64_t frame_number = 0;
  std::uint64_t timestamp_ns = 0;
  Completeness completeness = Completeness::open;
  Decision decision = Decision::none;
  VetoReason reason = VetoReason::none;
  bool arriving = false;  ///< true: the pipeline made no pixels, so the image is shown as in its slot
  ImageForm form{};
  std::vector<std::byte> pixels{};  ///< for a list: its pixels, and 0 elsewhere
  std::vector<LostRun> lost{};
  std::array<Scalar, kMostColumns> scalars{};                 ///< by column of Output::results
  std::array<std::vector<Scalar>, kMostTables> tables{};      ///< rows one after another, at most kMostRows
  std::array<std::vector<double>, kMostProfiles> profiles{};  ///< arrays one after another

  static constexpr std::uint32_t kMostRows = 1U << 14U;
};

/// Takes the memory of a copy, except for the pixels of an image that is shown as in its slot.
void reserve_for(const sink::Output& output, std::uint32_t lost_per_image, Preview& preview);
/// Copies an image; `arriving` is the form of an image in its slot.
void copy_image(const StackImage& image, const sink::Output& output, const ImageForm& arriving, Preview& into);

/// The previews of one buffer: the latest one, and memory for the next. The constructor takes all memory.
class Previews {
 public:
  Previews(const sink::Output& output, std::uint32_t lost_per_image);

  /// Copies the last accepted image of the stack when a reader has asked for one and the copy's memory is free. The
  /// distributor's thread calls it; it never waits for readers.
  void offer(const Stack& stack) {
    if (wanted_.load(std::memory_order_relaxed)) keep(stack);
  }
  /// Returns the latest copy, which does not change while it is held, and requests a new one. Null before the first
  /// accepted image. It may outlive this object. Any thread.
  [[nodiscard]] std::shared_ptr<const Preview> latest() const;

 private:
  struct Room {
    Preview preview{};
    std::uint32_t readers = 0;
  };
  struct Rooms {
    std::mutex lock;  // never held while something is copied
    std::array<Room, 2> rooms{};
    std::size_t latest = 0;
    bool filled = false;
  };

  void keep(const Stack& stack);

  sink::Output output_;
  std::shared_ptr<Rooms> rooms_;
  mutable std::atomic<bool> wanted_{true};  // so that the first request finds one; relaxed: a viewer asks the unit
};

}  // namespace rashpa::receiver
