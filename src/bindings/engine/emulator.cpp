// SPDX-License-Identifier: Apache-2.0
/// The emulator (REMU) and its configuration.
#include "rashpa/emulator/emulator.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>

#include "bindings/bindings.hpp"
#include "bindings/engine/tables.hpp"
#include "bindings/link.hpp"
#include "bindings/named_values.hpp"
#include "bindings/names.hpp"
#include "rashpa/core/parameter.hpp"
#include "rashpa/emulator/groups.hpp"

namespace rashpa::bindings {

namespace nb = nanobind;
using namespace nb::literals;
using emulator::CardConfig;
using emulator::Config;
using emulator::Emulator;
using emulator::FaultPlan;
using emulator::RunKeys;
using emulator::SourceDtp;

namespace {

/// A DTP's status with its id, as the .pyi has it.
struct DtpStatus {
  std::uint32_t id = 0;
  transfer::DtpSourceStats stats{};
};

struct EmulatorStatus {
  std::string state;
  std::vector<DtpStatus> dtps;
  double elapsed_s = 0;
  link::Counts card{};
  std::string error{};
  std::uint64_t triggers = 0, triggers_refused = 0, frames_triggered = 0;
};

/// The emulator as Python has it.
struct BoundEmulator {
  explicit BoundEmulator(const Config& config) : engine(config) {}
  Emulator engine;

