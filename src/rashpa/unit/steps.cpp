// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/steps.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <span>

#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/kernel/photons/photons.hpp"

namespace rashpa::unit {

namespace {

using kernel::Declaration;
using kernel::Port;
using kernel::Tap;

void check_size(const kernel::Shape& shape) {
  if (shape.pixels() > std::numeric_limits<std::uint32_t>::max()) {
    throw ConfigError(fmt::format("unit: an image of {} × {} pixels is too large; use 2^32 − 1 pixels or fewer",
                                  shape.width, shape.height));
  }
}

void check(const Layout& layout) {
  if (layout.width == 0 || layout.height == 0 || layout.stack == 0 || layout.stacks == 0) {
    throw ConfigError(
        fmt::format("unit: layout of {} × {} pixels, {} images a stack, {} stacks has a 0; give 1 or more of each",
                    layout.width, layout.height, layout.stack, layout.stacks));
  }
  check_size({layout.width, layout.height});
}

std::string names_of(const std::vector<PixelType>& types) {
  std::string text;
  for (const PixelType type : types) text += fmt::format("{}{}", text.empty() ? "" : ", ", pixel_name(type));
  return text;
}

void check_pixels(const Declaration& declaration, PixelType given, const std::string& maker) {
  const auto& taken = declaration.takes.pixels;
  if (std::find(taken.begin(), taken.end(), given) != taken.end()) return;
  const std::string advice = maker.empty() ? "set the buffer's pixel, or put a kernel before it that makes them"
                                           : fmt::format("change what {} makes, or the order", maker);
  throw ConfigError(fmt::format("unit: {} needs {} pixels, {} {}; {}", declaration.name, names_of(taken),
                                maker.empty() ? "the buffer has" : maker + " makes", pixel_name(given), advice));
}

/// Photons are integers. The unit of float32 pixels, keV or another, is not known here.
std::vector<Column> in_units_of(const PlannedStep& step, std::vector<Column> columns) {
  for (Column& column : columns) {
    if (step.in.type == PixelType::f32 && column.unit == "photons") column.unit.clear();
  }
  return columns;
}

void add_profile(const Port& port, PlannedStep& step, std::vector<Profile>& profiles) {
  const std::string& name = step.step->declaration().name;
  if (profiles.size() == kMostProfiles) {
    throw ConfigError(fmt::format("unit: {} makes a profile, as {} kernels before it do; {} at most, leave one out",
                                  name, kMostProfiles, kMostProfiles));
  }
  Profile profile{.name = name,
                  .arrays = in_units_of(step, port.columns),
                  .axes = step.step->axes(),
                  .definition = port.definition};
  const bool fits = !profile.axes.empty() && profile.axes.size() <= 2 && !profile.arrays.empty() &&
                    profile.arrays.size() <= kMostProfileArrays && profile.bins() > 0 &&
                    profile.bins() <= kMostProfileBins;
  if (!fits) {
    throw ConfigError(fmt::format(
        "unit: {} makes a profile of {} arrays, {} axes and {} bins; 1 to {} arrays, one or two axes and 1 to {} "
        "bins are possible",
        name, profile.arrays.size(), profile.axes.size(), profile.axes.empty() ? 0 : profile.bins(), kMostProfileArrays,
        kMostProfileBins));
  }
  step.profile = profiles.size();
  profiles.push_back(std::move(profile));
}

void add_accumulation(const Accumulation& made, std::uint32_t stack, PlannedStep& step, Results& results) {
  const std::vector<Accumulation>& known = results.accumulations;
  if (known.size() == kMostAccumulations) {
    throw ConfigError(fmt::format("unit: {} accumulates images, as {} kernels before it do; leave one out", made.name,
                                  kMostAccumulations));
  }
  if (made.window % stack != 0) {
    throw ConfigError(fmt::format("kernel {}: window: {} images are not a whole number of stacks of {}; take {}",
                                  made.name, made.window, stack, (made.window / stack + 1) * stack));
  }
  step.accumulation = known.size();
  results.accumulations.push_back(made);
}

/// An addition cannot be taken back: no later step may refuse an image.
void check_behind_accumulation(const Declaration& declaration, const Results& results) {
  const auto& sums = results.accumulations;
  const auto found = std::find_if(sums.begin(), sums.end(), [](const Accumulation& one) { return one.accepted; });
  if (found == sums.end()) return;
  const bool may_refuse = declaration.made(Port::Kind::verdict) != nullptr ||
                          declaration.made(Port::Kind::list) != nullptr ||
                          declaration.made(Port::Kind::table) != nullptr || !declaration.origin.empty();
  if (!may_refuse) return;
  throw ConfigError(
      fmt::format("unit: {} can refuse images that {} has added up; put it before", declaration.name, found->name));
}

/// Columns and reasons of a step, behind those of the steps before it.
void add_results(const Declaration& declaration, const kernel::Shape& shape, std::uint32_t stack, PlannedStep& step,
                 Results& results) {
  step.first_column = results.columns.size();
  if (const Port* scalars = declaration.made(Port::Kind::scalars)) {
    for (const Column& column : in_units_of(step, scalars->columns)) {
      if (results.column(column.name) != results.columns.size()) {
        throw ConfigError(
            fmt::format("unit: {} makes the column {}, which a kernel before it makes, too; leave one out",
                        declaration.name, column.name));
      }
      results.columns.push_back(column);
    }
  }
  if (results.columns.size() > kMostColumns) {
    throw ConfigError(fmt::format(
        "unit: the kernels of the pipeline make {} numbers an image; leave kernels out until there are {} or fewer",
        results.columns.size(), kMostColumns));
  }
  if (const Port* table = declaration.made(Port::Kind::table)) {
    if (results.tables.size() == kMostTables) {
      throw ConfigError(fmt::format("unit: {} makes a table, as {} kernels before it do; {} at most, leave one out",
                                    declaration.name, kMostTables, kMostTables));
    }
    step.table = results.tables.size();
    results.tables.push_back({declaration.name, table->columns, step.step->table_capacity()});
  }
  if (const Port* profile = declaration.made(Port::Kind::profile)) add_profile(*profile, step, results.profiles);
  if (auto accumulation = step.step->accumulation(shape, step.in))
    add_accumulation(*accumulation, stack, step, results);
  if (const Port* verdict = declaration.made(Port::Kind::verdict)) {
    for (const std::string& reason : verdict->reasons) step.reasons.push_back(results.reasons.add(reason));
  }
}

/// Lets steps ride on the one that made their pixels, as far as that one offers it and nobody else does.
void fuse(Steps& steps) {
  PlannedStep* maker = nullptr;
  for (PlannedStep& step : steps.steps) {
    if (maker != nullptr) {
      const auto count = step.step->count_tap();
      const auto mark = step.step->mark_tap();
      if (count && !maker->count_at && maker->step->offers(Tap::count) &&
          step.step->declaration().rides_on(Tap::count)) {
        step.rides = count;
        maker->count_at = count->threshold;
      } else if (mark && !maker->mark_at && maker->step->offers(Tap::mark) &&
                 step.step->declaration().rides_on(Tap::mark)) {
        step.marked = true;
        maker->mark_at = mark;
        steps.marks = true;
      }
    }
    if (step.makes_pixels) maker = &step;
  }
}

}  // namespace

Steps steps_of(const Pipeline& pipeline, const Layout& layout) {
  check(layout);
  kernel::Shape shape{layout.width, layout.height};
  Steps steps;
  steps.partial = pipeline.partial;
  steps.keep_darks = pipeline.keep_darks;
  steps.last_maker = pipeline.kernels.size();
  kernel::PixelFormat format = kernel::format_of(layout.input, layout.masked, layout.largest_count);
  std::string maker;
  std::string lister;
  for (const kernel::StepOf& step : pipeline.kernels) {
    const Declaration& declaration = step->declaration();
    for (const PlannedStep& earlier : steps.steps) {
      if (declaration.several) break;
      if (&earlier.step->declaration() == &declaration || earlier.step->declaration().name == declaration.name) {
        throw ConfigError(fmt::format("unit: {} is twice in the pipeline; leave one out", declaration.name));
      }
    }
    if (declaration.takes_pixels()) check_pixels(declaration, format.type, maker);
    if (declaration.delivered && !maker.empty()) {
      throw ConfigError(
          fmt::format("unit: {} reads pixels as the detector delivers them, {} makes others; put it before",
                      declaration.name, maker));
    }
    step->fit_columns(steps.output.results.columns);
    PlannedStep planned{
        .step = step, .in = format, .out = step->fit(shape, format), .in_shape = shape, .out_shape = shape};
    planned.makes_pixels = declaration.made(Port::Kind::pixels) != nullptr;
    if (const auto reshape = step->reshape(shape)) {
      planned.out_shape = reshape->shape();
      check_size(planned.out_shape);
    }
    planned.makes_list = declaration.made(Port::Kind::list) != nullptr;
    const bool vetoes = declaration.made(Port::Kind::verdict) != nullptr;
    if (!lister.empty() && (vetoes || planned.makes_pixels || planned.makes_list)) {
      throw ConfigError(fmt::format("unit: {} stands behind {}; put it before", declaration.name, lister));
    }
    if (planned.makes_list) {
      lister = declaration.name;
      steps.output.list_capacity = step->list_capacity(shape);
    }
    check_behind_accumulation(declaration, steps.output.results);
    add_results(declaration, shape, layout.stack, planned, steps.output.results);
    if (planned.makes_pixels) {
      steps.last_maker = steps.steps.size();
      maker = declaration.name;
    }
    if (step->learns_from_darks()) {
      if (!steps.output.results.accumulations.empty() && !pipeline.keep_darks) {
        throw ConfigError(
            fmt::format("unit: {} learns from dark images, which {} before it would accumulate; put it before",
                        declaration.name, steps.output.results.accumulations.front().name));
      }
      steps.learned = steps.steps.size() + 1;
    }
    steps.keeps = std::max(steps.keeps, planned.accumulation ? kernel::Keeps::of_images : step->keeps());
    if (planned.makes_pixels || vetoes) steps.decided = steps.steps.size() + 1;
    format = planned.out;
    shape = planned.out_shape;
    steps.steps.push_back(std::move(planned));
  }
  steps.output.width = shape.width;
  steps.output.height = shape.height;
  steps.output.pixel = format.type;
  steps.output.masked = format.masked;
  steps.output.largest_count = format.largest_count;
  steps.output.delivered = maker.empty();
  steps.output.pixels = lister.empty() || pipeline.delivery == Delivery::everything;
  steps.chunks_wanted = lister.empty() && pipeline.delivery == Delivery::chunk_in_place;
  if (pipeline.passes == Passes::fused) fuse(steps);
  return steps;
}

void check_adjusted(const Steps& steps, std::size_t number, const kernel::StepOf& with) {
  if (number >= steps.steps.size()) {
    throw ConfigError(fmt::format("unit: there is no step {}; give one below {}", number, steps.steps.size()));
  }
  const PlannedStep& planned = steps.steps[number];
  const Declaration& before = planned.step->declaration();
  const Declaration& after = with->declaration();
  const Port* const verdict = after.made(Port::Kind::verdict);
  if (before.name != after.name || verdict == nullptr ||
      verdict->reasons != before.made(Port::Kind::verdict)->reasons) {
    throw ConfigError(fmt::format("unit: step {} is {}, and gets limits from {}; name the same kernel and reason",
                                  number, before.name, after.name));
  }
  static_cast<void>(with->fit(planned.in_shape, planned.in));
  with->fit_columns(std::span(steps.output.results.columns).first(planned.first_column));
  const auto tap = with->count_tap();
  if (planned.rides && (!tap || tap->threshold != planned.rides->threshold)) {
    throw ConfigError(
        fmt::format("unit: {}: threshold: it is fixed from the start of a run on; change other limits", before.name));
  }
}

void throw_fixed(const kernel::Step& step) {
  throw ConfigError(fmt::format("unit: limits of {} are fixed from the start of a run on; start another run",
                                step.declaration().name));
}

kernel::LimitBytes adjusted_limits(const Steps& steps, std::size_t number, const kernel::StepOf& with,
                                   const Layout& layout) {
  check_adjusted(steps, number, with);
  auto limits = with->limits(steps.setup(number, layout, 1, 1));
  if (!limits) throw_fixed(*with);
  return *std::move(limits);
}

kernel::Setup Steps::setup(std::size_t number, const Layout& layout, unsigned workers, std::uint32_t benches) const {
  const PlannedStep& step = steps[number];
  return {.shape = step.in_shape,
          .made = step.out_shape,
          .in = step.in,
          .stack = layout.stack,
          .places = layout.stack * layout.stacks,
          .workers = workers,
          .benches = benches,
          .count_at = step.count_at,
          .mark_at = step.mark_at,
          .marked = step.marked,
          .only_learned = !keep_darks,
          .before = std::span(output.results.columns).first(step.first_column)};
}

std::string Steps::words() const {
  std::string text;
  for (const PlannedStep& step : steps) {
    const std::string& name = step.step->declaration().name;
    const std::string& origin = step.step->declaration().origin;
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", name,
                        step.rides       ? " (counted on the way)"
                        : step.marked    ? " (by marks)"
                        : origin.empty() ? ""
                                         : fmt::format(" ({})", origin));
  }
  return text.empty() ? "no kernels" : text;
}

