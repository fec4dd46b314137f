// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The results of a pipeline for every image besides its pixels: numbers in named columns, and the reasons of its
/// vetoes.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "rashpa/core/frame/decision.hpp"

namespace rashpa {

/// One number of one image; its Column says how to read it.
class Scalar {
 public:
  constexpr Scalar() noexcept = default;
  static constexpr Scalar of_count(std::uint64_t value) noexcept { return Scalar(value); }
  static constexpr Scalar of_integer(std::int64_t value) noexcept {
    return Scalar(std::bit_cast<std::uint64_t>(value));
  }
  static constexpr Scalar of_real(double value) noexcept { return Scalar(std::bit_cast<std::uint64_t>(value)); }
  [[nodiscard]] constexpr std::uint64_t count() const noexcept { return bits_; }
  [[nodiscard]] constexpr std::int64_t integer() const noexcept { return std::bit_cast<std::int64_t>(bits_); }
  [[nodiscard]] constexpr double real() const noexcept { return std::bit_cast<double>(bits_); }
  friend constexpr bool operator==(const Scalar&, const Scalar&) = default;

 private:
  constexpr explicit Scalar(std::uint64_t bits) noexcept : bits_(bits) {}
  std::uint64_t bits_ = 0;
};

/// A column of numbers, one an image, as files and reports name it.
struct Column {
  enum class Type : std::uint8_t {
    u32,  ///< Scalar::count, below 2^32
    u64,  ///< Scalar::count
    i64,  ///< Scalar::integer
    f64,  ///< Scalar::real
  };
  std::string name;
  Type type = Type::u32;
  std::string unit{};  ///< "pixels", "photons", …
  std::string doc{};
  bool of_header =
      false;  ///< said by the detector with its packets, and not found in pixels: known of every image that came
  friend bool operator==(const Column&, const Column&) = default;
};

/// The value of a column of the header, of which all are i64, for an image of which nothing came.
inline constexpr std::int64_t kNoHeader = std::numeric_limits<std::int64_t>::min();

constexpr std::string_view name_of(Column::Type type) noexcept {
  constexpr std::string_view names[] = {"uint32", "uint64", "int64", "float64"};
  return names[static_cast<std::uint8_t>(type) & 3U];
}

/// The reasons that a veto of one pipeline can have. The first five are the same in every pipeline, as files have
/// numbered them from the beginning; those that only this pipeline has follow.
class VetoReasons {
 public:
  static constexpr std::array<std::string_view, 5> kFirst{"none", "too_few", "too_many", "dark", "partial"};
  static constexpr std::size_t kMost = 255;

  VetoReasons() : names_(kFirst.begin(), kFirst.end()) {}
  /// The number of the reason `name`, which is added when it is new.
  VetoReason add(std::string_view name) {
    const auto found = std::find(names_.begin(), names_.end(), name);
    const auto at = static_cast<std::size_t>(found - names_.begin());
    if (at == names_.size()) names_.emplace_back(name);
    return static_cast<VetoReason>(at);
  }
  /// The names by number, from 0; "none" is the first.
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }
  friend bool operator==(const VetoReasons&, const VetoReasons&) = default;

 private:
  std::vector<std::string> names_;
};

/// Rows of named columns, any number of them an image up to `capacity`.
struct Table {
  std::string name;  ///< of the kernel that makes it
  std::vector<Column> columns;
  std::uint32_t capacity = 0;  ///< most rows of an image
  friend bool operator==(const Table&, const Table&) = default;
};

/// The rows of one image, one after the other: value of column c in row r at values[r · columns + c].
struct TableView {
  const Scalar* values = nullptr;
  std::uint32_t rows = 0;
};

/// Most columns of a table, and most rows of an image in one.
inline constexpr std::size_t kMostTableColumns = 16;
inline constexpr std::uint32_t kMostTableRows = 1U << 20U;
/// Most tables that a pipeline makes.
inline constexpr std::size_t kMostTables = 2;

/// One axis of a profile, or of an accumulation.
struct Axis {
  std::string name;
  std::string unit{};
  std::string doc{};
  std::vector<double> values{};  ///< one a bin: its centre; empty where a kernel only declares that there is the axis
  friend bool operator==(const Axis&, const Axis&) = default;
};

