// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The experiment as a file describes it. Plain members, filled by the control plane; nothing here changes during a
/// run.
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rashpa/core/image/orientation.hpp"

namespace rashpa {
template <class Config>
class Parameters;
}  // namespace rashpa

namespace rashpa::sink {

/// Describes where one detector module, or a panel of it, lies in the assembled image, in pixels; and in the
/// laboratory, in m. Axes are those of NeXus (McStas): z along the beam from the detector's distance on, y up.
struct NxmxModule {
  std::string name;
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::array<double, 3> corner{};  ///< of its first pixel's outer corner
  std::array<double, 3> fast{};    ///< step to the next column
  std::array<double, 3> slow{};    ///< step to the next row
};

/// Describes where one DTP's region lies in the assembled image, in pixels: gives the lost lines of the tables their
/// place.
struct NxmxDtp {
  std::uint32_t id = 0;
  std::uint32_t module = 0;
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  Orientation orientation{};  ///< in which the source has turned the module
  /// The rows that each source line has become, for images whose shape a kernel has changed: `source lines + 1`
  /// numbers. Line l has become the rows from line_rows[l] to line_rows[l + 1], not included. Empty: line l is row y +
  /// l.
  std::vector<std::uint32_t> line_rows{};
};

/// A calibration map that went into the pixels.
struct NxmxCalibration {
  std::string kind;       ///< "pedestal_0": the kind of map and its module
  std::string file;       ///< where it came from
  std::string sha256;     ///< of the file; of the values where they were computed
  std::string version{};  ///< of a calibration file; empty, as those below: it is none
  std::string date{};     ///< when it was made
  std::string source{};   ///< of which object
};

/// A step of the pipeline, as it was used.
struct NxmxKernel {
  std::string name;
  std::vector<std::pair<std::string, std::string>> parameters;  ///< name, value as JSON
  std::vector<std::string> veto_reasons;                        ///< of its verdict; empty: it judges nothing
};

/// Fields of NXmx (docs/reference/files.md) and of /entry/rashpa. A text left empty becomes "unknown" where NXmx
/// requires the field.
struct NxmxMetadata {
  std::string detector_name;  ///< "JUNGFRAU"; goes to detector/type
  std::string description;    ///< of the detector
  std::string instrument_name;
  std::string source_name;
  std::string sample_name;
  std::string start_time;          ///< ISO 8601 with Z; empty: when the sink is made
  std::string end_time_estimated;  ///< likewise; empty: start of the sink + images · frame_time_s
  double wavelength_angstrom = 0;  ///< 0: from energy_kev
  double energy_kev = 0;
  double distance_m = 0;
  double beam_center_x = 0;  ///< pixels
  double beam_center_y = 0;
  double pixel_size_m = 0;
  std::string sensor_material;
  double sensor_thickness_m = 0;
  double count_time_s = 0;
  double frame_time_s = 0;
  std::uint32_t bit_depth_readout = 16;  ///< 0: not known
  double saturation_value = 0;           ///< 0: the largest value of the pixel type that is a measurement
  std::string receiver;                  ///< which of several receivers wrote the file; empty when there is one
  std::string software_version;
  std::string proof;                      ///< how completeness was proven: "lines", "crc (all)", …
  std::vector<std::string> labels;        ///< "synthetic data", …
  std::vector<std::uint32_t> pixel_mask;  ///< [height][width] NXmx bits; empty: no pixel is masked
  std::vector<NxmxModule> modules;        ///< empty: one module, the whole image, as seen from the sample
  std::vector<NxmxDtp> dtps;
  std::vector<NxmxCalibration> calibration;
  std::uint32_t run_number = 0;
  std::string run_name;
  std::string run_file;         ///< its path, as the manager knew it
  std::string run_file_sha256;  ///< empty: not known
  std::string run_id;           ///< common to all files of one run, and to none of another; empty: not known
  std::string pixel_units;      ///< "photons", "keV", "raw words"; empty: as the detector sent them
  std::vector<NxmxKernel> kernels;
};

/// The plain members by their names; lists and the mask are filled by the code that has them.
const Parameters<NxmxMetadata>& metadata_parameters();

}  // namespace rashpa::sink
