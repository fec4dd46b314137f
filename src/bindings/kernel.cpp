/// Kernels of a pipeline, as Python configures them.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include "bindings.hpp"
#include "names.hpp"
#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/csr/csr.hpp"
#include "rashpa/kernel/jungfrau/jungfrau.hpp"

namespace rashpa::bindings {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Maps = nb::ndarray<const float, nb::shape<3, -1, -1>, nb::c_contig, nb::device::cpu>;
using Mask = nb::ndarray<const std::uint32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

kernel::jungfrau::Config jungfrau_config(double energy_kev, const std::string& output, const Maps& pedestal,
                                         const Maps& gain, const Mask& mask) {
  const std::size_t height = mask.shape(0);
  const std::size_t width = mask.shape(1);
  for (const Maps* maps : {&pedestal, &gain}) {
    if (maps->shape(1) != height || maps->shape(2) != width) {
      throw ConfigError(
          fmt::format("kernel jungfrau: pedestal and gain must be [3][{}][{}] like the mask, got [3][{}][{}]", height,
                      width, maps->shape(1), maps->shape(2)));
    }
  }
  kernel::jungfrau::Config config;
  config.photon_energy_kev = energy_kev;
  config.output = kOutputs.value(output);
  config.calibration.width = static_cast<std::uint32_t>(width);
  config.calibration.height = static_cast<std::uint32_t>(height);
  config.calibration.pedestal.assign(pedestal.data(), pedestal.data() + pedestal.size());
  config.calibration.gain.assign(gain.data(), gain.data() + gain.size());
  config.calibration.mask.assign(mask.data(), mask.data() + mask.size());
  return config;
}

}  // namespace

void bind_kernel(nb::module_& m) {
  nb::class_<kernel::jungfrau::Config>(m, "Jungfrau")
      .def(
          "__init__",
          [](kernel::jungfrau::Config* self, double energy_kev, const std::string& output, const Maps& pedestal,
             const Maps& gain, const Mask& mask) {
            new (self) kernel::jungfrau::Config(jungfrau_config(energy_kev, output, pedestal, gain, mask));
          },
          "photon_energy_kev"_a, "output"_a, "pedestal"_a, "gain"_a, "mask"_a);
  nb::class_<kernel::bragg_count::Config>(m, "BraggCount")
      .def(
          "__init__",
          [](kernel::bragg_count::Config* self, std::int16_t threshold, std::uint32_t min_pixels,
             std::uint32_t max_pixels) {
            new (self) kernel::bragg_count::Config{threshold, min_pixels, max_pixels};
          },
          "threshold"_a, "min_pixels"_a, "max_pixels"_a);
  nb::class_<kernel::csr::Config>(m, "Csr").def(
      "__init__",
      [](kernel::csr::Config* self, std::int16_t threshold, double capacity) {
        new (self) kernel::csr::Config{threshold, capacity};
      },
      "threshold"_a, "capacity"_a);
}

}  // namespace rashpa::bindings
