// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/outside/image_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::kernel::outside {

namespace {

constexpr std::size_t kMostName = 48;
constexpr std::size_t kMostText = 400;
constexpr std::size_t kMostReasons = 32;
constexpr std::size_t kMostParameters = 64;

bool is_lower(char c) noexcept { return c >= 'a' && c <= 'z'; }
bool is_name(std::string_view text) noexcept {
  return !text.empty() && text.size() <= kMostName && is_lower(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_lower(c) || (c >= '0' && c <= '9') || c == '_'; });
}
/// Returns true when `text` can name an array of a profile: capital letters, too, as in I and I_errors.
bool is_array_name(std::string_view text) noexcept {
  std::string small(text);
  for (char& c : small) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return is_name(small);
}
/// Returns true when a text can go into files, telegrams and terminals.
bool is_text(std::string_view text) noexcept {
  return text.size() <= kMostText && std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

/// Collects what all messages begin with.
class Check {
 public:
  explicit Check(const Declaration& declaration) : origin_(declaration.origin) {}
  void that(bool good, const std::string& what) const {
    if (!good) throw ConfigError(fmt::format("{}: its declaration is wrong: {}; correct it", origin_, what));
  }
  void name(std::string_view what, const std::string& text) const {
    that(is_name(text),
         fmt::format("{} must be a small letter and then small letters, digits or _, at most {}", what, kMostName));
  }
  void array_name(std::string_view what, const std::string& text) const {
    that(is_array_name(text),
         fmt::format("{} must be a letter and then letters, digits or _, at most {}", what, kMostName));
  }
  void text(std::string_view what, const std::string& text) const {
    that(is_text(text), fmt::format("{} must be printable ASCII, at most {} characters", what, kMostText));
  }
  template <typename List, typename Name>
  void differ(std::string_view what, const List& list, Name name) const {
    for (auto one = list.begin(); one != list.end(); ++one) {
      const auto twice = [&](const auto& other) { return name(other) == name(*one); };
      that(std::none_of(list.begin(), one, twice), fmt::format("the {} {} is there twice", what, name(*one)));
    }
  }

 private:
  std::string origin_;
};

void check_parameters(const Check& check, const std::vector<Parameter>& parameters) {
  check.that(parameters.size() <= kMostParameters, fmt::format("more than {} parameters", kMostParameters));
  for (const Parameter& one : parameters) {
    check.name("the name of a parameter", one.name);
    check.text("the words of parameter " + one.name, one.doc);
    const bool bounded = one.kind == Parameter::Kind::integer || one.kind == Parameter::Kind::number;
    check.that(bounded || one.kind == Parameter::Kind::flag || one.kind == Parameter::Kind::text,
               fmt::format("parameter {} is of no known kind", one.name));
    check.that(bounded || (!one.least && !one.most), fmt::format("parameter {} can have no bounds", one.name));
    check.that(!one.least || !one.most || *one.least <= *one.most,
               fmt::format("of parameter {} the least is more than the most", one.name));
    if (!one.standard) continue;
    try {
      checked("default", one, *one.standard);
    } catch (const ConfigError& error) {
      check.that(false, error.what());
    }
  }
  check.differ("parameter", parameters, [](const Parameter& one) { return one.name; });
}

void check_columns(const Check& check, const Port& port, std::size_t most) {
  check.that(!port.columns.empty(), "a port without a column");
  check.that(port.columns.size() <= most, fmt::format("{} columns, {} at most", port.columns.size(), most));
  for (const Column& one : port.columns) {
    if (port.kind == Port::Kind::profile) {
      check.array_name("the name of an array", one.name);
    } else {
      check.name("the name of a column", one.name);
    }
    check.that(static_cast<unsigned>(one.type) <= static_cast<unsigned>(Column::Type::f64),
               fmt::format("column {} is of no known type", one.name));
    check.text("the unit of column " + one.name, one.unit);
    check.text("the words of column " + one.name, one.doc);
  }
  check.differ("column", port.columns, [](const Column& one) { return one.name; });
}

/// The first number that does not fit its column, in words; empty: all do. A value that would be cut is refused.
std::string misfit(const std::vector<Column>& columns, const Scalar* numbers) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].type != Column::Type::u32 || numbers[i].count() <= std::numeric_limits<std::uint32_t>::max())
      continue;
    return fmt::format("{} is {}, which is not uint32; declare it as uint64", columns[i].name, numbers[i].count());
  }
  return {};
}

