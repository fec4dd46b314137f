// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Keys of the run file's sections that are the emulator's, each declared once. The models of the run file, telegrams,
/// their schema, the reference page and the reading of values follow from the declaration (tools/make_kernels.py).
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rashpa {
template <class Config>
class Parameters;
}  // namespace rashpa

namespace rashpa::emulator {

/// Keys of [run]. None is the emulator's alone yet: frames and number come with its orders.
struct RunKeys {};

/// Everything that is injected, seeded and logged (docs/explanations/books.md). Probabilities are per packet; `stall`
/// per image of a DTP. A card drops and corrupts packets only, as many as its table of faults has places for.
struct FaultPlan {
  std::uint64_t seed = 0;
  double drop = 0, duplicate = 0, reorder = 0, corrupt = 0;
  double stall = 0;
  std::uint32_t stall_us = 1000;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> dead_modules;  ///< (module, first frame that is not sent)
  [[nodiscard]] bool packets() const noexcept { return drop > 0 || duplicate > 0 || reorder > 0 || corrupt > 0; }
};

/// One receiver of a group: the stack of its buffer, and the DTPs that bring it an image, by id.
struct GroupMember {
  std::string name;
  std::uint32_t stack = 1;
  std::vector<std::uint32_t> dtps;
};

/// Receivers among which images are dealt (transfer/dealer.hpp).
struct Group {
  std::string name;
  std::uint64_t replay_frames = 0;
  std::uint32_t response_ms = 100;
  std::vector<GroupMember> members;
};

const Parameters<RunKeys>& run_parameters();
/// All but `seed`, which has 64 bits, and `dead_modules`, which is a list.
const Parameters<FaultPlan>& fault_parameters();
/// All but those that a plan works out.
const Parameters<Group>& group_parameters();

/// The declared keys of each section, as JSON: the content of schema/sections.json.
std::string sections_json();

}  // namespace rashpa::emulator