/// Arrays of fixed length, one value a bin: the same bins for every image.
struct Profile {
  std::string name;            ///< of the kernel that makes it
  std::vector<Column> arrays;  ///< float64; plots show the first one
  std::vector<Axis> axes;      ///< one or two, the slow one first
  std::string definition{};    ///< NeXus application definition that arrays and axes are named after; empty: none
  [[nodiscard]] std::size_t bins() const noexcept {
    std::size_t bins = 1;
    for (const Axis& axis : axes) bins *= axis.values.size();
    return bins;
  }
  friend bool operator==(const Profile&, const Profile&) = default;
};

/// The arrays of one image, one after the other: bin b of array a at values[a · bins + b], the slow axis first.
struct ProfileView {
  const double* values = nullptr;
};

/// Most arrays of a profile, and most bins of an array.
inline constexpr std::size_t kMostProfileArrays = 8;
inline constexpr std::size_t kMostProfileBins = 1U << 22U;
/// Most profiles that a pipeline makes.
inline constexpr std::size_t kMostProfiles = 2;

/// One of the arrays of an accumulation.
struct Quantity {
  enum class Type : std::uint8_t { u32, i32, i64, f32, f64 };
  std::string name;  ///< "sum", "mean", …
  Type type = Type::f64;
  std::string unit{};
  std::string doc{};
  friend bool operator==(const Quantity&, const Quantity&) = default;
};

constexpr std::uint32_t bytes_of(Quantity::Type type) noexcept {
  return type == Quantity::Type::i64 || type == Quantity::Type::f64 ? 8 : 4;
}
constexpr std::string_view name_of(Quantity::Type type) noexcept {
  constexpr std::string_view names[] = {"uint32", "int32", "int64", "float32", "float64"};
  return names[static_cast<std::size_t>(type)];
}

/// Arrays of one shape that grow over many images, and are results when their window of images ends.
///
/// A window is `window` consecutive images of the buffer's time slice, by index, whatever becomes of them: image i
/// belongs to window i / window. It is a multiple of a stack. Windows end with their last stack, the one that is open
/// at the end of the run ends there.
struct Accumulation {
  std::string name;  ///< of the kernel that makes it
  std::vector<Quantity> quantities;
  std::vector<std::uint32_t> shape;  ///< of each quantity: rows, columns of an image; bins of a profile
  std::vector<Axis> axes{};          ///< none, or one for each dimension
  std::uint64_t window = 0;          ///< images; 0: the whole run
  bool accepted = true;              ///< only images that the pipeline accepts; otherwise all that reach the kernel

  [[nodiscard]] std::size_t elements() const noexcept {
    std::size_t all = 1;
    for (const std::uint32_t one : shape) all *= one;
    return all;
  }
  /// The bytes of one window, all quantities together.
  [[nodiscard]] std::size_t bytes() const noexcept {
    std::size_t all = 0;
    for (const Quantity& one : quantities) all += elements() * bytes_of(one.type);
    return all;
  }
  friend bool operator==(const Accumulation&, const Accumulation&) = default;
};

/// Most accumulations that a pipeline makes, most quantities of one.
inline constexpr std::size_t kMostAccumulations = 2;
inline constexpr std::size_t kMostQuantities = 8;

/// A window that has ended.
struct AccumulatedView {
  std::array<const std::byte*, kMostQuantities> values{};  ///< by quantity, elements row-major
  std::uint64_t window = 0;                                ///< number, from 0
  std::uint64_t first = 0;                                 ///< index of its first image
  std::uint64_t end = 0;                                   ///< behind its last one; 0: no window has ended
  std::uint64_t images = 0;                                ///< that were added up
  [[nodiscard]] bool ended() const noexcept { return end != 0; }
};
/// One view for each accumulation.
using Accumulated = std::array<AccumulatedView, kMostAccumulations>;

/// The outputs of a pipeline beside pixels and lists; made once, before the run.
struct Results {
  std::vector<Column> columns;
  VetoReasons reasons;
  std::vector<Table> tables{};
  std::vector<Profile> profiles{};
  std::vector<Accumulation> accumulations{};
  /// Place of the column, or columns.size().
  [[nodiscard]] std::size_t column(std::string_view name) const noexcept {
    const auto found =
        std::find_if(columns.begin(), columns.end(), [&](const Column& one) { return one.name == name; });
    return static_cast<std::size_t>(found - columns.begin());
  }
};

}  // namespace rashpa
