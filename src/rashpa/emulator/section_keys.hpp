// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The emulator's keys in the sections of the run file, each declared once. The declaration provides the run file's
/// models, telegrams, their schema, the reference page and the reading of values (tools/make_kernels.py).
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rashpa/core/parameter.hpp"
#include "rashpa/dataset/reduction.hpp"

namespace rashpa::emulator {

/// The emulator's own keys of [run]: none yet, since frames and number come with its orders.
struct RunKeys {};

inline const Parameters<RunKeys>& run_parameters() {
  static const auto declared = Parameters<RunKeys>("run");
  return declared;
}

/// The faults to inject, seeded and logged (docs/explanations/books.md). Probabilities are per packet, `stall` per
/// image of a DTP. A card only drops and corrupts packets, up to the size of its table of faults.
struct FaultPlan {
  std::uint64_t seed = 0;
  double drop = 0, duplicate = 0, reorder = 0, corrupt = 0;
  double stall = 0;
  std::uint32_t stall_us = 1000;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> dead_modules;  ///< (module, first frame that is not sent)
  [[nodiscard]] bool packets() const noexcept { return drop > 0 || duplicate > 0 || reorder > 0 || corrupt > 0; }
};

/// Returns the parameters of faults, except `seed` (64 bits) and `dead_modules` (a list).
inline const Parameters<FaultPlan>& fault_parameters() {
  static const auto declared =
      Parameters<FaultPlan>("faults")
          .add({.name = "drop", .doc = "packets that are not sent", .least = 0, .most = 1}, &FaultPlan::drop)
          .add({.name = "duplicate", .doc = "packets that are sent twice", .least = 0, .most = 1},
               &FaultPlan::duplicate)
          .add({.name = "reorder", .doc = "packets that are sent behind a later one", .least = 0, .most = 1},
               &FaultPlan::reorder)
          .add({.name = "corrupt", .doc = "packets of which a bit is changed", .least = 0, .most = 1},
               &FaultPlan::corrupt)
          .add({.name = "stall", .doc = "images before which a DTP pauses", .least = 0, .most = 1}, &FaultPlan::stall)
          .add({.name = "stall_us", .doc = "length of such a pause", .least = 0, .most = 60'000'000},
               &FaultPlan::stall_us);
  return declared;
}

/// Returns the parameters of reductions, except the offset (a list of files) and the limits of counts.
inline const Parameters<dataset::Reduction>& reduction_parameters() {
  using dataset::Reduction;
  static const auto declared =
      Parameters<Reduction>("reduction")
          .add({.name = "threshold",
                .doc = "pixels below it become 0, behind the subtraction of the offset; 0: none",
                .least = 0,
                .most = 4294967295},
               &Reduction::threshold)
          .add({.name = "bin_x", .doc = "columns that become one", .least = 1, .most = dataset::kLargestBin},
               &Reduction::bin_x)
          .add({.name = "bin_y", .doc = "rows that become one", .least = 1, .most = dataset::kLargestBin},
               &Reduction::bin_y)
          .add({.name = "bin_by",
                .doc = "sum: of all pixels, none may lack a count; mean: of those with a count, rounded to the nearest",
                .choices = {"sum", "mean"}},
               &Reduction::bin_by);
  return declared;
}

/// A receiver of a group: the size of its stacks, and the ids of the DTPs that send it an image.
struct GroupMember {
  std::string name;
  std::uint32_t stack = 1;
  std::vector<std::uint32_t> dtps;
};

/// A group of receivers among which images are dealt (transfer/dealer.hpp).
struct Group {
  std::string name;
  std::uint64_t replay_frames = 0;
  std::uint32_t response_ms = 100;
  std::vector<GroupMember> members;
};

/// Returns the parameters of groups, except those that a plan computes.
inline const Parameters<Group>& group_parameters() {
  static const auto declared = Parameters<Group>("group").add(
      {.name = "response_ms",
       .doc = "a member that owes something and is silent for so long is given nothing more",
       .least = 1,
       .most = 600'000},
      &Group::response_ms);
  return declared;
}

}  // namespace rashpa::emulator
