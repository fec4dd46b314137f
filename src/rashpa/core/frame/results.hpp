// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The results of a pipeline for each image besides its pixels: numbers in named columns, and reasons of vetoes.
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

/// A number of an image; its Column gives the type.
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

/// A column with one number for each image, under the name that files and reports use.
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
      false;  ///< sent by the detector in its packets and not computed from pixels; known for each image that came
  friend bool operator==(const Column&, const Column&) = default;
};

/// The value of a header column (type i64) for an image of which nothing came.
inline constexpr std::int64_t kNoHeader = std::numeric_limits<std::int64_t>::min();

constexpr std::string_view name_of(Column::Type type) noexcept {
  constexpr std::string_view names[] = {"uint32", "uint64", "int64", "float64"};
  return names[static_cast<std::uint8_t>(type) & 3U];
}

/// The reasons for a veto in one pipeline. All pipelines share the first five, whose numbers files have always used;
/// the pipeline's own reasons follow.
class VetoReasons {
 public:
  static constexpr std::array<std::string_view, 5> kFirst{"none", "too_few", "too_many", "dark", "partial"};
  static constexpr std::size_t kMost = 255;

  VetoReasons() : names_(kFirst.begin(), kFirst.end()) {}
  /// Returns the number of the reason `name`, and adds it when it is new.
  VetoReason add(std::string_view name) {
    const auto found = std::find(names_.begin(), names_.end(), name);
    const auto at = static_cast<std::size_t>(found - names_.begin());
    if (at == names_.size()) names_.emplace_back(name);
    return static_cast<VetoReason>(at);
  }
  /// Returns the names by number; number 0 is "none".
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }
  friend bool operator==(const VetoReasons&, const VetoReasons&) = default;

 private:
  std::vector<std::string> names_;
};

/// A table of named columns, with 0 to `capacity` rows for each image.
struct Table {
  std::string name;  ///< name of the kernel that makes the table
  std::vector<Column> columns;
  std::uint32_t capacity = 0;  ///< most rows of an image
  friend bool operator==(const Table&, const Table&) = default;
};

/// The rows of one image, stored one after another: column c of row r is values[r · columns + c].
struct TableView {
  const Scalar* values = nullptr;
  std::uint32_t rows = 0;
};

/// The most columns of a table; kMostTableRows is the most rows of an image in a table.
inline constexpr std::size_t kMostTableColumns = 16;
inline constexpr std::uint32_t kMostTableRows = 1U << 20U;
/// Most tables that a pipeline makes.
inline constexpr std::size_t kMostTables = 2;

/// One axis of a profile, or of an accumulation.
struct Axis {
  std::string name;
  std::string unit{};
  std::string doc{};
  std::vector<double> values{};  ///< centre of each bin; empty where a kernel declares the axis without values
  friend bool operator==(const Axis&, const Axis&) = default;
};

/// A profile: arrays with one value for each bin. All images have the same bins.
struct Profile {
  std::string name;            ///< name of the kernel that makes the profile
  std::vector<Column> arrays;  ///< float64; plots show the first one
  std::vector<Axis> axes;      ///< one or two axes, the slow one first
  std::string definition{};    ///< NeXus application definition that names the arrays and axes; empty: none
  [[nodiscard]] std::size_t bins() const noexcept {
    std::size_t bins = 1;
    for (const Axis& axis : axes) bins *= axis.values.size();
    return bins;
  }
  friend bool operator==(const Profile&, const Profile&) = default;
};

/// The arrays of one image, stored one after another: bin b of array a is values[a · bins + b], the slow axis first.
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

/// Arrays of one shape that accumulate over a window of images and become results when the window ends.
/// A window is `window` consecutive images of the buffer's time slice by index, whatever their fate: image i belongs to
/// window i / window. A window is a multiple of a stack and ends with its last stack; an open window ends with the run.
struct Accumulation {
  std::string name;  ///< name of the kernel that makes the accumulation
  std::vector<Quantity> quantities;
  std::vector<std::uint32_t> shape;  ///< of each quantity: rows and columns of an image, or bins of a profile
  std::vector<Axis> axes{};          ///< none, or one for each dimension
  std::uint64_t window = 0;          ///< images; 0: the whole run
  bool accepted = true;              ///< true: only images that the pipeline accepts; false: all that reach the kernel

  [[nodiscard]] std::size_t elements() const noexcept {
    std::size_t all = 1;
    for (const std::uint32_t one : shape) all *= one;
    return all;
  }
  /// Returns the bytes of one window with all its quantities.
  [[nodiscard]] std::size_t bytes() const noexcept {
    std::size_t all = 0;
    for (const Quantity& one : quantities) all += elements() * bytes_of(one.type);
    return all;
  }
  friend bool operator==(const Accumulation&, const Accumulation&) = default;
};

/// The most accumulations of a pipeline; kMostQuantities is the most quantities of one.
inline constexpr std::size_t kMostAccumulations = 2;
inline constexpr std::size_t kMostQuantities = 8;

/// A window that has ended.
struct AccumulatedView {
  std::array<const std::byte*, kMostQuantities> values{};  ///< by quantity, elements row-major
  std::uint64_t window = 0;                                ///< number, from 0
  std::uint64_t first = 0;                                 ///< index of its first image
  std::uint64_t end = 0;                                   ///< index behind its last image; 0: no window has ended
  std::uint64_t images = 0;                                ///< images that were accumulated
  [[nodiscard]] bool ended() const noexcept { return end != 0; }
};
/// One view for each accumulation.
using Accumulated = std::array<AccumulatedView, kMostAccumulations>;

/// The outputs of a pipeline besides pixels and lists. Made once, before the run.
struct Results {
  std::vector<Column> columns;
  VetoReasons reasons;
  std::vector<Table> tables{};
  std::vector<Profile> profiles{};
  std::vector<Accumulation> accumulations{};
  /// Returns the position of the column `name`, or columns.size() when there is none.
  [[nodiscard]] std::size_t column(std::string_view name) const noexcept {
    const auto found =
        std::find_if(columns.begin(), columns.end(), [&](const Column& one) { return one.name == name; });
    return static_cast<std::size_t>(found - columns.begin());
  }
};

}  // namespace rashpa
