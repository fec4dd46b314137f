// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The assembled image of JUNGFRAU modules, with room for the double-size pixels at the borders of chips (README.md).
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rashpa/kernel/contract/step.hpp"
#include "rashpa/kernel/jungfrau/jungfrau.hpp"

namespace rashpa::kernel::jungfrau {

inline constexpr std::uint32_t kChip = 256;             ///< pixels of a chip in each direction
inline constexpr std::uint32_t kUserMasked = 1U << 8U;  ///< NXmx pixel_mask: masked by the user
/// NXmx pixel_mask: the value is a share of another pixel's value
inline constexpr std::uint32_t kVirtual = 1U << 31U;
inline constexpr std::uint32_t kGapBetweenModules = 1U;  ///< NXmx pixel_mask: there is no pixel

/// The mapping of the input image's pixels to the assembled image. A module keeps the place of its first pixel; the run
/// file's geometry places the modules right of it and below it. Constant; any thread.
class Assembly final : public Reshape {
 public:
  /// Consecutive pixels of a row in one chip.
  struct Span {
    std::uint32_t first = 0;  ///< first pixel in the input image
    std::uint32_t count = 0;
    std::uint32_t out = 0;  ///< pixel of the assembled image to which `first` maps
    std::int32_t twin = 0;  ///< for rows of double height: offset of the other row from `out` in pixels; 0: none
    bool left = false;      ///< true: `first` has double width, and out − 1 is its other half
    bool right = false;     ///< true: the last pixel has double width, and the pixel behind it is its other half
    bool odd = false;       ///< true: the row has an odd number in its module
  };
  /// Pixels of the assembled image without a detector pixel.
  struct Gap {
    std::uint32_t out = 0;
    std::uint32_t count = 0;  ///< at most kLongestGap
  };
  static constexpr std::uint32_t kLongestGap = 4096;

  /// Computes the mapping. Throws ConfigError when there is no part, parts of a module are not adjacent, or modules
  /// would overlap.
  Assembly(const Shape& seen, const Shape& module, std::span<const ModulePart> parts, Borders borders);
  [[nodiscard]] Shape shape() const noexcept override { return made_; }
  [[nodiscard]] Region place(const Region& region) const override;
  [[nodiscard]] std::vector<std::uint32_t> mask(std::span<const std::uint32_t> seen) const override;

  [[nodiscard]] const Shape& seen() const noexcept { return seen_; }
  [[nodiscard]] Borders borders() const noexcept { return borders_; }
  [[nodiscard]] std::span<const Span> spans() const noexcept { return spans_; }  ///< in the order of `first`
  [[nodiscard]] std::span<const Gap> gaps() const noexcept { return gaps_; }
  /// Returns true when a pixel of the input image has double size. Slow, for set-up and tests.
  [[nodiscard]] bool is_double(std::size_t pixel) const noexcept;

 private:
  /// A module's part in the image: module columns from sx on begin at column x, module rows from sy on at row y.
  struct Module {
    std::uint32_t number = 0;
    std::uint32_t x = 0, y = 0, sx = 0, sy = 0, width = 0, height = 0;
  };
  void collect_modules(std::span<const ModulePart> parts);
  void check_overlaps() const;
  void make_spans(const ModulePart& part);
  void make_gaps();
  [[nodiscard]] Region made(const Module& module) const noexcept;
  [[nodiscard]] const Module& module_of(const ModulePart& part) const noexcept;

  Shape seen_;
  Shape made_;
  Shape module_whole_;
  Borders borders_;
  std::vector<Module> modules_;
  std::vector<Span> spans_;
  std::vector<Gap> gaps_;
};

/// The source of an assembled pixel, for devices that gather: the pixel of the input image, and the share of its value.
/// Slow, for set-up.
struct Origin {
  enum Part : std::uint8_t { whole, less, more };
  static constexpr std::uint32_t kNone = ~0U;
  std::uint32_t pixel = kNone;  ///< kNone: a gap, without a source
  Part across = whole;          ///< share of the value across columns
  Part down = whole;            ///< share of that across rows
};
std::vector<Origin> origins_of(const Assembly& assembly);

/// Assembles a converted image, int16 or float32 as `output` says. The plain reference: slow, obvious, the truth.
void assemble_reference(const Assembly& assembly, Output output, const void* converted, void* out);

/// Converts and assembles images on several threads. Nothing allocates after construction.
class Assembler {
 public:
  /// Takes the memory. `assembly` outlives the object. Throws ResourceError when there is no memory.
  Assembler(const Assembly& assembly, Output output, unsigned workers);
  /// Converts and assembles pixels [first, last) of the input images; `first` is a multiple of 4096, and Images::out
  /// are assembled images. Several threads call it at once, each with its own `worker`, for different pixels.
  void convert(unsigned worker, const Prepared& calibration, const Images& images, std::size_t first,
               std::size_t last) noexcept;

 private:
  const Assembly* assembly_;
  Output output_;
  std::size_t worker_bytes_;
  memory::Buffer scratch_;  // of each worker: converted pixels of some images, a line, its twin
};

}  // namespace rashpa::kernel::jungfrau
