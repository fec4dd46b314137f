// SPDX-License-Identifier: Apache-2.0
#include "vm_peer_arguments.hpp"

#include <fmt/format.h>

#include <charconv>
#include <sstream>

#include "rashpa/core/error.hpp"

namespace rashpa::vm {

namespace {

template <typename Number>
Number number_of(const std::string& name, const std::string& text) {
  Number value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size()) {
    throw ConfigError(fmt::format("vm_peer: --{} {}: not a number that fits; see --help", name, text));
  }
  return value;
}

template <typename Value>
Value one_of(const std::string& name, const std::string& text, const std::map<std::string, Value>& values) {
  if (const auto found = values.find(text); found != values.end()) return found->second;
  throw ConfigError(fmt::format("vm_peer: --{} has no value '{}'; see --help", name, text));
}

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream words(text);
  for (std::string part; std::getline(words, part, ',');) parts.push_back(part);
  return parts;
}

std::map<std::string, std::uint64_t> counts_of(const std::string& text) {
  std::map<std::string, std::uint64_t> counts;
  for (const std::string& part : parts_of(text)) {
    const std::size_t equal = part.find('=');
    const std::string name = part.substr(0, equal);
    if (equal == std::string::npos || (name != "complete" && name != "partial" && name != "missing")) {
      throw ConfigError(fmt::format("vm_peer: --expect {}: give complete=N,partial=N,missing=N", text));
    }
    counts[name] = number_of<std::uint64_t>("expect", part.substr(equal + 1));
  }
  return counts;
}

// How a pipeline of packets looks; false when `name` is none of these.
bool take_link(Arguments& out, const std::string& name, const std::string& value) {
  using link::Flow;
  using link::Packetisation;
  using link::Transport;
  if (name == "pmtu") {
    out.packets.pmtu = number_of<std::uint32_t>(name, value);
  } else if (name == "packetisation") {
    out.packets.packetisation = one_of<Packetisation>(
        name, value, {{"only", Packetisation::only}, {"first_middle_last", Packetisation::first_middle_last}});
  } else if (name == "transport") {
    out.packets.transport =
        one_of<Transport>(name, value, {{"uc", Transport::uc}, {"rc", Transport::rc}, {"ud", Transport::ud}});
  } else if (name == "flow") {
    out.flow = one_of<Flow>(name, value, {{"credits", Flow::credits}, {"paced", Flow::paced}});
  } else if (name == "poll") {
    out.spin = one_of<bool>(name, value, {{"event", false}, {"spin", true}});
  } else if (name == "verify") {
    out.verify = one_of<link::Verify>(
        name, value, {{"all", link::Verify::all}, {"sampled", link::Verify::sampled}, {"off", link::Verify::off}});
  } else if (name == "operation") {
    using link::verbs::Operation;
    out.operation = one_of<Operation>(name, value, {{"write", Operation::write}, {"read", Operation::read}});
  } else if (name == "paging") {
    using link::verbs::Paging;
    out.paging = one_of<Paging>(name, value, {{"pinned", Paging::pinned}, {"on_demand", Paging::on_demand}});
  } else if (name == "port") {
    out.port = number_of<std::uint16_t>(name, value);
  } else {
    return false;
  }
  return true;
}

bool take_run(Arguments& out, const std::string& name, const std::string& value) {
  const std::map<std::string, std::uint32_t*> small = {{"first-module", &out.first_module},
                                                       {"modules", &out.modules},
                                                       {"width", &out.width},
                                                       {"height", &out.height},
                                                       {"slots", &out.slots},
                                                       {"stack", &out.stack},
                                                       {"delay-exit-ms", &out.delay_exit_ms}};
  const std::map<std::string, double*> real = {
      {"rate-hz", &out.rate_hz}, {"timeout-s", &out.timeout_s}, {"fault-rate", &out.fault_rate}};
  const std::map<std::string, std::string*> text = {
      {"link", &out.link},         {"peer", &out.peer},   {"bind", &out.bind},
      {"device", &out.device},     {"card", &out.card},   {"card-mac", &out.card_mac},
      {"peer-mac", &out.peer_mac}, {"fates", &out.fates}, {"expect-fates", &out.expect_fates}};
  if (const auto found = small.find(name); found != small.end()) {
    *found->second = number_of<std::uint32_t>(name, value);
  } else if (const auto number = real.find(name); number != real.end()) {
    *number->second = number_of<double>(name, value);
  } else if (const auto words = text.find(name); words != text.end()) {
    *words->second = value;
  } else if (name == "exchange") {
    out.exchanges = parts_of(value);
  } else if (name == "frames") {
    out.frames = number_of<std::uint64_t>(name, value);
  } else if (name == "seed") {
    out.seed = number_of<std::uint64_t>(name, value);
  } else if (name == "deadline-ms") {
    out.deadline_ms = number_of<std::int64_t>(name, value);
  } else if (name == "expect") {
    out.expect = counts_of(value);
  } else if (name == "role") {
    out.role = one_of<Role>(name, value, {{"source", Role::source}, {"destination", Role::destination}});
  } else if (name == "fault") {
    out.fault = one_of<Fault>(name, value,
                              {{"none", Fault::none},
                               {"wrong-key", Fault::wrong_key},
                               {"short-buffer", Fault::short_buffer},
                               {"bad-icrc", Fault::bad_icrc}});
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::optional<Arguments> parse(int count, char** words) {
  Arguments out;
  out.packets.pmtu = 1024;
  bool role = false;
  for (int i = 1; i < count; i += 2) {
    const std::string word = words[i];
    if (word == "--help" || word == "-h") return std::nullopt;
    if (word.rfind("--", 0) != 0 || i + 1 >= count) {
      throw ConfigError(fmt::format("vm_peer: '{}': give pairs --name value; see --help", word));
    }
    const std::string name = word.substr(2);
    if (!take_link(out, name, words[i + 1]) && !take_run(out, name, words[i + 1])) {
      throw ConfigError(fmt::format("vm_peer: there is no --{}; see --help", name));
    }
    role = role || name == "role";
  }
  if (!role || out.link.empty() || out.peer.empty() || out.bind.empty() || out.exchanges.empty()) {
    throw ConfigError("vm_peer: --role, --link, --peer, --bind and --exchange are needed; see --help");
  }
  if (out.modules % out.exchanges.size() != 0) {
    throw ConfigError(fmt::format("vm_peer: --modules {} cannot be shared by {} programs at the other side",
                                  out.modules, out.exchanges.size()));
  }
  if (out.expect.empty()) out.expect["complete"] = out.frames;
  return out;
}

}  // namespace rashpa::vm
