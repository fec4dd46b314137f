// SPDX-License-Identifier: Apache-2.0
/// Decisions, published while a run goes on: how a buffer publishes, and the reader of a ring.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "bindings/bindings.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/feedback/publisher.hpp"
#include "rashpa/feedback/ring_reader.hpp"

namespace rashpa::bindings {

namespace nb = nanobind;
using namespace nb::literals;
using feedback::RingReader;

namespace {

feedback::Begin begin_of(const std::string& name) {
  if (name == "oldest") return feedback::Begin::oldest;
  if (name == "next") return feedback::Begin::next;
  throw ConfigError("feedback: a reader cannot begin with '" + name + "'; choose oldest or next");
}

nb::bytes bytes_of(const auto& items) {
  const auto bytes = std::as_bytes(std::span(items));
  return nb::bytes(bytes.data(), bytes.size());
}

// None: nothing came in time. Empty: the run is over.
std::optional<nb::bytes> next_of(RingReader& reader, double timeout_s, bool spin) {
  feedback::Got got{};
  {
    const nb::gil_scoped_release release;
    got = reader.next(std::chrono::nanoseconds(ns_of(timeout_s)), spin ? feedback::Wait::spin : feedback::Wait::sleep);
  }
  if (got == feedback::Got::nothing) return std::nullopt;
  if (got == feedback::Got::ended) return nb::bytes("", 0);
  return bytes_of(reader.record());
}

}  // namespace

void bind_feedback(nb::module_& m) {
  nb::class_<feedback::Options>(m, "FeedbackOptions")
      .def(
          "__init__",
          [](feedback::Options* self, std::string ring, std::string zmq, std::uint64_t images) {
            new (self) feedback::Options{std::move(ring), std::move(zmq), images};
          },
          "ring"_a, "zmq"_a, "images"_a);
  nb::class_<feedback::PublisherStatus>(m, "FeedbackStatus")
      .def_ro("ring", &feedback::PublisherStatus::ring)
      .def_ro("zmq", &feedback::PublisherStatus::zmq)
      .def_ro("published", &feedback::PublisherStatus::published)
      .def_ro("sent", &feedback::PublisherStatus::sent)
      .def_ro("dropped", &feedback::PublisherStatus::dropped)
      .def_ro("full", &feedback::PublisherStatus::full)
      .def_ro("restarts", &feedback::PublisherStatus::restarts);
  nb::class_<RingReader>(m, "FeedbackRing")
      .def(
          "__init__",
          [](RingReader* self, const std::string& path, const std::string& begin) {
            new (self) RingReader(path, begin_of(begin));
          },
          "path"_a, "begin"_a)
      .def_prop_ro("description", [](const RingReader& reader) { return bytes_of(reader.description()); })
      .def_prop_ro("lost", &RingReader::lost)
      .def("next", &next_of, "timeout_s"_a, "spin"_a);
}

}  // namespace rashpa::bindings
