// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/factory/link_options.hpp"

#include <fmt/format.h>

#include <array>
#include <type_traits>
#include <utility>

#include "rashpa/core/error.hpp"

namespace rashpa::link {

namespace {

constexpr std::array<std::pair<Kind, std::string_view>, 6> kKinds{{{Kind::roce, "roce"},
                                                                   {Kind::verbs, "verbs"},
                                                                   {Kind::pcie, "pcie"},
                                                                   {Kind::fpga, "fpga"},
                                                                   {Kind::sls, "sls"},
                                                                   {Kind::stream2, "stream2"}}};
static_assert(kKinds.size() == std::variant_size_v<LinkOptions>);
static_assert(
    std::is_same_v<std::variant_alternative_t<static_cast<std::size_t>(Kind::verbs), LinkOptions>, verbs::Options>);
static_assert(
    std::is_same_v<std::variant_alternative_t<static_cast<std::size_t>(Kind::pcie), LinkOptions>, pcie::Options>);
static_assert(
    std::is_same_v<std::variant_alternative_t<static_cast<std::size_t>(Kind::fpga), LinkOptions>, fpga::Options>);
static_assert(
    std::is_same_v<std::variant_alternative_t<static_cast<std::size_t>(Kind::sls), LinkOptions>, sls::Options>);
static_assert(
    std::is_same_v<std::variant_alternative_t<static_cast<std::size_t>(Kind::stream2), LinkOptions>, stream2::Options>);

const std::vector<Parameter>& parameters_of(Kind kind) {
  switch (kind) {
    case Kind::roce:
    case Kind::fpga:  // not asked for
      break;
    case Kind::verbs:
      return verbs::parameters().declared();
    case Kind::pcie:
      return pcie::parameters().declared();
    case Kind::sls:
      return sls::parameters().declared();
    case Kind::stream2:
      return stream2::parameters().declared();
  }
  return roce::parameters().declared();
}

}  // namespace

Kind kind_of(std::string_view name) {
  for (const auto& [kind, text] : kKinds) {
    if (text == name) return kind;
  }
  throw ConfigError(fmt::format("link: no kind '{}'; choose roce, verbs, pcie, fpga, sls or stream2", name));
}

std::string_view name_of(Kind kind) noexcept {
  for (const auto& [known, name] : kKinds) {
    if (known == kind) return name;
  }
  return "unknown";
}

memory::Sharing sharing_of(Kind kind) noexcept {
  return kind == Kind::pcie ? memory::Sharing::machine : memory::Sharing::process;
}

int gpu_of(const LinkOptions& options) noexcept {
  const auto* const mapped = std::get_if<pcie::Options>(&options);
  return mapped != nullptr && mapped->engine == pcie::EngineKind::cuda ? static_cast<int>(mapped->engine_device) : -1;
}

LinkOptions options_named(std::string_view kind, const NamedValues& values) {
  switch (kind_of(kind)) {
    case Kind::roce:
      break;
    case Kind::verbs:
      return verbs::parameters().read(values);
    case Kind::pcie:
      return pcie::parameters().read(values);
    case Kind::sls:
      return sls::parameters().read(values);
    case Kind::stream2:
      return stream2::parameters().read(values);
    case Kind::fpga:
      throw ConfigError("link: fpga is no link of a run file; name the card as an emulator's, with engine = \"fpga\"");
  }
  return roce::parameters().read(values);
}

std::string links_json() {
  std::string out;
  for (const auto& [kind, name] : kKinds) {
    if (kind == Kind::fpga)
      continue;  // run files name a card as an emulator's engine, and nodes are granted it by that
    out += fmt::format("{}{{\"name\": {}, \"parameters\": {}}}", out.empty() ? "" : ",\n  ", json_of(name),
                       json_of(parameters_of(kind)));
  }
  return "[\n  " + out + "\n]\n";
}

}  // namespace rashpa::link
