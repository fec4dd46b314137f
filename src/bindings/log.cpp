// SPDX-License-Identifier: Apache-2.0
/// Messages of native code, on their way into the node's log.
#include "rashpa/core/log.hpp"

#include <fmt/ranges.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "bindings/bindings.hpp"
#include "rashpa/core/error.hpp"

namespace rashpa::bindings {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

constexpr std::array kLevels{"debug", "info", "warning", "error"};

struct Message {
  double time = 0;  // seconds since 1970, UTC
  std::string level;
  std::string text;
  std::optional<std::int64_t> run, dtp, frame;
  std::string buffer;
};

std::optional<std::int64_t> known(std::int64_t value) { return value < 0 ? std::nullopt : std::optional(value); }

log::Level level_of(const std::string& name) {
  const auto found = std::find(kLevels.begin(), kLevels.end(), name);
  if (found == kLevels.end()) {
    throw ConfigError(fmt::format("no log level '{}'; choose one of {}", name, fmt::join(kLevels, ", ")));
  }
  return static_cast<log::Level>(found - kLevels.begin());
}

Message message_of(const log::Entry& entry) {
  return {static_cast<double>(entry.time_ns) * 1e-9,
          kLevels[static_cast<std::size_t>(entry.level)],
          std::string(entry.text()),
          known(entry.run),
          known(entry.dtp),
          known(entry.frame),
          std::string(entry.buffer())};
}

// The messages that wait now; later ones beyond the room are taken the next time.
std::vector<Message> take_log() {
  std::vector<Message> taken;
  log::Entry entry;
  for (std::size_t n = 0; n < log::kRoom && log::take(entry); ++n) taken.push_back(message_of(entry));
  if (const std::uint64_t lost = log::take_lost(); lost > 0) {
    Message message = message_of({});
    message.time = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    message.level = "warning";
    message.text = fmt::format("{} messages found no room in the log's queue", lost);
    taken.push_back(std::move(message));
  }
  return taken;
}

}  // namespace

void bind_log(nb::module_& m) {
  nb::class_<Message>(m, "LogMessage")
      .def_ro("time", &Message::time)
      .def_ro("level", &Message::level)
      .def_ro("text", &Message::text)
      .def_ro("run", &Message::run)
      .def_ro("buffer", &Message::buffer)
      .def_ro("dtp", &Message::dtp)
      .def_ro("frame", &Message::frame);
  m.def(
      "set_log_level", [](const std::string& name) { log::set_level(level_of(name)); }, "level"_a);
  m.def("take_log", &take_log, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace rashpa::bindings
