// SPDX-License-Identifier: Apache-2.0
/// The receiver (ROMULU) and its configuration.
#include "rashpa/receiver/receiver.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/engine/buffer_spec.hpp"
#include "bindings/engine/tables.hpp"
#include "bindings/kernel.hpp"
#include "bindings/link.hpp"
#include "bindings/named_values.hpp"
#include "bindings/names.hpp"
#include "bindings/preview.hpp"
#include "rashpa/receiver/buffers/device_buffers.hpp"

namespace rashpa::bindings {

namespace nb = nanobind;
using namespace nb::literals;
using receiver::Config;
using receiver::DtpConfig;

namespace {

/// A receiver whose threads may wait for a function in Python: the thread that frees it does not keep the interpreter
/// from them.
class Receiver final : public receiver::Receiver {
 public:
  using receiver::Receiver::Receiver;
  ~Receiver() {
    const nb::gil_scoped_release release;
    stop();
  }
};

struct ReceiverSpec {
  Config config;
  std::vector<BufferSpec> buffers;

  [[nodiscard]] Config build() const {
    Config built = config;
    for (const BufferSpec& spec : buffers) built.buffers.push_back(spec.config);
    return built;
  }
};

struct Latency {
  std::uint64_t count = 0;
  double p50 = 0, p99 = 0, max = 0, sum = 0;
  std::vector<std::uint64_t> below;
};

// python/rashpa/control/telegrams/latency.py: below 2^10 ns (1 µs), … below 2^34 ns (17 s)
constexpr unsigned kFirstPower = 10;
constexpr std::size_t kPowers = 25;

Latency latency_of(const Histogram& histogram) {
  const auto us = [](std::int64_t ns) { return static_cast<double>(ns) * 1e-3; };
  Latency latency;
  latency.below.resize(kPowers);
  histogram.count_below(kFirstPower, latency.below);
  latency.count = std::max(histogram.count(), latency.below.back());  // one may be recorded at this moment
  latency.p50 = us(histogram.percentile_ns(0.5));
  latency.p99 = us(histogram.percentile_ns(0.99));
  latency.max = us(histogram.max_ns());
  latency.sum = us(histogram.sum_ns());
  return latency;
}

nb::dict losses_of(const receiver::DtpStatus& status) {
  constexpr std::array<const char*, 6> kNames{"none", "lines", "event", "deadline", "overrun", "corrupt"};
  nb::dict out;
  for (std::size_t i = 1; i < kNames.size(); ++i) out[kNames[i]] = status.counts.losses[i];
  return out;
}

nb::dict vetoes_of(const receiver::BufferStatus& status) {
  nb::dict out;
  for (const receiver::ReasonCount& reason : status.vetoes) out[nb::str(reason.name.c_str())] = reason.images;
  return out;
}

nb::dict errors_of(const receiver::BufferStatus& status) {
  nb::dict out;
  for (std::uint8_t i = 1; i < kErrorReasons; ++i) {
    const std::string_view name = name_of(static_cast<ErrorReason>(i));
    out[nb::str(name.data(), name.size())] = status.errors[i];
  }
  return out;
}

// Index, frame number, reason and text; None when no image is errored.
std::optional<std::tuple<std::uint64_t, std::uint64_t, std::string, std::string>> first_of(
    const std::optional<receiver::FirstErrored>& known) {
  if (!known) return std::nullopt;
  const receiver::FirstErrored& first = *known;
  return std::tuple(first.index, first.frame_number, std::string(name_of(first.reason)), first.text);
}

nb::dict latencies_of(const receiver::BufferStatus& status) {
  nb::dict out;
  out["ready"] = latency_of(*status.ready);
  out["decision"] = latency_of(*status.decision);
  out["written"] = latency_of(*status.written);
  if (status.feedback) {
    out["published"] = latency_of(*status.feedback->in_ring);
    if (!status.feedback->zmq.empty()) out["sent"] = latency_of(*status.feedback->by_zmq);
  }
  return out;
}

void bind_config(nb::module_& m) {
  nb::class_<DtpConfig>(m, "DestinationDtp")
      .def(
          "__init__",
          [](DtpConfig* self, std::uint32_t id, std::uint32_t module, std::uint32_t x, std::uint32_t y,
             std::uint32_t width, std::uint32_t height) { new (self) DtpConfig{id, module, x, y, width, height}; },
          "id"_a, "module"_a, "x"_a, "y"_a, "width"_a, "height"_a);

  nb::class_<SpecialValue>(m, "SpecialValue")
      .def(
          "__init__",
          [](SpecialValue* self, std::int64_t value, const std::string& meaning) {
            new (self) SpecialValue{value, meaning_of(meaning)};
          },
          "value"_a, "meaning"_a);

  const auto member = [](auto pointer) {
    return std::pair{
        [pointer](const BufferSpec& s) { return s.config.*pointer; },
        [pointer](BufferSpec& s, std::decay_t<decltype(std::declval<receiver::BufferConfig&>().*pointer)> v) {
          s.config.*pointer = std::move(v);
        }};
  };
  nb::class_<BufferSpec> buffer(m, "BufferConfig");
  buffer.def(
      "__init__",
      [](BufferSpec* self, const nb::dict& keys) {
        new (self) BufferSpec{receiver::buffer_parameters().read(values_of("buffer", keys))};
      },
      "keys"_a);
  const auto property = [&](const char* name, auto pointer) {
    const auto pair = member(pointer);
    buffer.def_prop_rw(name, pair.first, pair.second);
  };
  property("name", &receiver::BufferConfig::name);
  property("width", &receiver::BufferConfig::width);
  property("height", &receiver::BufferConfig::height);
  property("special", &receiver::BufferConfig::special);
  buffer.def_prop_rw(
      "masked", [](const BufferSpec& s) { return s.config.masked ? kMasked.name(*s.config.masked) : "delivered"; },
      [](BufferSpec& s, const std::string& name) {
        s.config.masked = name == "delivered" ? std::nullopt : std::optional(kMasked.value(name));
      });
  property("images", &receiver::BufferConfig::images);
  buffer.def_prop_rw(
      "end", [](const BufferSpec& s) { return kEnds.name(s.config.end); },
      [](BufferSpec& s, const std::string& name) { s.config.end = kEnds.value(name); });
  property("dealt", &receiver::BufferConfig::dealt);
  property("dtps", &receiver::BufferConfig::dtps);
  property("feedback", &receiver::BufferConfig::feedback);
  buffer
      .def_prop_rw(
          "device", [](const BufferSpec& s) { return s.config.unit.device; },
          [](BufferSpec& s, const std::string& device) { s.config.unit.device = device; })
      .def_prop_rw(
          "images_copied", [](const BufferSpec& s) { return s.config.unit.transfer == unit::Transfer::copied; },
          [](BufferSpec& s, bool copied) {
            s.config.unit.transfer = copied ? unit::Transfer::copied : unit::Transfer::automatic;
          })
      .def_prop_rw(
          "pixel", [](const BufferSpec& s) { return kPixels.name(s.config.pixel); },
          [](BufferSpec& s, const std::string& name) { s.config.pixel = kPixels.value(name); })
      .def_prop_rw(
          "quiet_ms", [](const BufferSpec& s) { return s.config.quiet_ms; },
          [](BufferSpec& s, std::uint32_t ms) { s.config.quiet_ms = ms; })
      .def_prop_rw(
          "kernels",
          [](const BufferSpec& s) {
            std::vector<ConfiguredKernel> kernels;
            for (const kernel::StepOf& step : s.config.pipeline.kernels) kernels.push_back({step.shared()});
            return kernels;
          },
          [](BufferSpec& s, const std::vector<ConfiguredKernel>& kernels) {
            s.config.pipeline.kernels.clear();
            for (const ConfiguredKernel& kernel : kernels) s.config.pipeline.kernels.emplace_back(kernel.step);
          })
      .def_prop_rw(
          "sinks", [](const BufferSpec& s) { return s.config.sinks; },
          [](BufferSpec& s, std::vector<receiver::SinkConfig> sinks) { s.config.sinks = std::move(sinks); });

  nb::class_<ReceiverSpec>(m, "ReceiverConfig")
      .def(nb::init<>())
      .def_rw("buffers", &ReceiverSpec::buffers)
      .def_prop_rw(
          "memory", [](const ReceiverSpec& s) { return std::string(receiver::memory_name(s.config)); },
          [](ReceiverSpec& s, const std::string& name) { receiver::set_memory(s.config, name); })
      .def_prop_rw(
          "link", [](const ReceiverSpec& s) { return BoundLink{s.config.link}; },
          [](ReceiverSpec& s, const BoundLink& link) { s.config.link = link.options; })
      .def_prop_rw(
          "source_link", [](const ReceiverSpec& s) { return s.config.source_link; },
          [](ReceiverSpec& s, std::string v) { s.config.source_link = std::move(v); })
      .def_prop_rw(
          "bind_address", [](const ReceiverSpec& s) { return s.config.bind_address; },
          [](ReceiverSpec& s, std::string v) { s.config.bind_address = std::move(v); })
      .def_prop_rw(
          "port", [](const ReceiverSpec& s) { return s.config.port; },
          [](ReceiverSpec& s, std::uint16_t v) { s.config.port = v; })
      .def_prop_rw(
          "link_threads", [](const ReceiverSpec& s) { return s.config.link_threads; },
          [](ReceiverSpec& s, std::uint32_t v) { s.config.link_threads = v; })
      .def_prop_rw(
          "flow", [](const ReceiverSpec& s) { return kFlows.name(s.config.flow); },
          [](ReceiverSpec& s, const std::string& name) { s.config.flow = kFlows.value(name); })
      .def_prop_rw(
          "run", [](const ReceiverSpec& s) { return s.config.run; },
          [](ReceiverSpec& s, std::uint32_t v) { s.config.run = v; })
      .def_prop_rw(
          "poll", [](const ReceiverSpec& s) { return kPolls.name(s.config.poll); },
          [](ReceiverSpec& s, const std::string& name) { s.config.poll = kPolls.value(name); })
      .def_prop_rw(
          "first_processor", [](const ReceiverSpec& s) { return s.config.first_processor; },
          [](ReceiverSpec& s, int v) { s.config.first_processor = v; });
}

void bind_status(nb::module_& m) {
  nb::class_<Latency>(m, "Latency")
      .def_ro("count", &Latency::count)
      .def_ro("p50", &Latency::p50)
      .def_ro("p99", &Latency::p99)
      .def_ro("max", &Latency::max)
      .def_ro("sum", &Latency::sum)
      .def_ro("below", &Latency::below);
  nb::class_<receiver::DtpStatus>(m, "DtpDestinationStatus")
      .def_ro("id", &receiver::DtpStatus::id)
      .def_ro("module", &receiver::DtpStatus::module)
      .def_ro("expected", &receiver::DtpStatus::expected)
      .def_prop_ro("complete", [](const receiver::DtpStatus& s) { return s.counts.complete; })
      .def_prop_ro("partial", [](const receiver::DtpStatus& s) { return s.counts.partial; })
      .def_prop_ro("missing", [](const receiver::DtpStatus& s) { return s.counts.missing; })
      .def_prop_ro("lines_missing", [](const receiver::DtpStatus& s) { return s.counts.lines_missing; })
      .def_prop_ro("losses", &losses_of);
  nb::class_<sink::ConsumerStatus>(m, "ConsumerStatus")
      .def_ro("endpoint", &sink::ConsumerStatus::endpoint)
      .def_ro("connected", &sink::ConsumerStatus::connected)
      .def_ro("sent", &sink::ConsumerStatus::sent)
      .def_ro("missed", &sink::ConsumerStatus::missed);
  nb::class_<receiver::SinkStatus>(m, "SinkStatus")
      .def_ro("name", &receiver::SinkStatus::name)
      .def_prop_ro("on_full", [](const receiver::SinkStatus& s) { return kSinkOnFull.name(s.on_full); })
      .def_ro("accepted", &receiver::SinkStatus::accepted)
      .def_ro("written", &receiver::SinkStatus::written)
      .def_ro("dropped", &receiver::SinkStatus::dropped)
      .def_ro("errored", &receiver::SinkStatus::errored)
      .def_ro("waiting", &receiver::SinkStatus::waiting)
      .def_ro("bytes_written", &receiver::SinkStatus::bytes_written)
      .def_ro("bytes_stored", &receiver::SinkStatus::bytes_stored)
      .def_ro("error", &receiver::SinkStatus::error)
      .def_prop_ro("first", [](const receiver::SinkStatus& s) { return first_of(s.first); })
      .def_ro("consumers", &receiver::SinkStatus::consumers)
      .def_ro("restarts", &receiver::SinkStatus::restarts);
  // Latencies point into the receiver: a status keeps it alive (keep_alive below).
  nb::class_<receiver::BufferStatus>(m, "BufferStatus")
      .def_ro("name", &receiver::BufferStatus::name)
      .def_ro("books", &receiver::BufferStatus::books)
      .def_ro("end_known", &receiver::BufferStatus::end_known)
      .def_prop_ro("vetoes", &vetoes_of)
      .def_prop_ro("errors", &errors_of)
      .def_prop_ro("first_errored", [](const receiver::BufferStatus& s) { return first_of(s.first_errored); })
      .def_ro("sinks", &receiver::BufferStatus::sinks)
      .def_ro("to_write", &receiver::BufferStatus::to_write)
      .def_ro("dtps", &receiver::BufferStatus::dtps)
      .def_prop_ro("latency", &latencies_of)
      .def_ro("feedback", &receiver::BufferStatus::feedback)
      .def_ro("sink_error", &receiver::BufferStatus::sink_error)
      .def_ro("unit", &receiver::BufferStatus::unit)
      .def_ro("unit_error", &receiver::BufferStatus::unit_error)
      .def_ro("busy", &receiver::BufferStatus::busy)
      .def_ro("bytes_written", &receiver::BufferStatus::bytes_written)
      .def_ro("bytes_stored", &receiver::BufferStatus::bytes_stored);
  nb::class_<receiver::Status>(m, "ReceiverStatus")
      .def_prop_ro("state", [](const receiver::Status& s) { return kReceiverStates.name(s.state); })
      .def_ro("buffers", &receiver::Status::buffers)
      .def_prop_ro("link", [](const receiver::Status& s) { return dict_of(s.link); })
      .def_ro("memory", &receiver::Status::memory)
      .def_ro("elapsed_s", &receiver::Status::elapsed_s)
      .def_ro("first_incomplete", &receiver::Status::first_incomplete);
}

}  // namespace

void bind_receiver(nb::module_& m) {
  bind_config(m);
  bind_status(m);
  m.def(
      "available_units",
      [](const std::vector<std::string>& names) {
        std::vector<std::tuple<std::string, bool, std::string>> units;
        for (const unit::Available& each : unit::available_units(names))
          units.emplace_back(each.name, each.usable, each.what);
        return units;
      },
      "names"_a = std::vector<std::string>{});
  m.def(
      "available_devices",
      [](const std::vector<std::string>& names) {
        using Bar1 = std::pair<std::size_t, std::size_t>;
        using Device = std::tuple<std::string, std::uint32_t, std::string, std::size_t, std::size_t, bool, Bar1,
                                  std::pair<std::string, std::string>>;
        std::vector<Device> devices;
        for (const unit::UnitDevice& each : unit::available_devices(names)) {
          devices.emplace_back(each.unit, each.number, each.name, each.memory_bytes, each.free_bytes, each.unified,
                               Bar1{each.bar1_bytes, each.bar1_free_bytes},
                               std::pair{each.remote_writes, each.remote_refusal});
        }
        return devices;
      },
      "names"_a = std::vector<std::string>{});
  m.def(
      "device_buses",
      [](const std::vector<std::string>& names) {
        std::vector<std::tuple<std::string, std::uint32_t, std::string>> buses;
        for (const unit::UnitDevice& each : unit::available_devices(names))
          buses.emplace_back(each.unit, each.number, each.bus);
        return buses;
      },
      "names"_a = std::vector<std::string>{});
  nb::class_<Receiver>(m, "Receiver")
      .def(
          "__init__",
          [](Receiver* self, const ReceiverSpec& spec) {
            const nb::gil_scoped_release release;
            new (self) Receiver(spec.build());
          },
          "config"_a)
      .def("endpoints", &Receiver::endpoints)
      .def("descriptions",
           [](const Receiver& engine) {
             nb::list all;
             for (const std::string& one : engine.descriptions()) all.append(nb::bytes(one.data(), one.size()));
             return all;
           })
      .def("placements", [](const Receiver& engine) { return engine.placements(); })
      .def("arm", &Receiver::arm, "sources"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("start", &Receiver::start, nb::call_guard<nb::gil_scoped_release>())
      .def("hold_deadlines", &Receiver::hold_deadlines, "held"_a, nb::call_guard<nb::gil_scoped_release>())
      .def(
          "adjust",
          [](Receiver& engine, std::size_t buffer, std::size_t step, const nb::dict& values) {
            const NamedValues named = values_of("kernel", values);
            const nb::gil_scoped_release release;
            return engine.adjust(buffer, step, named);
          },
          "buffer"_a, "step"_a, "values"_a)
      .def(
          "finish",
          [](Receiver& engine, const std::vector<std::pair<std::uint32_t, std::uint64_t>>& told) {
            std::vector<receiver::DtpEnd> ends;
            ends.reserve(told.size());
            for (const auto& [id, images] : told) ends.push_back({.id = id, .images = images});
            engine.finish(ends);
          },
          "ends"_a = std::vector<std::pair<std::uint32_t, std::uint64_t>>{}, nb::call_guard<nb::gil_scoped_release>())
      .def("stop", &Receiver::stop, nb::call_guard<nb::gil_scoped_release>())
      .def(
          "wait",
          [](Receiver& engine, double timeout_s) {
            engine.observe();
            return engine.wait(timeout_s);
          },
          "timeout_s"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("status", &Receiver::status, nb::keep_alive<0, 1>())
      .def(
          "completeness",
          [](const Receiver& engine, std::size_t buffer) { return byte_table(engine.completeness(buffer)); },
          "buffer"_a)
      .def(
          "decisions", [](const Receiver& engine, std::size_t buffer) { return byte_table(engine.decisions(buffer)); },
          "buffer"_a)
      .def(
          "preview",
          [](const Receiver& engine, std::size_t buffer) {
            return preview_of(engine.preview(buffer), engine.output(buffer));
          },
          "buffer"_a)
      .def(
          "first",
          [](const Receiver& engine, std::size_t buffer, const std::string& what) {
            return preview_of(engine.first(buffer, kFirstOf.value(what)), engine.output(buffer));
          },
          "buffer"_a, "what"_a);
}

}  // namespace rashpa::bindings
