// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The first image of a run that was vetoed, and the first partial one, for viewers of the run later: no file has
/// the one, and few have the other.
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "rashpa/core/frame/stack.hpp"
#include "rashpa/receiver/views/preview.hpp"
#include "rashpa/sink/output.hpp"

namespace rashpa::receiver {

/// vetoed: a kernel of the pipeline has refused it; partial: lines of it did not arrive, whatever became of it then.
enum class FirstOf : std::uint8_t { vetoed, partial };

/// Copies the first images of one buffer. Each is copied once; from then on nothing is left to do. All memory is taken
/// by the constructor.
class FirstImages {
 public:
  /// `arriving`: of an image in its slot.
  FirstImages(const sink::Output& output, const ImageForm& arriving, std::uint32_t lost_per_image);

  /// The distributor's thread: copies what is the first of its kind.
  void offer(const Stack& stack) {
    if (awaited_ > 0) keep(stack);
  }
  /// Returns the first such image; null when there was none yet. May outlive this object. Any thread.
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
