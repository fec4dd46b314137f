/// rashpa_link_bench: our roce link, ZeroMQ, plain UDP sockets and memcpy side by side, alternating, in one run on two
/// processors.
/// `--icrc full` or `off` adds our link with the check that is the default. `--only` takes those whose name begins so.
/// `--json` writes one row a line {what, value, unit, against, against_value, ratio}; `rashpa bench link` calls it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/link/bench/peers.hpp"

namespace rashpa::link::bench {
namespace {

struct Contestant {
  const char* name;
  Result (*run)(const Load&);
  std::vector<double> rates{};
  std::uint64_t lost = 0;

  [[nodiscard]] double median() const {
    std::vector<double> sorted = rates;
    std::sort(sorted.begin(), sorted.end());
    return sorted.empty() ? 0 : sorted[sorted.size() / 2];
  }
};

roce::IcrcMode icrc_of(const std::string& name) {
  if (name == "full") return roce::IcrcMode::full;
  if (name == "modulo_id") return roce::IcrcMode::modulo_id;
  if (name == "off") return roce::IcrcMode::off;
  throw ConfigError("link_bench: no ICRC check '" + name + "'; choose full, modulo_id or off");
}

// The same link with the check that needs no packet socket, when another was asked for.
Result run_roce_modulo_id(const Load& load) {
  Load other = load;
  other.roce.icrc = roce::IcrcMode::modulo_id;
  return run_roce(other);
}

struct Arguments {
  Load load{};
  int repeats = 3;
  bool json = false;
  std::string only;
};

Arguments parse(int count, char** values) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string name = values[i];
    if (name == "--json") {
      arguments.json = true;
      continue;
    }
    if (i + 1 == count) throw ConfigError("link_bench: " + name + " needs a value");
    const std::string value = values[++i];
    if (name == "--line-bytes") {
      arguments.load.line_bytes = static_cast<std::uint32_t>(std::stoul(value));
    } else if (name == "--seconds") {
      arguments.load.seconds = std::stod(value);
    } else if (name == "--repeats") {
      arguments.repeats = std::stoi(value);
    } else if (name == "--pmtu") {
      arguments.load.roce.pmtu = static_cast<std::uint32_t>(std::stoul(value));
    } else if (name == "--window") {
      arguments.load.roce.window_bytes = std::stoul(value);
    } else if (name == "--packetisation") {
      arguments.load.roce.packetisation =
          value == "only" ? roce::Packetisation::only : roce::Packetisation::first_middle_last;
    } else if (name == "--icrc") {
      arguments.load.roce.icrc = icrc_of(value);
    } else if (name == "--only") {
      arguments.only = value;
    } else {
      throw ConfigError(
          "link_bench: no option " + name +
          "; there are --line-bytes --seconds --repeats --pmtu --window --packetisation --icrc --only --json");
    }
  }
  if (arguments.load.line_bytes == 0 || arguments.load.line_bytes > 65'000) {
    throw ConfigError("link_bench: --line-bytes must be 1 … 65000");
  }
  return arguments;
}

void row(bool json, const std::string& what, double value, const char* unit, const char* against,
         double against_value) {
  const double ratio = against_value > 0 ? value / against_value : 0;
  if (json) {
    fmt::print(
        "{{\"what\": \"{}\", \"value\": {:.3f}, \"unit\": \"{}\", \"against\": \"{}\", \"against_value\": {:.3f}, "
        "\"ratio\": {:.3f}}}\n",
        what, value, unit, against, against_value, ratio);
  } else if (against_value > 0) {
    fmt::print("{:<40} {:>9.2f} {:<6} {:>6.2f} x {} ({:.2f})\n", what, value, unit, ratio, against, against_value);
  } else {
    fmt::print("{:<40} {:>9.2f} {}\n", what, value, unit);
  }
}

int run(const Arguments& arguments) {
  std::vector<Contestant> contestants{{"roce", run_roce},
                                      {"zeromq push/pull", run_zeromq},
                                      {"udp sockets", run_udp},
                                      {"memcpy between cores", run_memcpy}};
  if (arguments.load.roce.icrc != roce::IcrcMode::modulo_id) {
    contestants.push_back({"roce icrc modulo_id", run_roce_modulo_id});
  }
  for (int repeat = 0; repeat < arguments.repeats; ++repeat) {
    for (Contestant& contestant : contestants) {
      if (!arguments.only.empty() && !std::string(contestant.name).starts_with(arguments.only)) continue;
      const Result result = contestant.run(arguments.load);
      contestant.rates.push_back(result.gigabits_per_s);
      contestant.lost += result.lost;
      fmt::print(stderr, "{:<22} {:7.2f} Gb/s, {} lines, lost {} {}\n", contestant.name, result.gigabits_per_s,
                 result.lines, result.lost, result.note);
    }
  }
  const std::string lines = fmt::format(", {} B lines", arguments.load.line_bytes);
  const Contestant& ours = contestants[0];
  for (std::size_t i = 1; i < contestants.size(); ++i) {
    row(arguments.json, "roce" + lines, ours.median(), "Gb/s", contestants[i].name, contestants[i].median());
  }
  for (const Contestant& contestant : contestants) {
    row(arguments.json, std::string(contestant.name) + " lost" + lines, static_cast<double>(contestant.lost), "lines",
        "none", 0);
  }
  return ours.lost == 0 ? 0 : 1;
}

}  // namespace
}  // namespace rashpa::link::bench

int main(int count, char** values) {
  try {
    return rashpa::link::bench::run(rashpa::link::bench::parse(count, values));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
