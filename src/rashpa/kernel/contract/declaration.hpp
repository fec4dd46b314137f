// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The declaration of a kernel, in its own folder: parameters, ports, units and cost. Capabilities, checks of a
/// pipeline, run file, telegrams, reports and reference pages follow from it (schema/kernels.json). Made once, before
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

/// An input or output of a kernel, for each image.
struct Port {
  enum class Kind : std::uint8_t {
    pixels,        ///< an image of one of `pixels`; steps behind it see it in place of the one before
    list,          ///< pixels picked out, with their index, ascending
    scalars,       ///< numbers in named columns
    table,         ///< rows of named columns, as many as are found; it has the kernel's name
    profile,       ///< arrays of fixed length, one value a bin of its axes; it has the kernel's name
    verdict,       ///< whether the image is kept; if not, one of `reasons`
    accumulation,  ///< arrays that grow over many images, of quantities among `columns`; it has the kernel's name
  };
  Kind kind = Kind::pixels;
  std::vector<PixelType> pixels{};     ///< pixels: the types that are possible
  std::string by{};                    ///< pixels made: the parameter of which the n-th choice makes the n-th type;
                                       ///< scalars taken: the parameter that has the rule on them; verdict: the
                                       ///< parameter that has the name of its reason
  std::string capacity{};              ///< list: the parameter that says for which part of the pixels there is room;
                                       ///< table: for how many rows an image
  std::string per{};                   ///< scalars: the columns are there once for each name of "name=…; name=…" in
                                       ///< this parameter, which takes the place of their "{}"
  std::vector<Column> columns{};       ///< scalars, table; profile: its arrays, float64;
                                       ///< accumulation: quantities that are possible
  std::vector<Axis> axes{};            ///< profile: one or two, the slow one first; Step::axes() has their bins
  std::string definition{};            ///< profile: as Profile::definition
  std::vector<std::string> reasons{};  ///< verdict: names, as in reports and files
  std::vector<std::string> limits{};   ///< verdict: parameters that the first column is compared with, for plots
};

/// A result that a step may get from the one that made the pixels, while those are still in registers, in place of a
/// pass of its own over them.
enum class Tap : std::uint8_t {
  count,  ///< how many pixels are at or above a threshold
  mark,   ///< one bit a pixel: it is at or above a threshold
};

/// Memory that a step takes on an accelerator. A test holds it against what is taken.
struct DeviceCost {
  double bytes = 0;                                          ///< for each `each` of the images that it sees
  enum class Of : std::uint8_t { run, image } of = Of::run;  ///< once, or for each image that the device has at a time
  std::string
      each{};  ///< empty: a pixel; "ring": one around the beam, a pixel wide; else as many as this parameter says
  bool counted = false;  ///< only where values are counted by ring (rings/counted_rings.hpp)
  std::string unit{};    ///< that takes it; empty: each but cpu
  std::string when{};    ///< a parameter: only where it is not what it is by default
};

struct Declaration {
  std::string name;
  std::string purpose;  ///< one line
  std::vector<Parameter> parameters{};
  Port takes{};  ///< pixels, or scalars: it looks at columns of the steps before it only
  std::vector<Port> makes{};
  bool several = false;         ///< may come several times in a pipeline
  bool strips = false;          ///< may work on strips of images; Step::strip() says whether with these parameters
  bool delivered = false;       ///< takes only the detector's own pixels: stands before kernels that make pixels
  bool calibration = false;     ///< needs the maps of the detector's calibration
  std::vector<Input> inputs{};  ///< arrays that it is given, made from the files that parameters name
  std::vector<std::string> units{"cpu"};  ///< that have a version of it
  std::vector<Tap> offers{};              ///< makes pixels: its outputs for steps behind it
  std::vector<Tap> rides{};               ///< the input that spares it its own pass over the pixels
  double stack_bytes = 0;                 ///< read once a stack, bytes a pixel: calibration
  double scratch_bytes = 0;               ///< memory of its own, bytes a pixel of the image
  std::vector<DeviceCost> device{};       ///< memory that grows with images; lists are in the port that makes them
  std::string origin{};                   ///< of code from outside the program, in words: "plugin peaks.so"

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

/// The integer types of a photon image: uint8, uint16, uint32, int16, int32.
const std::vector<PixelType>& photon_types();
/// The same, and float32.
const std::vector<PixelType>& image_types();

/// The declaration as JSON, one object.
std::string json_of(const Declaration& declaration);

}  // namespace rashpa::kernel
