// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rashpa/kernel/contract/step.hpp"
#include "rashpa/unit/split/strips.hpp"
#include "rashpa/unit/steps.hpp"

namespace rashpa::unit::cuda {

/// The limits of vetoes that each stack has behind its order, with a room for each step with limits. Work in streams,
/// captured or enqueued ahead, reads the limits of its stack there, so a change is a copy on the host. One thread,
/// except for const functions.
class StackLimits {
 public:
  /// Computes the rooms. `begin` is the bytes of an order before the limits, a multiple of 64. `meetings`: with the
  /// bounds by which members with strips of images decide.
  StackLimits(const Steps& steps, const Layout& layout, std::size_t begin, const std::vector<Meeting>& meetings = {});

  /// Returns the bytes of an order and its limits, a multiple of 64.
  [[nodiscard]] std::size_t stride() const noexcept { return begin_ + now_.size(); }
  /// A place in those bytes, aligned to 16; nothing: the step has none.
  struct Room {
    std::size_t at = 0;
    std::size_t bytes = 0;
  };
  [[nodiscard]] const std::optional<Room>& of(std::size_t step) const noexcept { return limits_[step]; }
  [[nodiscard]] const std::optional<Room>& bounds_of(std::size_t step) const noexcept { return bounds_[step]; }

  /// New limits of a step.
  struct Change {
    std::size_t step = 0;
    kernel::LimitBytes limits;
    kernel::LimitBytes bounds;  ///< for a step on strips, whose members decide together
  };
  /// Throws ConfigError when the change does not fit its room.
  void check(const Change& change) const;
  /// Takes a change that fits. Does not allocate.
  void adopt(const Change& change) noexcept;
  /// Writes the limits behind the order of the next stack, in `slot`. Returns true when they differ from those of the
  /// previous stack; always for the first stack.
  bool write(std::uint32_t slot, std::byte* order) noexcept;
  /// Writes the present limits behind an order that is enqueued ahead.
  void write_ahead(std::byte* order) const noexcept;

 private:
  std::optional<Room> keep(const kernel::LimitBytes& bytes);
  void put(const std::optional<Room>& room, const kernel::LimitBytes& bytes) noexcept;

  std::size_t begin_;
  std::vector<std::string> names_;           // by step
  std::vector<std::optional<Room>> limits_;  // by step
  std::vector<std::optional<Room>> bounds_;  // by step
  std::vector<std::byte> now_;               // behind an order
  std::uint64_t version_ = 1;                // of now_
  std::vector<std::uint64_t> written_;       // by slot: the version there
  std::uint64_t told_ = 0;                   // of the stack before
};

}  // namespace rashpa::unit::cuda