  /// Throws ConfigError of a card, which deals no images.
  [[nodiscard]] emulator::Groups& dealers() const {
    if (engine.groups() == nullptr)
      throw ConfigError("emulator: a card deals no images among receivers; use engine \"threads\" for a group");
    return *engine.groups();
  }
  [[nodiscard]] std::vector<transfer::GroupStatus> groups() const {
    std::vector<transfer::GroupStatus> all;
    const emulator::Groups* dealt = engine.groups();
    for (std::size_t i = 0; dealt != nullptr && i < dealt->size(); ++i) all.push_back(dealt->at(i).status());
    return all;
  }
  [[nodiscard]] EmulatorStatus status() const {
    const emulator::Status now = engine.status();
    EmulatorStatus out{kEmulatorStates.name(now.state),
                       {},
                       now.elapsed_s,
                       now.card,
                       now.error,
                       now.triggers,
                       now.triggers_refused,
                       now.frames_triggered};
    for (std::size_t i = 0; i < now.dtps.size(); ++i) out.dtps.push_back({now.ids[i], now.dtps[i]});
    return out;
  }
};

void bind_config(nb::module_& m) {
  nb::class_<FaultPlan>(m, "FaultPlan")
      .def(
          "__init__",
          [](FaultPlan* self, const nb::dict& values) {
            new (self) FaultPlan(emulator::fault_parameters().read(values_of("faults", values)));
          },
          "values"_a)
      .def_rw("seed", &FaultPlan::seed)
      .def_rw("dead_modules", &FaultPlan::dead_modules);

  nb::class_<RunKeys>(m, "RunKeys")
      .def(
          "__init__",
          [](RunKeys* self, const nb::dict& values) {
            new (self) RunKeys(emulator::run_parameters().read(values_of("run", values)));
          },
          "values"_a);

  const auto dtp = [](auto member) {
    return std::pair{[member](const SourceDtp& s) { return s.dtp.*member; },
                     [member](SourceDtp& s, decltype(std::declval<transfer::Dtp>().*member) v) { s.dtp.*member = v; }};
  };
  const auto id = dtp(&transfer::Dtp::id);
  const auto module = dtp(&transfer::Dtp::module);
  const auto region = dtp(&transfer::Dtp::region);
  const auto slice = dtp(&transfer::Dtp::slice);
  const auto images = dtp(&transfer::Dtp::images);
  const auto placement = dtp(&transfer::Dtp::placement);
  const auto run = dtp(&transfer::Dtp::run);
  const auto orientation = dtp(&transfer::Dtp::orientation);
  nb::class_<dataset::Reduction>(m, "Reduction")
      .def(
          "__init__",
          [](dataset::Reduction* self, const nb::dict& values, std::int64_t least, std::int64_t most,
             std::int64_t saturated, const std::optional<nb::bytes>& offset) {
            new (self) dataset::Reduction(emulator::reduction_parameters().read(values_of("reduction", values)));
            self->least = least, self->most = most, self->saturated = saturated;
            if (!offset) return;
            const auto* first = static_cast<const std::byte*>(offset->data());
            self->offset = std::make_shared<const std::vector<std::byte>>(first, first + offset->size());
          },
          "values"_a, "least"_a, "most"_a, "saturated"_a, "offset"_a.none() = nb::none());

  nb::class_<SourceDtp>(m, "SourceDtp")
      .def(nb::init<>())
      .def_prop_rw("id", id.first, id.second)
      .def_prop_rw("module", module.first, module.second)
      .def_prop_rw("region", region.first, region.second)
      .def_prop_rw("slice", slice.first, slice.second)
      .def_prop_rw("images", images.first, images.second)
      .def_prop_rw("placement", placement.first, placement.second)
      .def_prop_rw("run", run.first, run.second)
      .def_prop_rw("orientation", orientation.first, orientation.second)
      .def_rw("destination", &SourceDtp::destination)
      .def_rw("reduction", &SourceDtp::reduction)
      .def(
          "set_link",
          [](SourceDtp& s, const BoundLink& link, const std::string& destination_link) {
            s.link = emulator::SourceLink{link.options, destination_link};
          },
          "link"_a, "destination_link"_a);

  nb::class_<CardConfig>(m, "CardConfig")
      .def(nb::init<>())
      .def_prop_rw(
          "directory", [](const CardConfig& c) { return c.directory.string(); },
          [](CardConfig& c, const std::string& directory) { c.directory = directory; })
      .def_rw("mac", &CardConfig::mac)
      .def_rw("neighbours", &CardConfig::neighbours);

  nb::class_<Config>(m, "EmulatorConfig")
      .def(nb::init<>())
      .def_prop_rw(
          "dataset", [](const Config& c) { return std::const_pointer_cast<dataset::Dataset>(c.dataset); },
          [](Config& c, std::shared_ptr<dataset::Dataset> dataset) { c.dataset = std::move(dataset); })
      .def_rw("dtps", &Config::dtps)
      .def_rw("groups", &Config::groups)
      .def_prop_rw(
          "link", [](const Config& c) { return BoundLink{c.link}; },
          [](Config& c, const BoundLink& link) { c.link = link.options; })
      .def_rw("destination_link", &Config::destination_link)
      .def_rw("bind_address", &Config::bind_address)
      .def_rw("frames", &Config::frames)
      .def_prop_rw(
          "trigger", [](const Config& c) { return kTriggers.name(c.trigger); },
          [](Config& c, const std::string& name) { c.trigger = kTriggers.value(name); })
      .def_prop_rw(
          "end", [](const Config& c) { return kEnds.name(c.end); },
          [](Config& c, const std::string& name) { c.end = kEnds.value(name); })
      .def_rw("rate_hz", &Config::rate_hz)
      .def(
          "set_times",
          [](Config& c, std::vector<std::int64_t> due_ns, std::int64_t period_ns) {
            c.times = std::make_shared<transfer::Timetable>(transfer::Timetable{std::move(due_ns), period_ns});
          },
          "due_ns"_a, "period_ns"_a)
      .def_prop_rw(
          "flow", [](const Config& c) { return kFlows.name(c.flow); },
          [](Config& c, const std::string& name) { c.flow = kFlows.value(name); })
      .def_prop_rw(
          "on_full", [](const Config& c) { return kOnFull.name(c.on_full); },
          [](Config& c, const std::string& name) { c.on_full = kOnFull.value(name); })
      .def_rw("run", &Config::run)
      .def_rw("faults", &Config::faults)
      .def_rw("first_processor", &Config::first_processor)
      .def_rw("card", &Config::card, nb::arg().none());
}

}  // namespace

void bind_emulator(nb::module_& m) {
  bind_config(m);
  nb::class_<DtpStatus>(m, "DtpSourceStatus")
      .def_ro("id", &DtpStatus::id)
      .def_prop_ro("images_sent", [](const DtpStatus& s) { return s.stats.images_sent; })
      .def_prop_ro("images_skipped", [](const DtpStatus& s) { return s.stats.images_skipped; })
      .def_prop_ro("images_due", [](const DtpStatus& s) { return s.stats.images_due(); })
      .def_prop_ro("part_events", [](const DtpStatus& s) { return s.stats.part_events; })
      .def_prop_ro("payload_bytes", [](const DtpStatus& s) { return s.stats.link["payload_bytes"]; })
      .def_prop_ro("packets", [](const DtpStatus& s) { return s.stats.link["packets"]; })
      .def_prop_ro("waits", [](const DtpStatus& s) { return s.stats.link["waits"]; })
      .def_prop_ro("window_timeouts", [](const DtpStatus& s) { return s.stats.link["window_timeouts"]; })
      .def_prop_ro("send_errors", [](const DtpStatus& s) { return s.stats.link["send_errors"]; })
      .def_prop_ro("acks", [](const DtpStatus& s) { return s.stats.link["acks"]; })
      .def_prop_ro("naks", [](const DtpStatus& s) { return s.stats.link["naks"]; })
      .def_prop_ro("rnr_naks", [](const DtpStatus& s) { return s.stats.link["rnr_naks"]; })
      .def_prop_ro("retransmitted_packets", [](const DtpStatus& s) { return s.stats.link["retransmitted_packets"]; })
      .def_prop_ro("retransmission_timeouts",
                   [](const DtpStatus& s) { return s.stats.link["retransmission_timeouts"]; })
      .def_prop_ro("connection_errors", [](const DtpStatus& s) { return s.stats.link["connection_errors"]; })
      .def_prop_ro("late_ns", [](const DtpStatus& s) { return s.stats.late_ns; })
      .def_prop_ro("cnps_received", [](const DtpStatus& s) { return s.stats.link["cnps_received"]; })
      .def_prop_ro("credits_refused", [](const DtpStatus& s) { return s.stats.link["credits_refused"]; });

  nb::class_<EmulatorStatus>(m, "EmulatorStatus")
      .def_ro("state", &EmulatorStatus::state)
      .def_ro("dtps", &EmulatorStatus::dtps)
      .def_ro("elapsed_s", &EmulatorStatus::elapsed_s)
      .def_prop_ro("triggers",
                   [](const EmulatorStatus& s) {
                     nb::dict out;
                     out["accepted"] = s.triggers;
                     out["refused"] = s.triggers_refused;
                     out["frames"] = s.frames_triggered;
                     return out;
                   })
      .def_prop_ro("card", [](const EmulatorStatus& s) { return dict_of(s.card); })
      .def_ro("error", &EmulatorStatus::error);

  nb::class_<BoundEmulator>(m, "Emulator")
      .def(nb::init<const Config&>(), "config"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("endpoints", [](const BoundEmulator& e) { return e.engine.endpoints(); })
      .def(
          "start", [](BoundEmulator& e) { e.engine.start(); }, nb::call_guard<nb::gil_scoped_release>())
      .def(
          "pause", [](BoundEmulator& e, std::uint64_t frame) { e.engine.pause(frame); }, "frame"_a = 0,
          nb::call_guard<nb::gil_scoped_release>())
      .def(
          "resume", [](BoundEmulator& e, double rate_hz) { e.engine.resume(rate_hz); }, "rate_hz"_a = 0.0,
          nb::call_guard<nb::gil_scoped_release>())
      .def(
          "trigger", [](BoundEmulator& e, std::uint64_t frames) { e.engine.trigger(frames); }, "frames"_a,
          nb::call_guard<nb::gil_scoped_release>())
      .def("begun", [](const BoundEmulator& e) { return e.engine.begun(); })
      .def(
          "end_at", [](BoundEmulator& e, std::uint64_t frames) { e.engine.end_at(frames); }, "frames"_a)
      .def(
          "stop", [](BoundEmulator& e) { e.engine.stop(); }, nb::call_guard<nb::gil_scoped_release>())
      .def(
          "wait",
          [](BoundEmulator& e, double timeout_s) {
            e.engine.observe();
            return e.engine.wait(timeout_s);
          },
          "timeout_s"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("status", &BoundEmulator::status)
      .def("injected",
           [](const BoundEmulator& e) {
             const emulator::Injected n = e.engine.injected();
             nb::dict out;
             out["drop"] = n.drop;
             out["duplicate"] = n.duplicate;
             out["reorder"] = n.reorder;
             out["corrupt"] = n.corrupt;
             out["stall"] = n.stall;
             out["dead_images"] = n.dead_images;
             return out;
           })
      .def("groups", &BoundEmulator::groups, nb::call_guard<nb::gil_scoped_release>())
      .def(
          "join",
          [](BoundEmulator& e, const std::string& group, const emulator::GroupMember& member,
             const std::vector<SourceDtp>& dtps) { return e.engine.join(group, member, dtps); },
          "group"_a, "member"_a, "dtps"_a, nb::call_guard<nb::gil_scoped_release>())
      .def(
          "eject",
          [](BoundEmulator& e, const std::string& group, const std::string& member, std::uint64_t image) {
            e.dealers().eject(group, member, image);
          },
          "group"_a, "member"_a, "image"_a, nb::call_guard<nb::gil_scoped_release>())
      .def(
          "feed",
          [](BoundEmulator& e, const std::string& group, const std::string& member, bool fed) {
            e.dealers().feed(group, member, fed);
          },
          "group"_a, "member"_a, "fed"_a, nb::call_guard<nb::gil_scoped_release>())
      .def(
          "dealt",
          [](const BoundEmulator& e, const std::string& group, const std::string& member) {
            return number_table(e.dealers().dealt(group, member));
          },
          "group"_a, "member"_a)
      .def(
          "fates", [](const BoundEmulator& e, std::size_t dtp) { return byte_table(e.engine.fates(dtp)); }, "dtp"_a);
}

}  // namespace rashpa::bindings