class Pass final : public CpuPass {
 public:
  Pass(const Declaration& declaration, std::uint32_t table_rows, std::size_t profile, const MakeImageFunctions& make,
       const Setup& setup)
      : name_(declaration.name),
        reasons_(declaration.made(Port::Kind::verdict) ? declaration.made(Port::Kind::verdict)->reasons.size() : 0),
        table_rows_(table_rows),
        profile_(profile),
        profiles_(setup.places * profile),
        found_(setup.stack) {
    if (const Port* scalars = declaration.made(Port::Kind::scalars)) columns_ = scalars->columns;
    if (const Port* table = declaration.made(Port::Kind::table)) {
      row_ = table->columns;
      table_parameter_ = table->capacity;
      rows_ = memory::Buffer(std::size_t{setup.places} * table_rows_ * row_.size() * sizeof(Scalar),
                             memory::MemoryKind::huge);
    }
    scalars_.resize(setup.stack * columns_.size());
    why_.reserve(kMostText);
    functions_ = make(setup);
  }

  [[nodiscard]] Grain grain() const noexcept override { return Grain::image; }
  void begin(std::size_t /*items*/) noexcept override {
    std::fill(scalars_.begin(), scalars_.end(), Scalar{});
    std::fill(found_.begin(), found_.end(), Found{});
  }
  void run(unsigned worker, const Items& items, std::size_t /*first*/, std::size_t /*last*/) noexcept override {
    for (std::size_t i = 0; i < items.count; ++i) {
      Scalar* rows = nullptr;
      if (!row_.empty()) {
        rows = reinterpret_cast<Scalar*>(rows_.data()) + std::size_t{items.place[i]} * table_rows_ * row_.size();
      }
      double* profile = profile_ > 0 ? profiles_.data() + items.place[i] * profile_ : nullptr;
      found_[items.first + i] = look(worker, items.in[i], items.first + i, rows, profile);
    }
  }
  void finish(std::size_t item, Finding& finding) noexcept override {
    const Found& found = found_[item];
    finding.failed = found.failed;
    if (found.failed) return;
    std::copy_n(scalars_.data() + item * columns_.size(), columns_.size(), finding.scalars);
    finding.verdict = found.verdict;
    finding.table = found.table;
    finding.profile = found.profile;
  }
  [[nodiscard]] std::string failure() const override {
    const std::lock_guard lock(mutex_);
    return why_;
  }

 private:
  struct Found {
    bool failed = false;
    std::uint8_t verdict = 0;
    TableView table{};
    ProfileView profile{};
  };

  Found look(unsigned worker, const std::byte* pixels, std::size_t item, Scalar* rows, double* profile) noexcept {
    if (profile != nullptr) std::fill_n(profile, profile_, 0.0);
    ImageFindings findings{.scalars = scalars_.data() + item * columns_.size(),
                           .rows = rows,
                           .row_capacity = table_rows_,
                           .profile = profile};
    std::string why;
    bool good = functions_[worker]->look(pixels, findings, why);
    if (good) {
      why = wrong_of(findings);
      good = why.empty();
    }
    if (!good) {
      note(why);
      return {.failed = true};
    }
    return {.verdict = static_cast<std::uint8_t>(findings.verdict),
            .table = {rows, findings.row_count},
            .profile = {profile}};
  }

  /// The fault in its results, in words; empty: none.
  [[nodiscard]] std::string wrong_of(const ImageFindings& found) const {
    if (found.verdict > reasons_) {
      return fmt::format("its verdict is {}, and it declares {} reasons", found.verdict, reasons_);
    }
    if (found.row_count > table_rows_) {
      return fmt::format("{} rows are found in the image, and its table holds {}; set a larger {}", found.row_count,
                         table_rows_, table_parameter_);
    }
    std::string wrong = misfit(columns_, found.scalars);
    for (std::uint32_t row = 0; row < found.row_count && wrong.empty(); ++row) {
      wrong = misfit(row_, found.rows + row * row_.size());
    }
    return wrong;
  }

  /// Takes a lock, and only for an image that is lost anyway.
  void note(const std::string& why) noexcept {
    const std::lock_guard lock(mutex_);
    if (why_.empty()) why_ = fmt::format("kernel {}: {}", name_, why.empty() ? "it failed and does not say why" : why);
  }

  std::string name_;
  std::size_t reasons_;
  std::uint32_t table_rows_;
  std::string table_parameter_;
  std::vector<Column> columns_;
  std::vector<Column> row_;       // columns of the table
  std::size_t profile_;           // values of an image's profile
  std::vector<double> profiles_;  // [place][value]
  std::vector<Found> found_;      // by item
  std::vector<Scalar> scalars_;   // [item][column]
  memory::Buffer rows_;           // Scalar [place][row][column]
  ImageFunctions functions_;      // by worker
  mutable std::mutex mutex_;
  std::string why_;
};

