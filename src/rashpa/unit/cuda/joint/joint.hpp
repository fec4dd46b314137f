// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The common part of a unit's devices that split images; StackWork does the work of each.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "rashpa/memory/cuda/resources.hpp"
#include "rashpa/unit/cuda/control.hpp"
#include "rashpa/unit/cuda/joint/exchange.hpp"
#include "rashpa/unit/split/strips.hpp"

namespace rashpa::unit::cuda {

/// Pinned host memory that all members access: whole result images, boxes of counts, and the word that ends all
/// waiting. Any thread.
class Joint {
 public:
  /// Takes the memory, and pins the images of `whole`. `meetings` are those of the members' pipeline. Throws
  /// ResourceError.
  Joint(const Layout& whole, const Output& output, std::vector<Meeting> meetings, std::uint32_t members);

  [[nodiscard]] const std::vector<Meeting>& meetings() const noexcept { return meetings_; }
  [[nodiscard]] std::uint32_t members() const noexcept { return members_; }
  /// Returns the boxes of the members at a meeting of the stack in `slot`, one after another.
  [[nodiscard]] std::byte* boxes(std::size_t meeting, std::uint32_t slot) const noexcept;
  [[nodiscard]] std::uint32_t* over_word() const noexcept { return &over_.as<Word>()->value; }
  /// Returns whole images, one for each place; null: images leave from their slots, or not at all.
  [[nodiscard]] std::byte* images() const noexcept { return images_.as<std::byte>(); }
  [[nodiscard]] std::size_t image_bytes() const noexcept { return image_bytes_; }

  /// Ends all present and future waiting.
  void end() noexcept;
  [[nodiscard]] Over over() const noexcept {
    // acquire: a thread that sees the end sees all that the thread of `end()` did before it
    return static_cast<Over>(std::atomic_ref(*over_word()).load(std::memory_order_acquire));
  }

 private:
  memory::cuda::Pinning pinning_;
  std::vector<Meeting> meetings_;
  std::uint32_t members_;
  std::vector<std::size_t> box_bytes_;    // by meeting
  std::vector<std::size_t> first_boxes_;  // by meeting: where those of slot 0 begin
  std::size_t image_bytes_;
  memory::cuda::PinnedMemory over_, boxes_, images_;
};

/// The share of one member.
struct Seat {
  std::shared_ptr<Joint> joint;
  std::uint32_t member = 0;
  std::size_t first_byte = 0;  ///< offset of its strip in an output image
  kernel::Shape whole{};       ///< shape of the whole input images
  kernel::Rows rows{};         ///< its strip of them
};

}  // namespace rashpa::unit::cuda
