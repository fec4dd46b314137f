// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "rashpa/core/frame/stack.hpp"
#include "rashpa/memory/buffer.hpp"
#include "rashpa/memory/ring.hpp"
#include "rashpa/sink/output.hpp"

namespace rashpa::receiver {

/// Memory for copies of whole stacks, so that a slow or stopped sink does not hold slots. The constructor takes all
/// memory. One thread takes copies, another returns them.
class StackCopies {
 public:
  /// Takes the memory. `lost_runs` is the most runs of lost lines of an image. Throws ResourceError when there is too
  /// little memory.
  StackCopies(const sink::Output& output, std::uint32_t stacks, std::uint32_t lost_runs);

  /// Copies a sink's input: facts and lost lines; for accepted images also tables, profiles, and the list, the chunk or
  /// the pixels. Windows that end with the stack are copied separately (WindowCopies). An image that was overwritten
  /// during the copy is errored in it. Returns null when no room is free.
  [[nodiscard]] Stack* take(const Stack& stack) noexcept;
  void give_back(std::uint32_t slot) noexcept { free_.push_must(&copies_[slot]); }
  [[nodiscard]] const Stack& copy(std::uint32_t slot) const noexcept { return copies_[slot]; }
  [[nodiscard]] std::uint32_t stacks() const noexcept { return static_cast<std::uint32_t>(copies_.size()); }

 private:
  void copy_tables(const StackImage& from, StackImage& to, std::size_t place) noexcept;
  void copy_profiles(const StackImage& from, StackImage& to, std::size_t place) noexcept;
  void copy_image(const Stack& stack, const StackImage& from, StackImage& to, std::size_t place) noexcept;

  std::size_t pixel_bytes_ = 0;  // of an image, when it is dense, or most of its chunk
  bool chunked_ = false;
  std::size_t list_capacity_ = 0;
  std::size_t lost_runs_ = 0;
  memory::Buffer pixels_;
  std::vector<std::uint32_t> index_;
  std::vector<std::byte> value_;
  std::size_t value_bytes_ = 0;  // of one
  std::vector<Table> tables_;
  std::array<std::vector<Scalar>, kMostTables> table_values_;
  std::vector<std::size_t> profile_values_;  // of an image, by profile
  std::array<std::vector<double>, kMostProfiles> profiles_;
  std::vector<LostRun> lost_;
  std::vector<Stack> copies_;
  memory::Ring<Stack*> free_;
};

}  // namespace rashpa::receiver
