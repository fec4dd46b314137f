// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Copies of a run's first vetoed and first partial image, for viewers after the run. No file has the first, and few
/// have the second.
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "rashpa/core/frame/stack.hpp"
#include "rashpa/receiver/views/preview.hpp"
#include "rashpa/sink/output.hpp"

namespace rashpa::receiver {

/// The kind of image. vetoed: a kernel of the pipeline has refused it; partial: lines of it did not arrive, whatever
/// its decision.
enum class FirstOf : std::uint8_t { vetoed, partial };

/// Copies the first images of one buffer, each kind once. The constructor takes all memory.
class FirstImages {
 public:
  /// Takes the memory. `arriving` is the form of an image in its slot.
  FirstImages(const sink::Output& output, const ImageForm& arriving, std::uint32_t lost_per_image);

  /// Copies an image that is the first of its kind. The distributor's thread calls it.
  void offer(const Stack& stack) {
    if (awaited_ > 0) keep(stack);
  }
  /// Returns the first image of that kind, or null when there was none yet. It may outlive this object. Any thread.
  [[nodiscard]] std::shared_ptr<const Preview> first(FirstOf what) const;

 private:
  struct Room {
    Preview preview{};
    std::atomic<bool> filled{false};  // nothing changes from then on; release by the unit's thread, acquire by a viewer
  };

  void keep(const Stack& stack);

  sink::Output output_;
  ImageForm arriving_;
  std::array<std::shared_ptr<Room>, 2> rooms_{};  // by FirstOf
  std::size_t awaited_ = 2;                       // of the distributor's thread
};

}  // namespace rashpa::receiver
