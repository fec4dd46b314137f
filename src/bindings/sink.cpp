/// Sinks and the metadata that go into their files.
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "names.hpp"
#include "rashpa/receiver/config.hpp"
#include "rashpa/sink/factory.hpp"
#include "rashpa/sink/repair.hpp"

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
      .def_rw("height", &NxmxModule::height);
  nb::class_<NxmxDtp>(m, "NxmxDtp")
      .def(nb::init<>())
      .def_rw("id", &NxmxDtp::id)
      .def_rw("module", &NxmxDtp::module)
      .def_rw("x", &NxmxDtp::x)
      .def_rw("y", &NxmxDtp::y)
      .def_rw("width", &NxmxDtp::width)
      .def_rw("height", &NxmxDtp::height);
  nb::class_<NxmxCalibration>(m, "NxmxCalibration")
      .def(nb::init<>())
      .def_rw("kind", &NxmxCalibration::kind)
      .def_rw("file", &NxmxCalibration::file)
      .def_rw("sha256", &NxmxCalibration::sha256);
  nb::class_<sink::NxmxKernel>(m, "NxmxKernel")
      .def(nb::init<>())
      .def_rw("name", &sink::NxmxKernel::name)
      .def_rw("parameters", &sink::NxmxKernel::parameters)
      .def_rw("veto_reasons", &sink::NxmxKernel::veto_reasons);
  nb::class_<NxmxMetadata>(m, "NxmxMetadata")
      .def(nb::init<>())
      .def_rw("detector_name", &NxmxMetadata::detector_name)
      .def_rw("description", &NxmxMetadata::description)
      .def_rw("instrument_name", &NxmxMetadata::instrument_name)
      .def_rw("source_name", &NxmxMetadata::source_name)
      .def_rw("sample_name", &NxmxMetadata::sample_name)
      .def_rw("start_time", &NxmxMetadata::start_time)
      .def_rw("end_time_estimated", &NxmxMetadata::end_time_estimated)
      .def_rw("wavelength_angstrom", &NxmxMetadata::wavelength_angstrom)
      .def_rw("energy_kev", &NxmxMetadata::energy_kev)
      .def_rw("distance_m", &NxmxMetadata::distance_m)
      .def_rw("beam_center_x", &NxmxMetadata::beam_center_x)
      .def_rw("beam_center_y", &NxmxMetadata::beam_center_y)
      .def_rw("pixel_size_m", &NxmxMetadata::pixel_size_m)
      .def_rw("sensor_material", &NxmxMetadata::sensor_material)
      .def_rw("sensor_thickness_m", &NxmxMetadata::sensor_thickness_m)
      .def_rw("count_time_s", &NxmxMetadata::count_time_s)
      .def_rw("frame_time_s", &NxmxMetadata::frame_time_s)
      .def_rw("bit_depth_readout", &NxmxMetadata::bit_depth_readout)
      .def_rw("saturation_value", &NxmxMetadata::saturation_value)
      .def_rw("receiver", &NxmxMetadata::receiver)
      .def_rw("software_version", &NxmxMetadata::software_version)
      .def_rw("proof", &NxmxMetadata::proof)
      .def_rw("labels", &NxmxMetadata::labels)
      .def_prop_rw(
          "pixel_mask", [](const NxmxMetadata& metadata) { return metadata.pixel_mask; },
          [](NxmxMetadata& metadata, const nb::ndarray<const std::uint32_t, nb::c_contig, nb::device::cpu>& mask) {
            metadata.pixel_mask.assign(mask.data(), mask.data() + mask.size());
          })
      .def_rw("modules", &NxmxMetadata::modules)
      .def_rw("dtps", &NxmxMetadata::dtps)
      .def_rw("calibration", &NxmxMetadata::calibration)
      .def_rw("run_number", &NxmxMetadata::run_number)
      .def_rw("run_name", &NxmxMetadata::run_name)
      .def_rw("run_file", &NxmxMetadata::run_file)
      .def_rw("run_file_sha256", &NxmxMetadata::run_file_sha256)
      .def_rw("pixel_units", &NxmxMetadata::pixel_units)
      .def_rw("kernels", &NxmxMetadata::kernels);
}

}  // namespace

void bind_sink(nb::module_& m) {
  bind_metadata(m);
  nb::class_<sink::Hdf5Options>(m, "Hdf5Sink")
      .def(
          "__init__",
          [](sink::Hdf5Options* self, std::string prefix, const NxmxMetadata& metadata, std::uint32_t images_per_file,
             unsigned threads, const std::string& existing) {
            new (self)
                sink::Hdf5Options{std::move(prefix), images_per_file, threads, kExisting.value(existing), metadata};
          },
          "prefix"_a, "metadata"_a, "images_per_file"_a = 1000, "threads"_a = 1, "existing"_a = "refuse");
  nb::class_<sink::Repaired>(m, "Repaired")
      .def_ro("master", &sink::Repaired::master)
      .def_ro("was_complete", &sink::Repaired::was_complete)
      .def_ro("books", &sink::Repaired::books)
      .def_ro("unknown", &sink::Repaired::unknown)
      .def_ro("lost", &sink::Repaired::lost);
  m.def("repair", &sink::repair, "prefix"_a, nb::call_guard<nb::gil_scoped_release>());
  nb::class_<sink::NullOptions>(m, "NullSink").def(nb::init<>());
  nb::class_<sink::MemoryOptions>(m, "MemorySink")
      .def(
          "__init__",
          [](sink::MemoryOptions* self, std::uint32_t capacity) { new (self) sink::MemoryOptions{capacity}; },
          "capacity"_a);
  nb::class_<receiver::SinkConfig>(m, "SinkConfig")
      .def(
          "__init__",
          [](receiver::SinkConfig* self, const sink::Options& options, const std::string& on_full,
             std::uint32_t queue) { new (self) receiver::SinkConfig(options, kSinkOnFull.value(on_full), queue); },
          "options"_a, "on_full"_a = "wait", "queue"_a = 4)
      .def_ro("name", &receiver::SinkConfig::name)
      .def_prop_ro("on_full", [](const receiver::SinkConfig& s) { return kSinkOnFull.name(s.on_full); })
      .def_ro("queue", &receiver::SinkConfig::queue);
  m.def("sink_names", &sink::sink_names);
}

}  // namespace rashpa::bindings
