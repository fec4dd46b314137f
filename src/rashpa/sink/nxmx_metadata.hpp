// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The description of the experiment for files: plain members that the control plane fills. Constant during a run.
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

/// The place of a detector module, or of a panel of it, in the assembled image in pixels, and in the laboratory in m.
/// Axes are those of NeXus (McStas): z along the beam with origin at the detector's distance, y up.
struct NxmxModule {
  std::string name;
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::array<double, 3> corner{};  ///< outer corner of its first pixel
  std::array<double, 3> fast{};    ///< step to the next column
  std::array<double, 3> slow{};    ///< step to the next row
};

/// The place of one DTP's region in the assembled image in pixels, which gives the tables' lost lines their place.
struct NxmxDtp {
  std::uint32_t id = 0;
  std::uint32_t module = 0;
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  Orientation orientation{};  ///< by which the source has turned the module
  /// The image rows of each source line, for images whose shape a kernel has changed: `source lines + 1` numbers. Line
  /// l has the rows from line_rows[l] up to, but not including, line_rows[l + 1]. Empty: line l is row y + l.
  std::vector<std::uint32_t> line_rows{};
};

/// A calibration map that was applied to the pixels.
struct NxmxCalibration {
  std::string kind;       ///< kind of map and module: "pedestal_0"
  std::string file;       ///< file from which it was read
  std::string sha256;     ///< of the file, or of the values where they were computed
  std::string version{};  ///< version of a calibration file; empty, like the members below, for any other file
  std::string date{};     ///< date of the calibration
  std::string source{};   ///< source named in the calibration file
};

/// A step of the pipeline with its parameters.
struct NxmxKernel {
  std::string name;
  std::vector<std::pair<std::string, std::string>> parameters;  ///< name, value as JSON
  std::vector<std::string> veto_reasons;  ///< veto reasons of its verdict; empty: it has no verdict
};

/// The fields of NXmx (docs/reference/files.md) and of /entry/rashpa. An empty text becomes "unknown" where NXmx
/// requires the field.
struct NxmxMetadata {
  std::string detector_name;  ///< "JUNGFRAU"; written to detector/type
  std::string description;    ///< description of the detector
  std::string instrument_name;
  std::string source_name;
  std::string sample_name;
  std::string start_time;          ///< ISO 8601 with Z; empty: the time when the sink is made
  std::string end_time_estimated;  ///< ISO 8601 with Z; empty: start of the sink + images · frame_time_s
  double wavelength_angstrom = 0;  ///< 0: computed from energy_kev
  double energy_kev = 0;
  double distance_m = 0;
  double beam_center_x = 0;  ///< pixels
  double beam_center_y = 0;
  double pixel_size_m = 0;    ///< along columns, and along rows unless pixel_size_y_m differs
  double pixel_size_y_m = 0;  ///< 0: as pixel_size_m
  [[nodiscard]] double pixel_height_m() const noexcept { return pixel_size_y_m > 0 ? pixel_size_y_m : pixel_size_m; }
  std::string sensor_material;
  double sensor_thickness_m = 0;
  double count_time_s = 0;
  double frame_time_s = 0;
  std::uint32_t bit_depth_readout = 16;  ///< 0: unknown
  double saturation_value = 0;           ///< 0: the largest value of the pixel type that is a measurement
  std::string receiver;  ///< the receiver that wrote the file, if there are several; empty: there is one
  std::string software_version;
  std::string proof;                      ///< proof of completeness: "lines", "crc (all)", …
  std::vector<std::string> labels;        ///< "synthetic data", …
  std::vector<std::uint32_t> pixel_mask;  ///< [height][width] NXmx bits; empty: no pixel is masked
  std::vector<NxmxModule> modules;        ///< empty: one module, the whole image, seen from the sample
  std::vector<NxmxDtp> dtps;
  std::vector<NxmxCalibration> calibration;
  std::uint32_t run_number = 0;
  std::string run_name;
  std::string run_file;         ///< path of the run file, as the manager gave it
  std::string run_file_sha256;  ///< empty: unknown
  std::string run_id;           ///< common to all files of a run and different between runs; empty: unknown
  std::string pixel_units;      ///< "photons", "keV", "raw words"; empty: as the detector sent them
  std::vector<NxmxKernel> kernels;
};

/// Returns the plain members by name; the code that has lists and the mask fills them.
const Parameters<NxmxMetadata>& metadata_parameters();

}  // namespace rashpa::sink
