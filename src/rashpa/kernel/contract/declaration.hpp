// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The declaration of a kernel, kept in its own folder: parameters, ports, units and cost. It provides capabilities,
/// checks of pipelines, the run file, telegrams, reports and reference pages (schema/kernels.json). Made once, before
/// the run.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "rashpa/core/frame/results.hpp"
#include "rashpa/core/image/pixel_type.hpp"
#include "rashpa/core/parameter.hpp"
#include "rashpa/kernel/contract/given.hpp"

namespace rashpa::kernel {

/// An input or output of a kernel for each image.
struct Port {
  enum class Kind : std::uint8_t {
    pixels,        ///< an image of one of the types `pixels`; later steps read it in place of the earlier image
    list,          ///< a list of selected pixels with their index, ascending
    scalars,       ///< numbers in named columns
    table,         ///< rows of named columns, in any number; the table has the kernel's name
    profile,       ///< arrays of fixed length, one value for each bin of its axes; the profile has the kernel's name
    verdict,       ///< the decision to keep the image, or one of `reasons`
    accumulation,  ///< arrays that accumulate over many images, quantities of `columns`; it has the kernel's name
  };
  Kind kind = Kind::pixels;
  std::vector<PixelType> pixels{};  ///< for pixels: the possible types
  /// Name of a parameter. For pixels that the step makes, its n-th choice makes the n-th type. For scalars that the
  /// step takes, it has the rule on them. For a verdict, it has the name of the reason.
  std::string by{};
  /// Name of a parameter. For a list, it is the fraction of the pixels for which there is room; for a table, the most
  /// rows of an image.
  std::string capacity{};
  /// Name of a parameter, for scalars. Its value is "name=…; name=…"; the columns exist once for each name, which
  /// replaces their "{}".
  std::string per{};
  /// for scalars and table: columns; profile: its arrays, float64; accumulation: possible quantities
  std::vector<Column> columns{};
  std::vector<Axis> axes{};  ///< for a profile: one or two axes, the slow one first; Step::axes() gives their bins
  std::string definition{};  ///< for a profile: Profile::definition
  std::vector<std::string> reasons{};  ///< for a verdict: reasons as reports and files name them
  std::vector<std::string> limits{};   ///< for a verdict: parameters that bound the first column, for plots
};

/// A result that the step which makes the pixels can compute while they are in registers. It saves a later step its own
/// pass over the pixels.
enum class Tap : std::uint8_t {
  count,  ///< the number of pixels at or above a threshold
  mark,   ///< one bit for each pixel, set when it is at or above a threshold
};

/// Memory that a step takes on an accelerator. A test compares it with the memory taken in fact.
struct DeviceCost {
  double bytes = 0;  ///< bytes for each `each` of the images that the step reads
  /// taken once, or for each image that the device holds at a time
  enum class Of : std::uint8_t { run, image } of = Of::run;
  std::string
      /// A pixel when empty. "ring" is a ring around the beam, one pixel wide. Another text names the parameter that
      /// has the number.
      each{};
  bool counted = false;  ///< true: only where values are counted by ring (rings/counted_rings.hpp)
  bool by_set = false;   ///< true: as many times as the calibration has sets of pedestals, for storage cells
  std::string unit{};    ///< unit that takes the memory; empty: all but cpu
  std::string when{};    ///< name of a parameter: only when it differs from its default
};

struct Declaration {
  std::string name;
  std::string purpose;  ///< purpose of the kernel, in one line
  std::vector<Parameter> parameters{};
  Port takes{};  ///< pixels; or scalars: the step reads only columns of earlier steps
  std::vector<Port> makes{};
  bool several = false;      ///< true: may occur several times in a pipeline
  bool strips = false;       ///< true: can work on strips of images; Step::strip() decides for the given parameters
  bool delivered = false;    ///< true: takes only the detector's own pixels, so precedes all kernels that make pixels
  bool calibration = false;  ///< true: needs the calibration maps of the detector
  std::vector<Input> inputs{};            ///< arrays that the kernel is given, made from the files that parameters name
  std::vector<std::string> units{"cpu"};  ///< units with a version of the kernel
  std::vector<Tap> offers{};              ///< for a kernel that makes pixels: its taps for later steps
  std::vector<Tap> rides{};               ///< the tap that saves it its own pass over the pixels
  double stack_bytes = 0;                 ///< calibration bytes a pixel that it reads once for each stack
  double scratch_bytes = 0;               ///< bytes a pixel of its own memory
  std::vector<DeviceCost> device{};       ///< memory that grows with images; the list ports give the memory of lists
  std::string origin{};                   ///< for code from outside the program, a description: "plugin peaks.so"

  [[nodiscard]] const Port* made(Port::Kind kind) const noexcept {
    for (const Port& port : makes) {
      if (port.kind == kind) return &port;
    }
    return nullptr;
  }
  [[nodiscard]] bool takes_pixels() const noexcept { return takes.kind == Port::Kind::pixels; }
  [[nodiscard]] bool offers_tap(Tap tap) const noexcept { return has(offers, tap); }
  [[nodiscard]] bool rides_on(Tap tap) const noexcept { return has(rides, tap); }
  [[nodiscard]] bool runs_on(const std::string& unit) const noexcept { return has(units, unit); }

 private:
  template <typename T>
  static bool has(const std::vector<T>& all, const T& one) noexcept {
    return std::find(all.begin(), all.end(), one) != all.end();
  }
};

/// Returns the integer types of a photon image: uint8, uint16, uint32, int16, int32.
const std::vector<PixelType>& photon_types();
/// Returns photon_types() and float32.
const std::vector<PixelType>& image_types();

/// Returns the declaration as a JSON object.
std::string json_of(const Declaration& declaration);

}  // namespace rashpa::kernel