class ImageStep final : public Step, public Tabling, public Profiling {
 public:
  ImageStep(Declaration declaration, std::uint32_t table_rows, MakeImageFunctions make, std::vector<Axis> axes)
      : declaration_(std::move(declaration)), table_rows_(table_rows), make_(std::move(make)), axes_(std::move(axes)) {}
  [[nodiscard]] const Declaration& declaration() const noexcept override { return declaration_; }
  [[nodiscard]] PixelFormat fit(const Shape& /*shape*/, PixelFormat in) const override { return in; }
  [[nodiscard]] std::uint32_t table_capacity() const override { return table_rows_; }
  [[nodiscard]] std::vector<Axis> axes() const override { return axes_; }
  [[nodiscard]] std::unique_ptr<CpuPass> on_cpu(const Setup& setup) const override {
    const Port* port = declaration_.made(Port::Kind::profile);
    std::size_t values = port != nullptr ? port->columns.size() : 0;
    for (const Axis& axis : axes_) values *= axis.values.size();
    return std::make_unique<Pass>(declaration_, table_rows_, values, make_, setup);
  }

 private:
  Declaration declaration_;
  std::uint32_t table_rows_;
  MakeImageFunctions make_;
  std::vector<Axis> axes_;
};

}  // namespace

void check_outside(const Declaration& declaration) {
  const Check check(declaration);
  check.name("its name", declaration.name);
  check.text("its purpose", declaration.purpose);
  check.that(!declaration.takes.pixels.empty(), "it takes no type of pixels");
  check_parameters(check, declaration.parameters);
  check.that(!declaration.makes.empty(), "it makes nothing: no column, no reason, no table, no profile");
  for (const Port& port : declaration.makes) {
    switch (port.kind) {
      case Port::Kind::scalars:
        check_columns(check, port, kMostColumns);
        break;
      case Port::Kind::table: {
        check_columns(check, port, kMostTableColumns);
        const auto& all = declaration.parameters;
        const auto rows =
            std::find_if(all.begin(), all.end(), [&](const Parameter& one) { return one.name == port.capacity; });
        check.that(rows != all.end() && rows->kind == Parameter::Kind::integer && rows->least.value_or(0) >= 1 &&
                       rows->most.value_or(kMostTableRows + 1.0) <= kMostTableRows,
                   fmt::format("its table needs an integer parameter that says how many rows of an image there is room "
                               "for, with bounds from 1 up to {} at most",
                               kMostTableRows));
        break;
      }
      case Port::Kind::profile:
        check_columns(check, port, kMostProfileArrays);
        for (const Column& one : port.columns) {
          check.that(one.type == Column::Type::f64, fmt::format("array {} of its profile is not float64", one.name));
        }
        check.that(!port.axes.empty() && port.axes.size() <= 2, "its profile needs one axis or two");
        for (const Axis& one : port.axes) {
          check.name("the name of an axis", one.name);
          check.text("the unit of axis " + one.name, one.unit);
          check.text("the words of axis " + one.name, one.doc);
          const auto same = [&](const Column& array) { return array.name == one.name; };
          check.that(std::none_of(port.columns.begin(), port.columns.end(), same),
                     fmt::format("an array and an axis are both called {}", one.name));
        }
        check.differ("axis", port.axes, [](const Axis& one) { return one.name; });
        break;
      case Port::Kind::verdict:
        check.that(!port.reasons.empty() && port.reasons.size() <= kMostReasons,
                   fmt::format("a verdict has 1 to {} reasons", kMostReasons));
        for (const std::string& reason : port.reasons) check.name("the name of a reason", reason);
        check.differ("reason", port.reasons, [](const std::string& one) { return one; });
        break;
      default:
        check.that(false, "it can make columns, a verdict, a table and a profile, neither pixels nor lists");
    }
  }
  check.differ("port", declaration.makes, [](const Port& port) { return static_cast<int>(port.kind); });
}

std::shared_ptr<const Step> image_step(Declaration declaration, std::uint32_t table_rows, MakeImageFunctions make,
                                       std::vector<Axis> axes) {
  check_outside(declaration);
  const Port* profile = declaration.made(Port::Kind::profile);
  std::size_t bins = 1;
  for (const Axis& axis : axes) {
    const bool finite =
        std::all_of(axis.values.begin(), axis.values.end(), [](double value) { return std::isfinite(value); });
    Check(declaration).that(finite, fmt::format("axis {} has values that are no numbers", axis.name));
    bins = axis.values.size() > kMostProfileBins ? 0 : bins * axis.values.size();
  }
  Check(declaration)
      .that(axes.size() == (profile != nullptr ? profile->axes.size() : 0) && bins > 0 && bins <= kMostProfileBins,
            fmt::format("its profile has {} bins; make 1 to {}", bins, kMostProfileBins));
  return std::make_shared<ImageStep>(std::move(declaration), table_rows, std::move(make), std::move(axes));
}

}  // namespace rashpa::kernel::outside
