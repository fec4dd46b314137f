// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>

#include "rashpa/core/error.hpp"
#include "rashpa/unit/cuda/dispatch.hpp"
#include "rashpa/unit/cuda/resident/resident.hpp"
#include "rashpa/unit/cuda/word/word.hpp"

namespace rashpa::unit::cuda {

namespace {

std::size_t stack_bytes(const Layout& layout) {
  return std::size_t{layout.stack} * layout.width * layout.height * pixel_bytes(layout.input);
}

Chosen choose_word(const Steps& steps, const Layout& layout) {
  if (const std::string why = word_refusal(steps, layout); !why.empty()) {
    throw ConfigError(fmt::format("unit: trigger word does not fit: {}; use graph", why));
  }
  if (const std::string why = resident_refusal(steps, layout); !why.empty()) {
    return {Trigger::word, fmt::format("as asked for, by graphs: the resident kernel does not fit: {}", why)};
  }
  const std::size_t dtps = layout.last_words.size();
  if (stack_bytes(layout) > kResidentPaysBytes || dtps > kResidentDtps || layout.stack * dtps > kResidentRecords) {
    return {Trigger::word, "as asked for, by graphs: stacks are large for the resident kernel"};
  }
  return {Trigger::word, "as asked for, by the resident kernel", true};
}

}  // namespace

Chosen choose(Trigger wanted, const Steps& steps, const Layout& layout) {
  if (wanted == Trigger::word) return choose_word(steps, layout);
  const auto each_time = std::find_if(steps.steps.begin(), steps.steps.end(),
                                      [](const PlannedStep& planned) { return planned.step->enqueued_each_time(); });
  if (each_time != steps.steps.end()) {
    const std::string& name = each_time->step->declaration().name;
    if (wanted != Trigger::automatic && wanted != Trigger::launch) {
      throw ConfigError(
          fmt::format("unit: trigger {} does not fit: {} is called for each stack; use launch", name_of(wanted), name));
    }
    return {Trigger::launch, fmt::format("{} is called for each stack", name)};
  }
  const std::string refusal = resident_refusal(steps, layout);
  if (wanted == Trigger::persistent && !refusal.empty()) {
    throw ConfigError(fmt::format("unit: trigger persistent does not fit: {}; use graph", refusal));
  }
  if (wanted != Trigger::automatic) return {wanted, "as asked for", wanted == Trigger::persistent};
  if (!refusal.empty()) return {Trigger::graph, fmt::format("persistent does not fit: {}", refusal)};
  if (const std::size_t bytes = stack_bytes(layout); bytes > kResidentPaysBytes) {
    return {Trigger::graph, fmt::format("a stack of {:.1f} MiB takes longer on the bus than a launch does",
                                        static_cast<double>(bytes) / 1048576.0)};
  }
  return {Trigger::persistent, "a stack is small, so that starting it would cost more than the work", true};
}

}  // namespace rashpa::unit::cuda
