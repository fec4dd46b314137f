// SPDX-License-Identifier: Apache-2.0
/// What native code says, on its way into the node's log: through one spdlog logger, to what Python takes and to a
/// file.
#include "rashpa/core/log.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/rotating_file_sink.h>

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "bindings.hpp"
#include "rashpa/core/error.hpp"

namespace rashpa::bindings {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

constexpr std::size_t kFileBytes = 10U << 20U;
constexpr std::size_t kOlderFiles = 2;

struct Message {
  double time = 0;  // seconds since 1970, UTC
  std::string level;
  std::string text;
  std::optional<std::int64_t> run, dtp, frame;
  std::string buffer;
};

std::optional<std::int64_t> known(std::int64_t value) { return value < 0 ? std::nullopt : std::optional(value); }

spdlog::level::level_enum level_of(log::Level level) {
  return static_cast<spdlog::level::level_enum>(static_cast<int>(level) + SPDLOG_LEVEL_DEBUG);
}

log::Level level_of(const std::string& name) {
  switch (spdlog::level::from_str(name)) {
    case spdlog::level::debug:
      return log::Level::debug;
    case spdlog::level::info:
      return log::Level::info;
    case spdlog::level::warn:
      return log::Level::warning;
    case spdlog::level::err:
      return log::Level::error;
    default:
      throw ConfigError(fmt::format("no log level '{}'; choose one of debug, info, warning, error", name));
  }
}

std::string text_of(spdlog::string_view_t view) { return {view.data(), view.size()}; }

/// Keeps messages until Python takes them. The logger calls it within write(), one message at a time.
class Kept final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  const log::Entry* about = nullptr;  // what the message in hand is about
  std::vector<Message> take() { return std::move(messages_); }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    using namespace std::chrono;
    Message one;
    one.time = duration<double>(message.time.time_since_epoch()).count();
    one.level = text_of(spdlog::level::to_string_view(message.level));
    one.text = text_of(message.payload);
    if (about != nullptr) {
      one.run = known(about->run);
      one.dtp = known(about->dtp);
      one.frame = known(about->frame);
      one.buffer = std::string(about->buffer());
    }
    messages_.push_back(std::move(one));
  }
  void flush_() override {}
  std::vector<Message> messages_;
};

/// The file's line begins with what the message is about.
std::string line_of(const log::Entry& entry) {
  std::string about;
  const auto add = [&](const std::string& part) { about += (about.empty() ? "" : ", ") + part; };
  if (entry.run >= 0) add(fmt::format("run {}", entry.run));
  if (!entry.buffer().empty()) add(fmt::format("buffer {}", entry.buffer()));
  if (entry.dtp >= 0) add(fmt::format("DTP {}", entry.dtp));
  if (entry.frame >= 0) add(fmt::format("frame {}", entry.frame));
  return about.empty() ? std::string(entry.text()) : fmt::format("[{}] {}", about, entry.text());
}

/// The process's own. Any thread.
class NodeLog {
 public:
  NodeLog() : kept_(std::make_shared<Kept>()), taken_("rashpa", kept_), written_("rashpa") {
    taken_.set_level(spdlog::level::trace);
    written_.set_level(spdlog::level::trace);
  }
  std::vector<Message> take() {
    const std::lock_guard lock(lock_);
    log::Entry entry;
    for (std::size_t n = 0; n < log::kRoom && log::take(entry); ++n) pass_on(entry);
    if (const std::uint64_t lost = log::take_lost(); lost > 0) {
      entry = {};
      entry.time_ns =
          std::chrono::duration_cast<std::chrono::nanoseconds>(spdlog::log_clock::now().time_since_epoch()).count();
      entry.level = log::Level::warning;
      const std::string text = fmt::format("{} messages found no room in the log's queue", lost);
      entry.length = static_cast<std::uint16_t>(text.copy(entry.characters.data(), entry.characters.size()));
      pass_on(entry);
    }
    written_.flush();
    return kept_->take();
  }
  void write_file(const std::string& path) {
    const std::lock_guard lock(lock_);
    try {
      auto file = std::make_shared<spdlog::sinks::rotating_file_sink_st>(path, kFileBytes, kOlderFiles);
      file->set_formatter(
          std::make_unique<spdlog::pattern_formatter>("%Y-%m-%dT%H:%M:%S.%eZ %-7l %v", spdlog::pattern_time_type::utc));
      written_.sinks() = {std::move(file)};
    } catch (const spdlog::spdlog_ex& error) {
      throw FileError(fmt::format("log file: {}; give a file in a folder that can be written to", error.what()));
    }
  }
  void note(const std::string& level, const std::string& text) {
    const std::lock_guard lock(lock_);
    written_.log(level_of(level_of(level)), text);
    written_.flush();
  }

 private:
  void pass_on(const log::Entry& entry) {
    using namespace std::chrono;
    const spdlog::log_clock::time_point time(duration_cast<spdlog::log_clock::duration>(nanoseconds(entry.time_ns)));
    const std::string_view text = entry.text();
    kept_->about = &entry;
    taken_.log(time, {}, level_of(entry.level), spdlog::string_view_t(text.data(), text.size()));
    kept_->about = nullptr;
    if (!written_.sinks().empty()) written_.log(time, {}, level_of(entry.level), line_of(entry));
  }

  std::mutex lock_;
  std::shared_ptr<Kept> kept_;
  spdlog::logger taken_;    // what Python takes
  spdlog::logger written_;  // the file, where there is one
};

NodeLog& node_log() {
  static NodeLog all;
  return all;
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
  m.def("take_log", [] {
    const nb::gil_scoped_release release;
    return node_log().take();
  });
  m.def(
      "log_to_file", [](const std::string& path) { node_log().write_file(path); }, "path"_a,
      nb::call_guard<nb::gil_scoped_release>());
  m.def(
      "note_in_log_file", [](const std::string& level, const std::string& text) { node_log().note(level, text); },
      "level"_a, "text"_a, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace rashpa::bindings
