// SPDX-License-Identifier: Apache-2.0
#include "scenario.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace rashpa::simulation {

namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kLongMs = 10'000;

template <typename T, std::size_t N>
T one_of(Dice& dice, const std::array<T, N>& all) noexcept {
  return all[dice.below(N)];
}

double rate_of(Dice& dice, double often, double most) noexcept {
  return dice.chance(often) ? most * (1.0 + static_cast<double>(dice.below(100))) / 100.0 : 0;
}

void draw_shape(Dice& dice, Scenario& scenario) {
  scenario.modules = 1 + static_cast<std::uint32_t>(dice.below(3));
  scenario.width = one_of(dice, std::array{16U, 32U, 64U, 96U});
  scenario.height = one_of(dice, std::array{2U, 4U, 8U});
  scenario.bands = dice.chance(0.2) ? 2 : 1;
  scenario.emulators = scenario.modules > 1 && dice.chance(0.3) ? 2 : 1;
  scenario.frames = 1 + dice.below(dice.chance(0.2) ? 120 : 40);
  scenario.stack = one_of(dice, std::array{1U, 2U, 3U, 4U});
  scenario.slots = scenario.stack * (2 + static_cast<std::uint32_t>(dice.below(4)));
  if (dice.chance(0.15)) {
    scenario.every = 2 + dice.below(2);
    scenario.phase = dice.below(scenario.every);
    scenario.frames = std::max(scenario.frames, scenario.every);
  }
  scenario.link_threads = dice.chance(0.2) ? 2 : 1;
  scenario.rate_hz = dice.chance(0.5) ? 0 : static_cast<double>(200 + dice.below(5000));
  scenario.deadline_ms = dice.between(40, 400);
}

void draw_link(Dice& dice, Scenario& scenario) {
  auto& roce = scenario.roce;
  roce.transport =
      one_of(dice, std::array{link::Transport::uc, link::Transport::uc, link::Transport::rc, link::Transport::ud});
  roce.pmtu = one_of(dice, std::array{256U, 512U, 1024U});
  if (roce.transport != link::Transport::ud && dice.chance(0.4)) {
    roce.packetisation = link::Packetisation::first_middle_last;
  }
  // What is lost is repeated for 8.6 s: only then can a deadline not be in its way.
  if (roce.transport == link::Transport::rc && dice.chance(0.5)) scenario.deadline_ms = kLongMs;
  roce.gso = dice.chance(0.5);
  roce.socket_buffer = 1U << 20;
  roce.window_bytes = dice.chance(0.3) ? 4096 : 65'536;
  if (dice.chance(0.15)) {
    scenario.on_full = transfer::OnFull::skip;
    if (scenario.rate_hz == 0) scenario.rate_hz = 2000;
  }
  if (dice.chance(0.1)) {
    scenario.flow = link::Flow::paced;
    if (scenario.rate_hz == 0) scenario.rate_hz = 1000;
  }
}

