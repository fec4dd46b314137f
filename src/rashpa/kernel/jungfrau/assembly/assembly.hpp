// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The assembled image of JUNGFRAU modules: room for the pixels of double size at the borders of chips (README.md).
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rashpa/kernel/contract/step.hpp"
#include "rashpa/kernel/jungfrau/jungfrau.hpp"

namespace rashpa::kernel::jungfrau {

inline constexpr std::uint32_t kChip = 256;              ///< pixels of a chip, both ways
inline constexpr std::uint32_t kUserMasked = 1U << 8U;   ///< NXmx pixel_mask: masked by choice
inline constexpr std::uint32_t kVirtual = 1U << 31U;     ///< NXmx pixel_mask: its value is a share of another pixel's
inline constexpr std::uint32_t kGapBetweenModules = 1U;  ///< NXmx pixel_mask: no pixel is here

/// Describes where every pixel of the image seen lies in the assembled one. A module keeps the place of its first
/// pixel; the run file's geometry places the modules right of and below it. Does not change; any thread.
class Assembly final : public Reshape {
 public:
  /// Some pixels of a row that belong to one chip.
  struct Span {
    std::uint32_t first = 0;  ///< pixel of the image seen
    std::uint32_t count = 0;
    std::uint32_t out = 0;  ///< pixel of the assembled image at which `first` lies
    std::int32_t twin = 0;  ///< rows of double height: the other row, in pixels from `out`; 0: there is none
    bool left = false;      ///< `first` is of double width: out − 1 is its other half
    bool right = false;     ///< the last one is of double width: so is the pixel behind it
    bool odd = false;       ///< the module's row has an odd number
  };
  /// Pixels of the assembled image that no pixel of the detector fills.
  struct Gap {
    std::uint32_t out = 0;
    std::uint32_t count = 0;  ///< at most kLongestGap
  };
  static constexpr std::uint32_t kLongestGap = 4096;

  /// Throws ConfigError when there is no part, parts of a module lie apart, or modules would lie on each other.
  Assembly(const Shape& seen, const Shape& module, std::span<const ModulePart> parts, Borders borders);
  [[nodiscard]] Shape shape() const noexcept override { return made_; }
  [[nodiscard]] Region place(const Region& region) const override;
  [[nodiscard]] std::vector<std::uint32_t> mask(std::span<const std::uint32_t> seen) const override;

  [[nodiscard]] const Shape& seen() const noexcept { return seen_; }
  [[nodiscard]] Borders borders() const noexcept { return borders_; }
  [[nodiscard]] std::span<const Span> spans() const noexcept { return spans_; }  ///< by `first`
  [[nodiscard]] std::span<const Gap> gaps() const noexcept { return gaps_; }
  /// Returns true when a pixel of the image seen has double size. For set-up and tests: slow.
  [[nodiscard]] bool is_double(std::size_t pixel) const noexcept;

 private:
  /// The image's part of a module: columns from sx on at column x, rows from sy on at row y.
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

/// Describes where the value of each pixel of the assembled image comes from, for devices that gather: the pixel of the
/// image seen, and its share of that value. Slow; for set-up.
struct Origin {
  enum Part : std::uint8_t { whole, less, more };
  static constexpr std::uint32_t kNone = ~0U;
  std::uint32_t pixel = kNone;  ///< kNone: a gap
  Part across = whole;          ///< of the value
  Part down = whole;            ///< of that
};
std::vector<Origin> origins_of(const Assembly& assembly);

/// The plain reference: a converted image, int16 or float32 as `output` says, assembled. Slow, obvious, the truth.
void assemble_reference(const Assembly& assembly, Output output, const void* converted, void* out);

/// Converts and assembles, for several threads. Nothing allocates after construction.
class Assembler {
 public:
  /// `assembly` outlives it. Throws ResourceError when there is no memory.
  Assembler(const Assembly& assembly, Output output, unsigned workers);
  /// Pixels [first, last) of the images seen, `first` a multiple of 4096; Images::out are assembled images. Several
  /// threads at once, each with its own `worker`, for different pixels.
  void convert(unsigned worker, const Prepared& calibration, const Images& images, std::size_t first,
               std::size_t last) noexcept;

 private:
  const Assembly* assembly_;
  Output output_;
  std::size_t worker_bytes_;
  memory::Buffer scratch_;  // of each worker: converted pixels of some images, a line, its twin
};

}  // namespace rashpa::kernel::jungfrau
