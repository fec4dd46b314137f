// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Parameters of a part of the program (a kernel, a sink, a link), declared once. The declaration provides the reading
/// of named values into the part's Config, the descriptions in Python, the schema and the reference pages. Used before
/// the run only, never on the data path.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace rashpa {

using ParameterValue = std::variant<bool, std::int64_t, double, std::string>;

struct NamedValue {
  std::string name;
  ParameterValue value;
};
using NamedValues = std::vector<NamedValue>;

struct Parameter {
  enum class Kind : std::uint8_t { flag, integer, number, text, choice };
  std::string name;
  std::string doc{};                    ///< short description; "" where the name suffices
  std::optional<double> least{};        ///< lower bound, for kinds integer and number
  bool above = false;                   ///< true: values must exceed `least`
  std::optional<double> most{};         ///< upper bound, for kinds integer and number
  std::vector<std::string> choices{};   ///< for kind choice: names in the order of the enumeration's values
  std::vector<std::int64_t> allowed{};  ///< for kind integer: the permitted values; empty: all within the bounds
  std::string taken_from{};             ///< key of the run file that provides the value when none is given
  std::string not_above{};              ///< for kind integer: name of a parameter that this one must not exceed
  bool file = false;          ///< for kind text: path of a file that a node reads at set-up, relative to the run file
  bool pixel_value = false;   ///< compared with pixels, so it must be a value that their type can hold
  bool live = false;          ///< may change during a run, at the border of two stacks
  Kind kind = Kind::integer;  ///< set by Parameters::add
  std::optional<ParameterValue> standard{};  ///< default, set by Parameters::add; none: the parameter is required
};

std::string_view name_of(Parameter::Kind kind) noexcept;

/// Returns `value` converted to the parameter's kind (an integer is valid as a number). Throws ConfigError "<owner>:
/// <name>: …" when its kind or its value is wrong.
ParameterValue checked(std::string_view owner, const Parameter& parameter, const ParameterValue& value);

/// Returns the text of a value, for messages.
std::string text_of(const ParameterValue& value);

/// Returns the JSON text of a string (with its quotes), a value or a declaration.
std::string json_of(std::string_view text);
std::string json_of(const ParameterValue& value);
std::string json_of(const Parameter& parameter);
std::string json_of(const std::vector<Parameter>& parameters);
/// Returns the content of schema/sections.json: the sections of the run file with their declared keys.
std::string sections_json(const std::vector<std::pair<std::string, std::vector<Parameter>>>& sections);

enum class Need : std::uint8_t { optional, needed };

/// The parameters of one part, each bound to a member of its Config. The defaults are those of Config.
template <class Config>
class Parameters {
 public:
  /// Begins a declaration. `owner` is the prefix of messages, such as "kernel csr".
  explicit Parameters(std::string owner) : owner_(std::move(owner)) {}

  /// Adds a parameter. `member` is a pointer to a member of Config, or a function from Config& to a reference of a
  /// nested member.
  template <typename Member>
  Parameters&& add(Parameter parameter, Member member, Need need = Need::optional) && {
    Config standard{};
    auto& held = std::invoke(member, standard);
    parameter.kind = kind_of<std::remove_reference_t<decltype(held)>>();
    if (need == Need::optional) parameter.standard = value_of(parameter, held);
    declared_.push_back(std::move(parameter));
    set_.push_back([member](Config& config, const Parameter& declared, const ParameterValue& value) {
      assign(std::invoke(member, config), declared, value);
    });
    return std::move(*this);
  }

  /// Returns a Config of `values`, with defaults for absent ones. Throws ConfigError that names the key.
  [[nodiscard]] Config read(const NamedValues& values) const {
    Config config{};
    const std::vector<const ParameterValue*> given = arrange(values);
    for (std::size_t i = 0; i < declared_.size(); ++i) {
      if (given[i] != nullptr) set_[i](config, declared_[i], checked(owner_, declared_[i], *given[i]));
    }
    return config;
  }
  [[nodiscard]] const std::vector<Parameter>& declared() const noexcept { return declared_; }

 private:
  template <typename T>
  static constexpr Parameter::Kind kind_of() noexcept {
    if constexpr (std::is_same_v<T, bool>) return Parameter::Kind::flag;
    if constexpr (std::is_enum_v<T>) return Parameter::Kind::choice;
    if constexpr (std::is_integral_v<T>) return Parameter::Kind::integer;
    if constexpr (std::is_floating_point_v<T>) return Parameter::Kind::number;
    return Parameter::Kind::text;
  }
  template <typename T>
  static ParameterValue value_of(const Parameter& parameter, const T& value) {
    if constexpr (std::is_enum_v<T>) {
      return parameter.choices.at(static_cast<std::size_t>(value));
    } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      return static_cast<std::int64_t>(value);
    } else {
      return value;
    }
  }
  template <typename T>
  static void assign(T& member, const Parameter& parameter, const ParameterValue& value) {
    if constexpr (std::is_enum_v<T>) {
      const auto& text = std::get<std::string>(value);
      for (std::size_t i = 0; i < parameter.choices.size(); ++i) {
        if (parameter.choices[i] == text) member = static_cast<T>(i);
      }
    } else if constexpr (std::is_same_v<T, bool> || std::is_floating_point_v<T> || !std::is_arithmetic_v<T>) {
      member = std::get<T>(value);
    } else {
      member = static_cast<T>(std::get<std::int64_t>(value));
    }
  }
  /// Returns the given value of each declared parameter, or null. Throws ConfigError for unknown, doubled and missing
  /// names.
  [[nodiscard]] std::vector<const ParameterValue*> arrange(const NamedValues& values) const;

  std::string owner_;
  std::vector<Parameter> declared_;
  std::vector<std::function<void(Config&, const Parameter&, const ParameterValue&)>> set_;
};

/// Arranges `values` as Parameters::arrange does, for the given owner and declaration.
std::vector<const ParameterValue*> arrange(std::string_view owner, const std::vector<Parameter>& declared,
                                           const NamedValues& values);

template <class Config>
std::vector<const ParameterValue*> Parameters<Config>::arrange(const NamedValues& values) const {
  return rashpa::arrange(owner_, declared_, values);
}

}  // namespace rashpa
