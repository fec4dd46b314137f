// SPDX-License-Identifier: Apache-2.0
/// Sinks and the metadata that go into their files.
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "bindings/named_values.hpp"
#include "bindings/names.hpp"
#include "rashpa/receiver/sinks/named_sink.hpp"
#include "rashpa/sink/factory.hpp"
#include "rashpa/sink/repair/convert.hpp"
#include "rashpa/sink/repair/repair.hpp"

namespace rashpa::bindings {

namespace nb = nanobind;
using namespace nb::literals;
using sink::NxmxCalibration;
using sink::NxmxDtp;
using sink::NxmxMetadata;
using sink::NxmxModule;

namespace {

void bind_metadata(nb::module_& m) {
  nb::class_<NxmxModule>(m, "NxmxModule")
      .def(nb::init<>())
      .def_rw("name", &NxmxModule::name)
      .def_rw("x", &NxmxModule::x)
      .def_rw("y", &NxmxModule::y)
      .def_rw("width", &NxmxModule::width)
      .def_rw("height", &NxmxModule::height)
      .def_rw("corner", &NxmxModule::corner)
      .def_rw("fast", &NxmxModule::fast)
      .def_rw("slow", &NxmxModule::slow);
  nb::class_<NxmxDtp>(m, "NxmxDtp")
      .def(nb::init<>())
      .def_rw("id", &NxmxDtp::id)
      .def_rw("module", &NxmxDtp::module)
      .def_rw("x", &NxmxDtp::x)
      .def_rw("y", &NxmxDtp::y)
      .def_rw("width", &NxmxDtp::width)
      .def_rw("height", &NxmxDtp::height)
      .def_rw("orientation", &NxmxDtp::orientation)
      .def_rw("line_rows", &NxmxDtp::line_rows);
  nb::class_<NxmxCalibration>(m, "NxmxCalibration")
      .def(nb::init<>())
      .def_rw("kind", &NxmxCalibration::kind)
      .def_rw("file", &NxmxCalibration::file)
      .def_rw("sha256", &NxmxCalibration::sha256)
      .def_rw("version", &NxmxCalibration::version)
      .def_rw("date", &NxmxCalibration::date)
      .def_rw("source", &NxmxCalibration::source);
  nb::class_<sink::NxmxKernel>(m, "NxmxKernel")
      .def(nb::init<>())
      .def_rw("name", &sink::NxmxKernel::name)
      .def_rw("parameters", &sink::NxmxKernel::parameters)
      .def_rw("veto_reasons", &sink::NxmxKernel::veto_reasons);
  nb::class_<NxmxMetadata>(m, "NxmxMetadata")
      .def(
          "__init__",
          [](NxmxMetadata* self, const nb::dict& values) {
            new (self) NxmxMetadata(sink::metadata_parameters().read(values_of("metadata", values)));
          },
          "values"_a)
      .def_rw("labels", &NxmxMetadata::labels)
      .def_prop_rw(
          "pixel_mask", [](const NxmxMetadata& metadata) { return metadata.pixel_mask; },
          [](NxmxMetadata& metadata, const nb::ndarray<const std::uint32_t, nb::c_contig, nb::device::cpu>& mask) {
            metadata.pixel_mask.assign(mask.data(), mask.data() + mask.size());
          })
      .def_rw("modules", &NxmxMetadata::modules)
      .def_rw("dtps", &NxmxMetadata::dtps)
      .def_rw("calibration", &NxmxMetadata::calibration)
      .def_rw("kernels", &NxmxMetadata::kernels);
}

}  // namespace

void bind_sink(nb::module_& m) {
  bind_metadata(m);
  nb::class_<sink::Repaired>(m, "Repaired")
      .def_ro("master", &sink::Repaired::master)
      .def_ro("was_complete", &sink::Repaired::was_complete)
      .def_ro("books", &sink::Repaired::books)
      .def_ro("unknown", &sink::Repaired::unknown)
      .def_ro("lost", &sink::Repaired::lost);
  nb::class_<sink::Converted>(m, "Converted")
      .def_ro("master", &sink::Converted::master)
      .def_ro("books", &sink::Converted::books)
      .def_ro("unknown", &sink::Converted::unknown)
      .def_ro("lost", &sink::Converted::lost);
  m.def(
      "convert",
      [](const std::string& from, const std::string& to, bool replace, std::uint32_t images_a_file, unsigned threads) {
        return sink::convert({.from = from,
                              .to = to,
                              .existing = replace ? sink::Existing::replace : sink::Existing::refuse,
                              .images_a_file = images_a_file,
                              .threads = threads});
      },
      "from_prefix"_a, "to_prefix"_a, "replace"_a, "images_a_file"_a, "threads"_a,
      nb::call_guard<nb::gil_scoped_release>());
  m.def("repair", &sink::repair, "prefix"_a, nb::call_guard<nb::gil_scoped_release>());
  nb::class_<receiver::SinkConfig>(m, "SinkConfig")
      .def(
          "__init__",
          [](receiver::SinkConfig* self, const std::string& kind, const nb::dict& values,
             const NxmxMetadata* metadata) {
            new (self) receiver::SinkConfig(receiver::named_sink(kind, values_of("sink " + kind, values),
                                                                 metadata != nullptr ? *metadata : NxmxMetadata{}));
          },
          "kind"_a, "values"_a, "metadata"_a.none() = nb::none())
      .def_ro("name", &receiver::SinkConfig::name)
      .def_prop_ro("on_full", [](const receiver::SinkConfig& s) { return kSinkOnFull.name(s.on_full); })
      .def_ro("queue", &receiver::SinkConfig::queue);
  m.def("sink_names", &sink::sink_names);
  m.def("sinks_json", &receiver::sinks_json);
  m.def("metadata_json", [] { return json_of(sink::metadata_parameters().declared()) + "\n"; });
}

}  // namespace rashpa::bindings
