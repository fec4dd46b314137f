// SPDX-License-Identifier: Apache-2.0
#include "hand.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "rashpa/core/log.hpp"

namespace rashpa::simulation {

void sleep_until(std::int64_t ns) {
  const std::int64_t rest = ns - world::now();
  if (rest <= 0) return;
  const timespec time{rest / 1'000'000'000, rest % 1'000'000'000};
  ::nanosleep(&time, nullptr);
}

void say_logs() {
  log::Entry entry;
  while (log::take(entry)) {
    world::trace_at(static_cast<std::int64_t>(entry.time_ns) - world::wall_ns() + world::now(),
                    fmt::format("log: {}{}{}", entry.text(), entry.dtp < 0 ? "" : fmt::format(" [DTP {}]", entry.dtp),
                                entry.frame < 0 ? "" : fmt::format(" [frame {}]", entry.frame)));
  }
}

std::vector<Part> parts_of(const Scenario& scenario, std::uint32_t first_id) {
  std::vector<Part> parts;
  const std::uint32_t lines = scenario.height / scenario.bands;
  for (std::uint32_t part = 0; part < scenario.modules * scenario.bands; ++part) {
    parts.push_back({.id = first_id + part,
                     .module = part / scenario.bands,
                     .first = part % scenario.bands * lines,
                     .lines = lines,
                     .y = part * lines});
  }
  return parts;
}

receiver::BufferConfig buffer_of(const Scenario& scenario, const std::vector<Part>& parts) {
  receiver::BufferConfig buffer;
  buffer.name = "full";
  buffer.width = scenario.width;
  buffer.height = scenario.height * scenario.modules;
  buffer.slots = scenario.slots;
  buffer.stack = scenario.stack;
  buffer.slice = {scenario.every, scenario.phase};
  buffer.images = buffer.slice.images(scenario.frames);
  buffer.deadline_ms = static_cast<std::uint32_t>(scenario.deadline_ms);
  if (scenario.flow == link::Flow::credits && scenario.on_full == transfer::OnFull::pause) {
    buffer.quiet_ms = 2 * buffer.deadline_ms;
  }
  buffer.pipeline.partial = scenario.partial;
  for (const Part& part : parts) {
    buffer.dtps.push_back(
        {.id = part.id, .module = part.module, .x = 0, .y = part.y, .width = scenario.width, .height = part.lines});
  }
  return buffer;
}

receiver::Config receiver_of(const Scenario& scenario, receiver::BufferConfig buffer) {
  receiver::Config config;
  config.link_threads = std::min<std::uint32_t>(scenario.link_threads, static_cast<std::uint32_t>(buffer.dtps.size()));
  config.buffers.push_back(std::move(buffer));
  config.memory = memory::MemoryKind::pageable;
  config.link = scenario.roce;
  config.port = 0;
  config.flow = scenario.flow;
  config.run = 7;
  return config;
}

}  // namespace rashpa::simulation