void draw_network(Dice& dice, Scenario& scenario) {
  NetworkFaults& faults = scenario.network;
  faults.delay_ns = dice.between(1'000, 200'000);
  faults.jitter_ns = dice.chance(0.5) ? dice.between(0, 100'000) : 0;
  faults.late_ns = dice.between(1'000, 2 * kMs);
  faults.drop = rate_of(dice, 0.4, 0.1);
  faults.drop_answers = rate_of(dice, 0.3, 0.3);
  faults.corrupt = rate_of(dice, 0.3, 0.05);
  faults.duplicate = rate_of(dice, 0.25, 0.1);
  faults.reorder = rate_of(dice, 0.25, 0.1);
  faults.full = rate_of(dice, 0.3, 0.3);
  faults.gso = dice.chance(0.8);
}

void draw_sinks(Dice& dice, Scenario& scenario) {
  const std::uint64_t sinks = 1 + dice.below(2);
  for (std::uint64_t i = 0; i < sinks; ++i) {
    SinkHabit habit;
    habit.put_ns = dice.chance(0.5) ? dice.between(0, kMs) : 0;
    habit.lazy = rate_of(dice, 0.3, 0.2);
    habit.lazy_ns = dice.between(kMs, 100 * kMs);
    habit.drops = dice.chance(0.3);
    scenario.sinks.push_back(habit);
  }
  if (!dice.chance(0.15)) return;
  scenario.raw = true;
  disk::Faults& faults = scenario.disk;
  faults.write_ns = dice.between(1'000, kMs);
  faults.slow = rate_of(dice, 0.3, 0.1);
  faults.slow_ns = dice.between(kMs, 200 * kMs);
  faults.short_write = rate_of(dice, 0.4, 0.3);
  if (dice.chance(0.25)) faults.error = 0.05;
  if (dice.chance(0.2)) faults.room = dice.below(60'000);
  if (dice.chance(0.1)) faults.sync_error = 0.3;
}

void draw_orders(Dice& dice, Scenario& scenario) {
  const std::uint64_t orders = dice.chance(0.3) ? 0 : 1 + dice.below(4);
  const double span = scenario.rate_hz > 0 ? static_cast<double>(scenario.frames) * 1e9 / scenario.rate_hz : 10e6;
  for (std::uint64_t i = 0; i < orders; ++i) {
    Order order;
    order.deed = static_cast<Deed>(dice.below(static_cast<std::uint64_t>(Deed::look) + 1));
    order.at_ns = dice.between(0, static_cast<std::int64_t>(span * 1.2));
    order.ns = dice.between(0, dice.chance(0.3) ? 2 * scenario.deadline_ms * kMs : 20 * kMs);
    if (order.deed == Deed::jump) order.ns = dice.between(-3'600'000 * kMs, 3'600'000 * kMs);
    scenario.orders.push_back(order);
  }
  if (scenario.raw && dice.chance(0.4)) {
    scenario.orders.push_back(
        {.deed = Deed::lose_power, .at_ns = dice.between(0, static_cast<std::int64_t>(span * 1.5)), .ns = 0, .who = 0});
  }
  std::stable_sort(scenario.orders.begin(), scenario.orders.end(),
                   [](const Order& a, const Order& b) { return a.at_ns < b.at_ns; });
}

void draw_late_members(Dice& dice, Scenario& scenario, double span) {
  const auto any_time = [&] { return dice.between(0, static_cast<std::int64_t>(span)); };
  if (dice.chance(0.15)) {
    constexpr std::int64_t kAllocations = 80;
    scenario.orders.push_back(
        {.deed = Deed::join_short, .at_ns = any_time(), .ns = dice.between(1, kAllocations), .who = 0});
  }
  if (dice.chance(0.2)) {
    const auto who = static_cast<std::uint32_t>(dice.below(scenario.group->members));
    const std::int64_t ns = dice.between(0, 2 * std::int64_t{scenario.group->response_ms} * kMs);
    scenario.orders.push_back({.deed = Deed::restart, .at_ns = any_time(), .ns = ns, .who = who});
  }
}

// Some seeds are groups, and the others what they were before there were any.
void draw_group(Dice& dice, Scenario& scenario) {
  if (!dice.chance(0.3)) return;
  GroupShape& group = scenario.group.emplace();
  group.members = 2 + static_cast<std::uint32_t>(dice.below(3));
  group.response_ms = static_cast<std::uint32_t>(dice.between(10, 150));
  group.replay_frames = dice.chance(0.8) ? 100'000 : 1 + dice.below(scenario.frames);
  scenario.emulators = 1;
  scenario.raw = false;
  scenario.flow = link::Flow::credits;
  if (dice.chance(0.5)) scenario.frames *= 3;
  const std::array deeds{Deed::freeze_source, Deed::freeze_receiver,
                         Deed::part,          Deed::pause,
                         Deed::pace,          Deed::stop,
                         Deed::abort,         Deed::jump,
                         Deed::look,          Deed::kill_member,
                         Deed::kill_member,   Deed::kill_member,
                         Deed::give_up,       Deed::revive,
                         Deed::hold_member,   Deed::join,
                         Deed::join,          Deed::freeze_receiver};
  scenario.orders.clear();
  const double span = scenario.rate_hz > 0 ? static_cast<double>(scenario.frames) * 1e9 / scenario.rate_hz : 10e6;
  for (std::uint64_t left = dice.below(5); left > 0; --left) {
    Order order{.deed = one_of(dice, deeds), .at_ns = dice.between(0, static_cast<std::int64_t>(span * 1.3))};
    order.ns = dice.between(0, dice.chance(0.5) ? 3 * std::int64_t{group.response_ms} * kMs : 20 * kMs);
    if (order.deed == Deed::jump) order.ns = dice.between(-3'600'000 * kMs, 3'600'000 * kMs);
    order.who = static_cast<std::uint32_t>(dice.below(group.members));
    scenario.orders.push_back(order);
  }
  draw_late_members(dice, scenario, span);
  std::stable_sort(scenario.orders.begin(), scenario.orders.end(),
                   [](const Order& a, const Order& b) { return a.at_ns < b.at_ns; });
}

/// Keys that earlier seeds have not: by dice of their own, so that all seeds are the runs that they were.
void draw_keys(Dice& dice, Scenario& scenario) {
  auto& roce = scenario.roce;
  const bool corrupted = scenario.network.corrupt > 0;
  if (dice.chance(0.2)) scenario.partial = unit::PartialPolicy::veto;
  if (dice.chance(0.2)) roce.unit_bytes = std::gcd(scenario.width * 2, 64U);
  // Without records a packet that is late by a whole ring is taken for one of the image that has the slot.
  const bool in_time = scenario.network.duplicate == 0 && scenario.network.reorder == 0 &&
                       scenario.flow == link::Flow::credits && scenario.on_full == transfer::OnFull::pause &&
                       !scenario.has(Deed::freeze_source) && !scenario.has(Deed::freeze_receiver) &&
                       !scenario.has(Deed::part) && !scenario.has(Deed::pause);
  if (dice.chance(0.25) && !scenario.group && in_time) roce.records = false;
  if (dice.chance(0.15) && !corrupted && roce.records) roce.icrc = link::roce::IcrcMode::off;
  if (dice.chance(0.2)) roce.pmtu = one_of(dice, std::array{2048U, 4096U});
  if (dice.chance(0.1)) roce.window_bytes = 0;
  for (SinkHabit& sink : scenario.sinks) sink.queue = 1 + static_cast<std::uint32_t>(dice.below(6));
  scenario.raw_images = dice.chance(0.5) ? 1000 : 1 + static_cast<std::uint32_t>(dice.below(12));
  scenario.raw_in_flight = 1 + static_cast<std::uint32_t>(dice.below(dice.chance(0.5) ? 2 : 128));
}

/// Files of HDF5: of seeds that have neither members nor raw files.
void draw_hdf5(Dice& dice, Scenario& scenario) {
  if (scenario.raw || scenario.group || !dice.chance(0.06)) return;
  Hdf5Shape& files = scenario.hdf5.emplace();
  files.images_per_file = dice.chance(0.5) ? 1000 : 1 + static_cast<std::uint32_t>(dice.below(12));
  files.threads = 1 + static_cast<std::uint32_t>(dice.below(3));
  if (dice.chance(0.4)) files.series_images = scenario.stack * (1 + static_cast<std::uint32_t>(dice.below(8)));
  files.replaces = dice.chance(0.3);
  disk::Faults& faults = scenario.disk;
  faults.write_ns = dice.between(1'000, 100'000);
  faults.slow = rate_of(dice, 0.3, 0.02);
  faults.slow_ns = dice.between(kMs, 200 * kMs);
  faults.short_write = rate_of(dice, 0.4, 0.3);
  if (dice.chance(0.15)) faults.room = dice.below(400'000);
  if (dice.chance(0.15)) faults.error = 0.02;
  if (dice.chance(0.1)) faults.sync_error = 0.3;
}

using Simplify = void (*)(Scenario&);

void drop_order(Scenario& scenario, std::size_t which) {
  if (which < scenario.orders.size()) scenario.orders[which] = {.deed = Deed::look, .at_ns = 0, .ns = 0};
}

const std::vector<std::pair<std::string, Simplify>>& simplifications() {
  static const std::vector<std::pair<std::string, Simplify>> all{
      {"orders", [](Scenario& s) { s.orders.clear(); }},
      {"order1", [](Scenario& s) { drop_order(s, 0); }},
      {"order2", [](Scenario& s) { drop_order(s, 1); }},
      {"order3", [](Scenario& s) { drop_order(s, 2); }},
      {"order4", [](Scenario& s) { drop_order(s, 3); }},
      {"order5", [](Scenario& s) { drop_order(s, 4); }},
      {"order6", [](Scenario& s) { drop_order(s, 5); }},
      {"power",
       [](Scenario& s) {
         for (Order& order : s.orders) {
           if (order.deed == Deed::lose_power) order = {.deed = Deed::look, .at_ns = 0, .ns = 0};
         }
       }},
      {"drop", [](Scenario& s) { s.network.drop = 0; }},
      {"drop-answers", [](Scenario& s) { s.network.drop_answers = 0; }},
      {"corrupt", [](Scenario& s) { s.network.corrupt = 0; }},
      {"duplicate", [](Scenario& s) { s.network.duplicate = 0; }},
      {"reorder", [](Scenario& s) { s.network.reorder = 0; }},
      {"full", [](Scenario& s) { s.network.full = 0; }},
      {"jitter", [](Scenario& s) { s.network.jitter_ns = 0; }},
      {"raw", [](Scenario& s) { s.raw = false; }},
      {"hdf5", [](Scenario& s) { s.hdf5.reset(); }},
      {"series",
       [](Scenario& s) {
         if (s.hdf5) s.hdf5->series_images = 0;
       }},
      {"hdf5-files",
       [](Scenario& s) {
         if (s.hdf5) s.hdf5->images_per_file = 1000, s.hdf5->threads = 1, s.hdf5->replaces = false;
       }},
      {"disk-errors",
       [](Scenario& s) {
         s.disk.error = s.disk.short_write = s.disk.sync_error = s.disk.slow = 0;
         s.disk.room = UINT64_MAX;
       }},
      {"second-sink", [](Scenario& s) { s.sinks.resize(1); }},
      {"slow-sinks",
       [](Scenario& s) {
         for (SinkHabit& habit : s.sinks) habit.put_ns = habit.lazy_ns = 0;
       }},
      {"skip", [](Scenario& s) { s.on_full = transfer::OnFull::pause; }},
      {"paced-flow", [](Scenario& s) { s.flow = link::Flow::credits; }},
      {"modules", [](Scenario& s) { s.modules = s.emulators = 1; }},
      {"emulators", [](Scenario& s) { s.emulators = 1; }},
      {"bands", [](Scenario& s) { s.bands = 1; }},
      {"slice",
       [](Scenario& s) {
         s.every = 1;
         s.phase = 0;
       }},
      {"link-threads", [](Scenario& s) { s.link_threads = 1; }},
      {"rate", [](Scenario& s) { s.rate_hz = 0; }},
      {"gso", [](Scenario& s) { s.roce.gso = false; }},
      {"frames", [](Scenario& s) { s.frames = s.every + s.frames / 2; }},
      {"more-frames", [](Scenario& s) { s.frames = s.every + s.frames / 2; }},
      {"stack", [](Scenario& s) { s.slots = s.slots / s.stack, s.stack = 1; }},
      {"partial-veto", [](Scenario& s) { s.partial = unit::PartialPolicy::keep; }},
      {"unit-bytes", [](Scenario& s) { s.roce.unit_bytes = 0; }},
      {"no-records", [](Scenario& s) { s.roce.records = true; }},
      {"no-icrc", [](Scenario& s) { s.roce.icrc = link::roce::IcrcMode::modulo_id; }},
      {"wide-packets", [](Scenario& s) { s.roce.pmtu = std::min(s.roce.pmtu, 1024U); }},
      {"queues",
       [](Scenario& s) {
         for (SinkHabit& habit : s.sinks) habit.queue = 4;
       }},
      {"raw-files",
       [](Scenario& s) {
         s.raw_images = 1000;
         s.raw_in_flight = 16;
       }},
      {"members",
       [](Scenario& s) {
         if (s.group) s.group->members = 2;
       }},
      {"narrow-window",
       [](Scenario& s) {
         if (s.group) s.group->replay_frames = 100'000;
       }},
  };
  return all;
}

}  // namespace

bool Scenario::has(Deed deed) const noexcept {
  return std::any_of(orders.begin(), orders.end(), [&](const Order& order) { return order.deed == deed; });
}

bool Scenario::calm() const noexcept {
  const NetworkFaults& net = network;
  const bool wrong = net.drop > 0 || net.drop_answers > 0 || net.corrupt > 0 || net.duplicate > 0 || net.reorder > 0 ||
                     net.full > 0 || raw || hdf5 || on_full == transfer::OnFull::skip || flow != link::Flow::credits;
  return !wrong &&
         std::all_of(orders.begin(), orders.end(), [](const Order& order) { return order.deed == Deed::look; }) &&
         std::none_of(sinks.begin(), sinks.end(), [](const SinkHabit& sink) { return sink.lazy > 0; });
}

std::string_view name_of(Deed deed) noexcept {
  constexpr std::array<std::string_view, 19> kNames{
      "freeze_source", "freeze_receiver", "part",        "pause", "pace",       "end_here",
      "stop",          "abort",           "kill_source", "jump",  "look",       "kill_member",
      "give_up",       "revive",          "hold_member", "join",  "join_short", "restart",
      "lose_power"};
  return kNames[static_cast<std::size_t>(deed)];
}

namespace {

std::string keys_text(const Scenario& scenario) {
  std::string text;
  if (scenario.partial == unit::PartialPolicy::veto) text += ", partial images vetoed";
  if (scenario.roce.unit_bytes != 0) text += fmt::format(", lines counted by {} bytes", scenario.roce.unit_bytes);
  if (!scenario.roce.records) text += ", without records";
  if (scenario.roce.icrc == link::roce::IcrcMode::off) text += ", without ICRC";
  if (!scenario.hdf5) return text;
  const Hdf5Shape& files = *scenario.hdf5;
  text += fmt::format(", HDF5 files of {} by {} threads", files.images_per_file, files.threads);
  if (files.series_images != 0) text += fmt::format(", series of {}", files.series_images);
  if (files.replaces) text += ", existing ones replaced";
  return text;
}

}  // namespace

std::string Scenario::describe() const {
  constexpr std::array<std::string_view, 3> kTransports{"uc", "rc", "ud"};
  std::vector<std::string> deeds;
  for (const Order& order : orders) {
    deeds.push_back(fmt::format("{}{} at {:.3f} ms ({:.3f} ms)", name_of(order.deed),
                                group ? fmt::format(" {}", order.who) : "", static_cast<double>(order.at_ns) * 1e-6,
                                static_cast<double>(order.ns) * 1e-6));
  }
  const std::string dealt = group ? fmt::format("dealt among {} members, response {} ms, window {} frames, ",
                                                group->members, group->response_ms, group->replay_frames)
                                  : "";
  return fmt::format(
      "{}{} {}{}, pmtu {}, window {}, {} × {} pixels, {} modules of {} bands by {} emulators, {} frames (every {} from "
      "{}) at {} Hz, stacks of {} in {} slots, flow {}{}, deadline {} ms, {} sinks{}{}\n"
      "  network: drop {:.3f} answers {:.3f} corrupt {:.3f} duplicate {:.3f} reorder {:.3f} full {:.3f}\n"
      "  orders: {}",
      dealt, kTransports[static_cast<std::size_t>(roce.transport)],
      roce.packetisation == link::Packetisation::only ? "only" : "first_middle_last", roce.gso ? " gso" : "", roce.pmtu,
      roce.window_bytes, width, height, modules, bands, emulators, frames, every, phase, rate_hz, stack, slots,
      flow == link::Flow::credits ? "credits" : "paced", on_full == transfer::OnFull::skip ? " skip" : "", deadline_ms,
      sinks.size(), raw ? fmt::format(" and raw files of {}, {} writes at a time", raw_images, raw_in_flight) : "",
      keys_text(*this), network.drop, network.drop_answers, network.corrupt, network.duplicate, network.reorder,
      network.full, fmt::join(deeds, "; "));
}

Scenario draw(std::uint64_t seed, const std::set<std::string>& without) {
  Dice dice(seed, "scenario");
  Scenario scenario;
  scenario.seed = seed;
  draw_shape(dice, scenario);
  draw_link(dice, scenario);
  draw_network(dice, scenario);
  draw_sinks(dice, scenario);
  draw_orders(dice, scenario);
  Dice grouping(seed, "group");
  draw_group(grouping, scenario);
  Dice keys(seed, "keys");
  draw_keys(keys, scenario);
  Dice files(seed, "hdf5");
  draw_hdf5(files, scenario);
  for (const auto& [name, simplify] : simplifications()) {
    if (without.count(name) != 0) simplify(scenario);
  }
  return scenario;
}

const std::vector<std::string>& shrink_names() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names;
    for (const auto& [name, simplify] : simplifications()) names.push_back(name);
    return names;
  }();
  return all;
}

}  // namespace rashpa::simulation
