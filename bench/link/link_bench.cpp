// SPDX-License-Identifier: Apache-2.0
/// rashpa_link_bench: one of our links and its peers side by side, alternating, in one run on two processors. roce
/// beside ZeroMQ with messages of lines and of images, UDP sockets without and with GSO and GRO, memcpy and a copy past
/// the caches; pcie beside both copies, and its events beside bare words between the cores.
/// `--icrc full` or `off` adds our link with the check that is the default. `--only` takes those whose name begins so.
/// `--json` writes one row a line {what, value, unit, against, against_value, ratio}; `rashpa bench link` calls it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "../rows.hpp"
#include "peers.hpp"
#include "rashpa/core/error.hpp"

namespace rashpa::link::bench {
namespace {

struct Contestant {
  const char* name;
  std::function<Result(const Load&)> run;
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
  std::string link = "roce";
  std::string only;
  std::uint64_t events = 200'000;
};

Transport transport_of(const std::string& name) {
  if (name == "uc") return Transport::uc;
  if (name == "rc") return Transport::rc;
  if (name == "ud") return Transport::ud;
  throw ConfigError("link_bench: --transport is uc, rc or ud, not " + name);
}

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
      arguments.load.roce.packetisation = value == "only" ? Packetisation::only : Packetisation::first_middle_last;
    } else if (name == "--transport") {
      arguments.load.roce.transport = transport_of(value);
    } else if (name == "--icrc") {
      arguments.load.roce.icrc = icrc_of(value);
    } else if (name == "--only") {
      arguments.only = value;
    } else if (name == "--link") {
      arguments.link = value;
    } else if (name == "--events") {
      arguments.events = std::stoul(value);
    } else {
      throw ConfigError("link_bench: no option " + name +
                        "; there are --link --line-bytes --seconds --repeats --pmtu --window --packetisation "
                        "--transport --icrc --events --only --json");
    }
  }
  if (arguments.link != "roce" && arguments.link != "pcie") {
    throw ConfigError("link_bench: --link is roce or pcie, not " + arguments.link);
  }
  if (arguments.repeats < 1 || arguments.events < 1)
    throw ConfigError("link_bench: --repeats and --events are 1 or more");
  if (arguments.load.line_bytes == 0 || arguments.load.line_bytes > 65'000) {
    throw ConfigError("link_bench: --line-bytes must be 1 … 65000");
  }
  return arguments;
}

void row(bool json, const std::string& what, double value, const char* unit, const char* against,
         double against_value) {
  measured::print({what, value, unit, against, against_value}, json);
}

void measure(const Arguments& arguments, std::vector<Contestant>& contestants) {
  for (int repeat = 0; repeat < arguments.repeats; ++repeat) {
    for (Contestant& contestant : contestants) {
      if (!arguments.only.empty() && !std::string(contestant.name).starts_with(arguments.only)) continue;
      const Result result = contestant.run(arguments.load);
      contestant.rates.push_back(result.gigabits_per_s);
      contestant.lost += result.lost;
      fmt::print(stderr, "{:<26} {:7.2f} Gb/s, {} lines, lost {} {}\n", contestant.name, result.gigabits_per_s,
                 result.lines, result.lost, result.note);
    }
  }
}

int run_roce_and_peers(const Arguments& arguments) {
  std::vector<Contestant> contestants{{"roce", run_roce},
                                      {"zeromq push/pull", run_zeromq},
                                      {"zeromq, one message an image", run_zeromq_images},
                                      {"udp sockets", run_udp},
                                      {"udp sockets, GSO and GRO", run_udp_gso},
                                      {"memcpy between cores", run_memcpy},
                                      {"streaming copy between cores", run_stream_copy}};
  if (arguments.load.roce.icrc != roce::IcrcMode::modulo_id) {
    contestants.push_back({"roce icrc modulo_id", run_roce_modulo_id});
  }
  measure(arguments, contestants);
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

// Medians of the repeats; the largest maximum.
Latency typical(std::vector<Latency> all) {
  const auto median = [&](double Latency::*member) {
    std::sort(all.begin(), all.end(), [&](const Latency& a, const Latency& b) { return a.*member < b.*member; });
    return all[all.size() / 2].*member;
  };
  const auto largest = [&](double Latency::*member) {
    const auto less = [&](const Latency& a, const Latency& b) { return a.*member < b.*member; };
    return (*std::max_element(all.begin(), all.end(), less)).*member;
  };
  return {median(&Latency::one_way_p50),
          median(&Latency::one_way_p99),
          largest(&Latency::one_way_max),
          median(&Latency::round_trip_p50),
          median(&Latency::round_trip_p99),
          largest(&Latency::round_trip_max),
          all.front().events};
}

void latency_rows(const Arguments& arguments) {
  std::vector<Latency> ours;
  std::vector<Latency> bare;
  for (int repeat = 0; repeat < arguments.repeats; ++repeat) {
    ours.push_back(pcie_latency(arguments.load, arguments.events));
    bare.push_back(flag_latency(arguments.load, arguments.events));
    fmt::print(stderr, "event p50 {:.0f} ns, bare word {:.0f} ns; round trips {:.0f} and {:.0f} ns\n",
               ours.back().one_way_p50, bare.back().one_way_p50, ours.back().round_trip_p50,
               bare.back().round_trip_p50);
  }
  const Latency event = typical(ours);
  const Latency word = typical(bare);
  const auto line = [&](const char* what, double Latency::*member) {
    row(arguments.json, what, event.*member, "ns", "bare word between cores", word.*member);
  };
  line("event: post_event to lock word seen, p50", &Latency::one_way_p50);
  line("event: post_event to lock word seen, p99", &Latency::one_way_p99);
  line("event: post_event to lock word seen, max", &Latency::one_way_max);
  line("event: post_event to arrival back at the source, p50", &Latency::round_trip_p50);
  line("event: post_event to arrival back at the source, p99", &Latency::round_trip_p99);
  line("event: post_event to arrival back at the source, max", &Latency::round_trip_max);
}

int run_pcie_and_peers(const Arguments& arguments) {
  const auto ours = [](Verify verify) { return [verify](const Load& load) { return run_pcie(load, verify); }; };
  std::vector<Contestant> contestants{{"pcie, verify off", ours(Verify::off)},
                                      {"memcpy into shared memory", run_shared_memcpy},
                                      {"streaming copy into shared memory", run_shared_stream_copy},
                                      {"pcie, verify sampled", ours(Verify::sampled)},
                                      {"pcie, verify all", ours(Verify::all)},
                                      {"memcpy between cores", run_memcpy}};
  measure(arguments, contestants);
  std::uint64_t lost = 0;
  for (const std::size_t i : {0U, 3U, 4U}) {
    const Contestant& one = contestants[i];
    const std::string what = std::string(one.name) + ", 1 MiB runs";
    for (const std::size_t peer : {1U, 2U, 5U}) {
      row(arguments.json, what, one.median(), "Gb/s", contestants[peer].name, contestants[peer].median());
    }
    lost += one.lost;
  }
  row(arguments.json, "pcie lost", static_cast<double>(lost), "images", "none", 0);
  if (arguments.only.empty()) latency_rows(arguments);
  return lost == 0 ? 0 : 1;
}

}  // namespace
}  // namespace rashpa::link::bench

int main(int count, char** values) {
  try {
    using namespace rashpa::link::bench;
    const Arguments arguments = parse(count, values);
    return arguments.link == "pcie" ? run_pcie_and_peers(arguments) : run_roce_and_peers(arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
