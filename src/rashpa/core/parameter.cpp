// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/parameter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rashpa/core/error.hpp"

namespace rashpa {

namespace {

using Kind = Parameter::Kind;

std::string list_of(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

/// "an integer of 1 to 5", as the parameter allows it.
std::string wanted(const Parameter& parameter) {
  if (parameter.kind == Kind::choice) return "one of " + list_of(parameter.choices);
  if (!parameter.allowed.empty()) return fmt::format("one of {}", fmt::join(parameter.allowed, ", "));
  constexpr std::string_view kWords[] = {"true or false", "an integer", "a number", "a text", ""};
  std::string text(kWords[static_cast<std::size_t>(parameter.kind)]);
  if (parameter.least) text += fmt::format("{}{}", parameter.above ? " above " : " from ", *parameter.least);
  if (parameter.most) text += fmt::format(" up to {}", *parameter.most);
  return text;
}

bool allowed(const Parameter& parameter, std::int64_t value) {
  const auto& list = parameter.allowed;
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

bool within(const Parameter& parameter, double value) {
  if (!std::isfinite(value)) return false;
  if (parameter.least && (parameter.above ? value <= *parameter.least : value < *parameter.least)) return false;
  return !parameter.most || value <= *parameter.most;
}

bool fits(const Parameter& parameter, const ParameterValue& value) {
  switch (parameter.kind) {
    case Kind::flag:
      return std::holds_alternative<bool>(value);
    case Kind::integer:
      return std::holds_alternative<std::int64_t>(value) &&
             within(parameter, static_cast<double>(std::get<std::int64_t>(value))) &&
             allowed(parameter, std::get<std::int64_t>(value));
    case Kind::number:
      return std::holds_alternative<double>(value) && within(parameter, std::get<double>(value));
    case Kind::text:
      return std::holds_alternative<std::string>(value);
    case Kind::choice:
      break;
  }
  return std::holds_alternative<std::string>(value) &&
         std::find(parameter.choices.begin(), parameter.choices.end(), std::get<std::string>(value)) !=
             parameter.choices.end();
}

}  // namespace

std::string_view name_of(Parameter::Kind kind) noexcept {
  constexpr std::string_view names[] = {"flag", "integer", "number", "text", "choice"};
  return names[static_cast<std::size_t>(kind)];
}

ParameterValue checked(std::string_view owner, const Parameter& parameter, const ParameterValue& value) {
  ParameterValue found = value;
  if (parameter.kind == Kind::number && std::holds_alternative<std::int64_t>(value)) {
    found = static_cast<double>(std::get<std::int64_t>(value));
  }
  if (!fits(parameter, found)) {
    throw ConfigError(fmt::format("{}: {}: {} is not {}", owner, parameter.name, text_of(value), wanted(parameter)));
  }
  return found;
}

std::vector<const ParameterValue*> arrange(std::string_view owner, const std::vector<Parameter>& declared,
                                           const NamedValues& values) {
  std::vector<const ParameterValue*> given(declared.size(), nullptr);
  for (const NamedValue& named : values) {
    const auto found = std::find_if(declared.begin(), declared.end(),
                                    [&](const Parameter& parameter) { return parameter.name == named.name; });
    if (found == declared.end()) {
      std::vector<std::string> known;
      known.reserve(declared.size());
      for (const Parameter& parameter : declared) known.push_back(parameter.name);
      const std::string advice = known.empty() ? "leave it out" : "choose one of " + list_of(known);
      throw ConfigError(fmt::format("{}: {}: there is no such parameter; {}", owner, named.name, advice));
    }
    const ParameterValue*& place = given[static_cast<std::size_t>(found - declared.begin())];
    if (place != nullptr) throw ConfigError(fmt::format("{}: {}: it is given twice; give it once", owner, named.name));
    place = &named.value;
  }
  for (std::size_t i = 0; i < declared.size(); ++i) {
    if (given[i] == nullptr && !declared[i].standard) {
      throw ConfigError(fmt::format("{}: {}: it is needed and not there; give it", owner, declared[i].name));
    }
  }
  return given;
}

std::string text_of(const ParameterValue& value) {
  return std::holds_alternative<std::string>(value) ? std::get<std::string>(value) : json_of(value);
}

std::string json_of(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string json_of(const ParameterValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *integer);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  return json_of(std::string_view(std::get<std::string>(value)));
}

std::string json_of(const Parameter& parameter) {
  std::string out =
      fmt::format(R"({{"name": {}, "kind": "{}")", json_of(std::string_view(parameter.name)), name_of(parameter.kind));
  const auto number = [&](const char* key, const std::optional<double>& value) {
    if (value) out += fmt::format(R"(, "{}": {})", key, *value);
  };
  number(parameter.above ? "above" : "least", parameter.least);
  number("most", parameter.most);
  if (!parameter.choices.empty()) {
    std::vector<std::string> texts;
    for (const std::string& choice : parameter.choices) texts.push_back(json_of(std::string_view(choice)));
    out += fmt::format(R"(, "choices": [{}])", list_of(texts));
  }
  if (!parameter.allowed.empty()) out += fmt::format(R"(, "allowed": [{}])", fmt::join(parameter.allowed, ", "));
  if (!parameter.taken_from.empty()) {
    out += fmt::format(R"(, "taken_from": {})", json_of(std::string_view(parameter.taken_from)));
  } else if (parameter.standard) {
    out += R"(, "default": )" + json_of(*parameter.standard);
  }
  if (!parameter.not_above.empty()) out += R"(, "not_above": )" + json_of(std::string_view(parameter.not_above));
  if (parameter.file) out += R"(, "file": true)";
  if (parameter.pixel_value) out += R"(, "pixel_value": true)";
  if (parameter.live) out += R"(, "live": true)";
  return out + fmt::format(R"(, "doc": {}}})", json_of(std::string_view(parameter.doc)));
}

std::string json_of(const std::vector<Parameter>& parameters) {
  std::string out;
  for (const Parameter& parameter : parameters) out += (out.empty() ? "" : ", ") + json_of(parameter);
  return "[" + out + "]";
}

std::string sections_json(const std::vector<std::pair<std::string, std::vector<Parameter>>>& sections) {
  std::vector<std::string> lines;
  for (const auto& [name, keys] : sections) {
    lines.push_back(fmt::format("  {}: {}", json_of(std::string_view(name)), json_of(keys)));
  }
  return fmt::format("{{\n{}\n}}\n", fmt::join(lines, ",\n"));
}

}  // namespace rashpa
