// SPDX-License-Identifier: Apache-2.0
#include "rashpa/receiver/sinks/named_sink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "rashpa/sink/factory.hpp"

namespace rashpa::receiver {

namespace {

/// The common functions of every sink.
const Parameters<SinkConfig>& line_parameters() {
  static const auto declared = Parameters<SinkConfig>("sink")
                                   .add({.name = "on_full", .choices = {"wait", "drop"}}, &SinkConfig::on_full)
                                   .add({.name = "queue", .least = 1, .most = 1024}, &SinkConfig::queue);
  return declared;
}

bool of_line(const NamedValue& value) {
  const std::vector<Parameter>& declared = line_parameters().declared();
  return std::any_of(declared.begin(), declared.end(),
                     [&](const Parameter& parameter) { return parameter.name == value.name; });
}

template <typename T>
concept HasMetadata = requires(T options) {
  options.metadata;
};

}  // namespace

SinkConfig named_sink(std::string_view kind, const NamedValues& values, const sink::NxmxMetadata& metadata) {
  NamedValues own = values;
  const auto line = std::stable_partition(own.begin(), own.end(), [](const NamedValue& v) { return !of_line(v); });
  const SinkConfig fed = line_parameters().read({line, own.end()});
  own.erase(line, own.end());
  sink::Options options = sink::options_named(kind, own);
  std::visit(
      [&](auto& one) {
        if constexpr (HasMetadata<std::remove_cvref_t<decltype(one)>>) one.metadata = metadata;
      },
      options);
  return SinkConfig(options, fed.on_full, fed.queue);
}

std::string sinks_json() {
  std::string out;
  for (const std::string& name : sink::sink_names()) {
    std::vector<Parameter> all = line_parameters().declared();
    const std::vector<Parameter>& own = sink::parameters_of(name);
    all.insert(all.end(), own.begin(), own.end());
    out += fmt::format("{}{{\"name\": {}, \"parameters\": {}}}", out.empty() ? "" : ",\n  ",
                       json_of(std::string_view(name)), json_of(all));
  }
  return "[\n  " + out + "\n]\n";
}

}  // namespace rashpa::receiver
