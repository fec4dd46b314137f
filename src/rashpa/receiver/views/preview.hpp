// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Copies of images, for viewers of a run. Those of accepted ones are made on request, never by themselves.
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

/// Describes how an image lies in memory, row-major.
struct ImageForm {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  PixelType pixel = PixelType::u16;

  [[nodiscard]] std::uint64_t bytes() const noexcept { return std::uint64_t{width} * height * pixel_bytes(pixel); }
};

/// One image with all that its pipeline found.
struct Preview {
  std::uint64_t index = 0;
  std::uint64_t frame_number = 0;
  std::uint64_t timestamp_ns = 0;
  Completeness completeness = Completeness::open;
  Decision decision = Decision::none;
  VetoReason reason = VetoReason::none;
  bool arriving = false;  ///< the pipeline has made nothing of it: it is shown as it lies in its slot
  ImageForm form{};
  std::vector<std::byte> pixels{};  ///< of a list: its pixels, and 0 elsewhere
  std::vector<LostRun> lost{};
  std::array<Scalar, kMostColumns> scalars{};                 ///< by column of Output::results
  std::array<std::vector<Scalar>, kMostTables> tables{};      ///< rows one after the other, kMostRows at most
  std::array<std::vector<double>, kMostProfiles> profiles{};  ///< arrays one after the other

  static constexpr std::uint32_t kMostRows = 1U << 14U;
};

/// Takes the memory of a copy, but for that of an image which is shown as it lies in its slot.
void reserve_for(const sink::Output& output, std::uint32_t lost_per_image, Preview& preview);
/// `arriving`: of the image in its slot.
void copy_image(const StackImage& image, const sink::Output& output, const ImageForm& arriving, Preview& into);

/// The previews of one buffer: the latest, and room for the next. All memory is taken by the constructor.
class Previews {
 public:
  Previews(const sink::Output& output, std::uint32_t lost_per_image);

  /// Copies the last accepted image of the stack when a reader has asked for one and the copy's memory is free. The
  /// distributor's thread calls it; it never waits for readers.
  void offer(const Stack& stack) {
    if (wanted_.load(std::memory_order_relaxed)) keep(stack);
  }
  /// The latest copy, which does not change while it is held, and asks for a fresh one. Null before the first accepted
  /// image. May outlive this object. Any thread.
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
