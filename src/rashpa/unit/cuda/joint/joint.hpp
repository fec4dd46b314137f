// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The common part of a unit's devices that split images: the work of each alone is StackWork's.
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

/// Pinned memory of the host that all members see: whole result images, boxes of counts, and the word that ends all
/// waiting. Any thread.
class Joint {
 public:
  /// Pins the images of `whole`, too. `meetings`: of the members' pipeline. Throws ResourceError.
  Joint(const Layout& whole, const Output& output, std::vector<Meeting> meetings, std::uint32_t members);

  [[nodiscard]] const std::vector<Meeting>& meetings() const noexcept { return meetings_; }
  [[nodiscard]] std::uint32_t members() const noexcept { return members_; }
  /// The boxes of the members at a meeting of the stack in `slot`, one behind the other.
  [[nodiscard]] std::byte* boxes(std::size_t meeting, std::uint32_t slot) const noexcept;
  [[nodiscard]] std::uint32_t* over_word() const noexcept { return &over_.as<Word>()->value; }
  /// Whole images, one for each place; null: those of the slots leave, or none.
  [[nodiscard]] std::byte* images() const noexcept { return images_.as<std::byte>(); }
  [[nodiscard]] std::size_t image_bytes() const noexcept { return image_bytes_; }

  /// Ends all waiting: nobody waits any more, and nobody will.
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

/// The part of one member.
struct Seat {
  std::shared_ptr<Joint> joint;
  std::uint32_t member = 0;
  std::size_t first_byte = 0;  ///< of its strip in an image that comes out
  kernel::Shape whole{};       ///< of the images that come in
  kernel::Rows rows{};         ///< its strip of them
};

}  // namespace rashpa::unit::cuda
