// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/nxmx_metadata.hpp"

#include "rashpa/core/parameter.hpp"

namespace rashpa::sink {

const Parameters<NxmxMetadata>& metadata_parameters() {
  static const auto declared =
      Parameters<NxmxMetadata>("metadata")
          .add({.name = "detector_name"}, &NxmxMetadata::detector_name)
          .add({.name = "description"}, &NxmxMetadata::description)
          .add({.name = "instrument_name"}, &NxmxMetadata::instrument_name)
          .add({.name = "source_name"}, &NxmxMetadata::source_name)
          .add({.name = "sample_name"}, &NxmxMetadata::sample_name)
          .add({.name = "start_time"}, &NxmxMetadata::start_time)
          .add({.name = "end_time_estimated"}, &NxmxMetadata::end_time_estimated)
          .add({.name = "wavelength_angstrom"}, &NxmxMetadata::wavelength_angstrom)
          .add({.name = "energy_kev"}, &NxmxMetadata::energy_kev)
          .add({.name = "distance_m"}, &NxmxMetadata::distance_m)
          .add({.name = "beam_center_x"}, &NxmxMetadata::beam_center_x)
          .add({.name = "beam_center_y"}, &NxmxMetadata::beam_center_y)
          .add({.name = "pixel_size_m"}, &NxmxMetadata::pixel_size_m)
          .add({.name = "pixel_size_y_m"}, &NxmxMetadata::pixel_size_y_m)
          .add({.name = "sensor_material"}, &NxmxMetadata::sensor_material)
          .add({.name = "sensor_thickness_m"}, &NxmxMetadata::sensor_thickness_m)
          .add({.name = "count_time_s"}, &NxmxMetadata::count_time_s)
          .add({.name = "frame_time_s"}, &NxmxMetadata::frame_time_s)
          .add({.name = "bit_depth_readout", .least = 0, .most = 64}, &NxmxMetadata::bit_depth_readout)
          .add({.name = "saturation_value"}, &NxmxMetadata::saturation_value)
          .add({.name = "receiver"}, &NxmxMetadata::receiver)
          .add({.name = "software_version"}, &NxmxMetadata::software_version)
          .add({.name = "proof"}, &NxmxMetadata::proof)
          .add({.name = "run_number", .least = 0, .most = 4294967295}, &NxmxMetadata::run_number)
          .add({.name = "run_name"}, &NxmxMetadata::run_name)
          .add({.name = "run_file"}, &NxmxMetadata::run_file)
          .add({.name = "run_file_sha256"}, &NxmxMetadata::run_file_sha256)
          .add({.name = "run_id"}, &NxmxMetadata::run_id)
          .add({.name = "pixel_units"}, &NxmxMetadata::pixel_units);
  return declared;
}

}  // namespace rashpa::sink