std::string Steps::kernels(std::size_t first, std::size_t last) const {
  std::string names;
  for (std::size_t step = first; step < std::min(last, steps.size()); ++step) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", steps[step].step->declaration().name);
  }
  return names;
}

Busy Steps::busy(const StepWatch::Doing& doing, std::size_t first, std::size_t last) const {
  return {.kernel = kernels(first, last), .image = doing.image, .frame = doing.frame, .since_ns = doing.since_ns};
}

bool settle_without_work(const Steps& steps, bool stopping, StackImage& image) noexcept {
  image.decision = Decision::none;
  image.reason = VetoReason::none;
  image.error = ErrorReason::none;
  image.measured = false;
  image.scalars = {};
  image.pixels = nullptr;
  image.chunk = {};
  image.sparse = {};
  image.tables = {};
  image.profiles = {};
  image.failed_in = 0;
  const bool arrived = image.completeness == Completeness::complete || image.completeness == Completeness::partial;
  if (!arrived) return true;
  if (image.refused) {
    image.fail(ErrorReason::overwritten);
    return true;
  }
  if (stopping) {
    image.decision = Decision::errored;
  } else if ((image.flags & FrameRecord::dark) != 0 && !steps.keep_darks) {
    if (steps.learned > 0) return false;
    image.decision = Decision::vetoed;
    image.reason = VetoReason::dark;
  } else if (image.completeness == Completeness::partial && steps.partial == PartialPolicy::veto) {
    image.decision = Decision::vetoed;
    image.reason = VetoReason::partial;
  } else if (steps.steps.empty()) {
    image.decision = Decision::accepted;
    image.pixels = image.raw;
  } else {
    return false;
  }
  return true;
}

}  // namespace rashpa::unit
