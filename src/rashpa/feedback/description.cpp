// SPDX-License-Identifier: Apache-2.0
#include "rashpa/feedback/description.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

#include "rashpa/core/frame/decision.hpp"
#include "rashpa/core/parameter.hpp"
#include "rashpa/feedback/ring.hpp"

namespace rashpa::feedback {

namespace {

std::string column_json(const Column& column) {
  return fmt::format("{{\"name\": {}, \"type\": {}, \"unit\": {}, \"doc\": {}}}",
                     json_of(std::string_view(column.name)), json_of(name_of(column.type)),
                     json_of(std::string_view(column.unit)), json_of(std::string_view(column.doc)));
}

template <typename Items, typename Text>
std::string list_json(const Items& items, Text text) {
  std::vector<std::string> all;
  for (const auto& item : items) all.push_back(text(item));
  return fmt::format("[{}]", fmt::join(all, ", "));
}

std::string names_json(const std::vector<std::string>& names) {
  return list_json(names, [](const std::string& name) { return json_of(std::string_view(name)); });
}

std::string table_json(const Table& table) {
  return fmt::format("{{\"name\": {}, \"capacity\": {}, \"columns\": {}}}", json_of(std::string_view(table.name)),
                     table.capacity, list_json(table.columns, column_json));
}

}  // namespace

std::string describe(const Described& what) {
  std::vector<std::string> decisions;
  for (std::uint8_t i = 0; i < 4; ++i) decisions.emplace_back(name_of(static_cast<Decision>(i)));
  std::vector<std::string> errors;
  for (std::uint8_t i = 0; i < kErrorReasons; ++i) errors.emplace_back(name_of(static_cast<ErrorReason>(i)));
  return fmt::format(
      "{{\"format\": \"rashpa feedback\", \"version\": {}, \"run\": {}, \"buffer\": {}, \"width\": {}, \"height\": {}, "
      "\"stack\": {}, \"images\": {}, \"every\": {}, \"phase\": {}, \"completeness\": {}, \"decisions\": {}, "
      "\"veto_reasons\": {}, \"error_reasons\": {}, \"columns\": {}, \"tables\": {}}}",
      kVersion, what.run, json_of(std::string_view(what.buffer)), what.width, what.height, what.stack, what.images,
      what.slice.every, what.slice.phase, names_json({"open", "complete", "partial", "missing"}), names_json(decisions),
      names_json(what.results.reasons.names()), names_json(errors), list_json(what.results.columns, column_json),
      list_json(what.results.tables, table_json));
}

}  // namespace rashpa::feedback
