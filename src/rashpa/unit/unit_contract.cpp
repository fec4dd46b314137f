// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/unit_contract.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <random>

#include "rashpa/core/error.hpp"
#include "rashpa/core/fill.hpp"
#include "rashpa/core/frame_record.hpp"
#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/csr/csr.hpp"
#include "rashpa/kernel/jungfrau/synthetic.hpp"
#include "rashpa/kernel/outside/image_step.hpp"
#include "rashpa/kernel/photons.hpp"
#include "rashpa/unit/stack_ring.hpp"

namespace rashpa::unit {
namespace {

namespace jungfrau = kernel::jungfrau;
namespace bragg_count = kernel::bragg_count;
namespace csr = kernel::csr;
using kernel::PixelFormat;

constexpr std::uint32_t kWidth = 129;
constexpr std::uint32_t kHeight = 101;
constexpr std::size_t kPixels = std::size_t{kWidth} * kHeight;
constexpr PixelFormat kPhotons{PixelType::i16, kernel::Masked::minimum};

/// What a pipeline is made of, so that the plain references can do the same.
struct Recipe {
  std::optional<jungfrau::Config> conversion{};
  std::optional<bragg_count::Config> veto{};
  std::optional<csr::Config> list{};
  PixelType input = PixelType::u16;
  std::int64_t largest_count = kNoLargestCount;
  PartialPolicy partial = PartialPolicy::keep;
  bool keep_darks = false;
  Delivery delivery = Delivery::everything;
  Passes passes = Passes::fused;

  [[nodiscard]] Pipeline pipeline() const {
    Pipeline made;
    if (conversion) made.kernels.emplace_back(*conversion);
    if (veto) made.kernels.emplace_back(*veto);
    if (list) made.kernels.emplace_back(*list);
    made.partial = partial;
    made.keep_darks = keep_darks;
    made.delivery = delivery;
    made.passes = passes;
    return made;
  }
  [[nodiscard]] bool fits_resident() const { return conversion && !list && (!veto || passes == Passes::fused); }
};

jungfrau::Config calibration(jungfrau::Output output) {
  return jungfrau::synthetic::config(kWidth, kHeight, output, 1, 0.01);
}

Recipe vetoing(std::uint32_t min_pixels = 100) {
  return {.conversion = calibration(jungfrau::Output::photons), .veto = bragg_count::Config{10, min_pixels, 100'000}};
}
Recipe full(std::uint32_t min_pixels = 100, double capacity = 0.2) {
  Recipe recipe = vetoing(min_pixels);
  recipe.list = csr::Config{2, capacity};
  return recipe;
}

/// Images that a detector delivers as photons: some masked, spots in every second one.
template <typename T>
std::vector<T> delivered_photons(std::uint64_t seed) {
  std::mt19937 random(static_cast<std::uint32_t>(seed));
  std::vector<T> image(kPixels);
  for (T& pixel : image) {
    const auto dice = random();
    pixel = static_cast<T>(dice % 5 == 0 ? 1 : 0);
    if (seed % 2 == 0 && dice % 64 == 1) pixel = static_cast<T>(10 + dice / 64 % 100);
    if (dice % 1000 == 2) pixel = std::is_signed_v<T> ? static_cast<T>(-1) : std::numeric_limits<T>::max();
  }
  return image;
}

struct Bench {
  Bench(const Contestant& who, Recipe recipe_in, std::uint32_t k = 5, std::uint32_t stacks = 3)
      : recipe(std::move(recipe_in)), ring(kWidth, kHeight, k, stacks, memory::MemoryKind::pageable, recipe.input) {
    const auto config = calibration(jungfrau::Output::photons);
    std::uint64_t n = 0;
    for (Stack& stack : ring.all) {
      for (StackImage& image : stack.view()) {
        if (recipe.conversion) {
          const auto frame = jungfrau::synthetic::frame(config, n % 2 == 0 ? 0.03 : 0.0, n);
          std::memcpy(image.raw, frame.data(), kPixels * 2);
        } else {
          kernel::with_type(recipe.input, [&]<typename T>(T) {
            const auto frame = delivered_photons<T>(n);
            std::memcpy(image.raw, frame.data(), kPixels * sizeof(T));
          });
        }
        ++n;
      }
    }
    if (who.resident && !recipe.fits_resident()) {
      EXPECT_THROW(make_unit(who.choice, recipe.pipeline(), ring.layout, bell), ConfigError);
    } else {
      ring.layout.largest_count = recipe.largest_count;
      unit = make_unit(who.choice, recipe.pipeline(), ring.layout, bell);
    }
  }
  /// False: the unit has rightly refused the pipeline.
  [[nodiscard]] bool runs() const { return unit != nullptr; }
  Stack* wait() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < deadline) {
      const std::uint32_t seen = bell.count();
      if (Stack* stack = unit->take()) return stack;
      bell.wait(seen, std::chrono::milliseconds(1));
    }
    return nullptr;
  }
  void run_all() {
    for (Stack& stack : ring.all) unit->submit(&stack);
    for (Stack& stack : ring.all) ASSERT_EQ(wait(), &stack) << "results come back in order; " << unit->error();
    EXPECT_EQ(unit->error(), "");
  }
  [[nodiscard]] std::uint64_t scalar(const StackImage& image, const char* name) const {
    const std::size_t column = unit->output().results.column(name);
    EXPECT_LT(column, unit->output().results.columns.size()) << name;
    return image.scalars[column].count();
  }
  [[nodiscard]] std::string reason(const StackImage& image) const {
    return unit->output().results.reasons.names()[static_cast<std::size_t>(image.reason)];
  }
  void expect_as_reference(const StackImage& image) const;
  void expect_all_as_references() const {
    for (const Stack& stack : ring.all) {
      for (const StackImage& image : stack.view()) {
        SCOPED_TRACE(testing::Message() << "stack " << stack.slot << " image " << &image - stack.images.data());
        expect_as_reference(image);
      }
    }
  }

  Recipe recipe;
  StackRing ring;
  Doorbell bell;
  std::unique_ptr<Unit> unit;
};

/// Everything that the unit says of an image that had to be processed, against the plain references.
void Bench::expect_as_reference(const StackImage& image) const {
  EXPECT_TRUE(image.measured);
  PixelFormat format = kernel::delivered(recipe.input, recipe.largest_count);
  const std::byte* pixels = image.raw;
  std::vector<std::byte> converted(kPixels * sizeof(float));
  if (recipe.conversion) {
    format = recipe.conversion->output == jungfrau::Output::kev
                 ? PixelFormat{PixelType::f32, kernel::Masked::not_a_number}
                 : kPhotons;
    const auto* raw = reinterpret_cast<const std::uint16_t*>(image.raw);
    void* out = converted.data();
    jungfrau::Counts counts{};
    jungfrau::convert_reference(*recipe.conversion, {1, &raw, &out, nullptr, &counts}, {}, 0, kPixels);
    EXPECT_EQ(scalar(image, "masked_pixels"), counts.masked);
    EXPECT_EQ(scalar(image, "saturated_pixels"), counts.saturated);
    pixels = converted.data();
  }
  if (recipe.veto) {
    const std::uint32_t bright = bragg_count::count_reference(pixels, format, kPixels, recipe.veto->threshold);
    EXPECT_EQ(scalar(image, "bright_pixels"), bright);
    const bool few = bright < recipe.veto->min_pixels;
    const bool many = bright > recipe.veto->max_pixels;
    EXPECT_EQ(reason(image), few ? "too_few" : many ? "too_many" : "none");
    ASSERT_EQ(image.decision, few || many ? Decision::vetoed : Decision::accepted);
  }
  if (image.decision != Decision::accepted) {
    EXPECT_EQ(image.pixels, nullptr);
    EXPECT_EQ(image.sparse.index, nullptr);
    return;
  }
  const std::size_t pixel_size = pixel_bytes(format.type);
  if (recipe.list && recipe.delivery == Delivery::list_in_place) {
    EXPECT_EQ(image.pixels, nullptr);
  } else {
    ASSERT_NE(image.pixels, nullptr) << "pixels are delivered beside a list, too";
    EXPECT_EQ(std::memcmp(image.pixels, pixels, kPixels * pixel_size), 0);
    EXPECT_EQ(image.pixels == image.raw, !recipe.conversion);
  }
  if (!recipe.list) return;
  std::vector<std::uint32_t> index(kPixels);
  std::vector<std::byte> value(kPixels * pixel_size);
  const std::size_t count =
      csr::compact_reference(pixels, format, kPixels, recipe.list->threshold, {index.data(), value.data(), kPixels});
  ASSERT_EQ(image.sparse.count, count);
  EXPECT_GT(count, 0U);
  EXPECT_EQ(std::memcmp(image.sparse.index, index.data(), count * sizeof(std::uint32_t)), 0);
  EXPECT_EQ(std::memcmp(image.sparse.value, value.data(), count * pixel_size), 0);
}

}  // namespace

TEST_P(UnitContract, the_full_pipeline_gives_what_the_references_give) {
  for (const Passes passes : {Passes::fused, Passes::separate}) {
    for (const Delivery delivery : {Delivery::everything, Delivery::list_in_place}) {
      Recipe recipe = full();
      recipe.passes = passes;
      recipe.delivery = delivery;
      Bench bench(GetParam(), recipe);
      if (!bench.runs()) continue;
      bench.run_all();
      bench.expect_all_as_references();
      for (const Stack& stack : bench.ring.all) EXPECT_GT(stack.decided_ns, 0);
    }
  }
}

TEST_P(UnitContract, verdicts_are_those_of_the_references_fused_and_apart) {
  for (const Passes passes : {Passes::fused, Passes::separate}) {
    Recipe recipe = vetoing();
    recipe.passes = passes;
    Bench bench(GetParam(), recipe);
    if (!bench.runs()) continue;
    bench.run_all();
    bench.expect_all_as_references();
    std::uint32_t accepted = 0;
    for (const Stack& stack : bench.ring.all) {
      for (const StackImage& image : stack.view()) accepted += image.decision == Decision::accepted ? 1 : 0;
    }
    EXPECT_EQ(accepted, 8U) << "images 0, 2, 4, … have spots";
  }
}

TEST_P(UnitContract, lists_without_a_verdict_are_those_of_the_references) {
  for (const Passes passes : {Passes::fused, Passes::separate}) {
    Bench bench(GetParam(),
                {.conversion = calibration(jungfrau::Output::photons), .list = csr::Config{1, 0.9}, .passes = passes});
    if (!bench.runs()) continue;
    bench.run_all();
    for (const Stack& stack : bench.ring.all) {
      for (const StackImage& image : stack.view()) {
        ASSERT_EQ(image.decision, Decision::accepted);
        bench.expect_as_reference(image);
      }
    }
  }
}

TEST_P(UnitContract, photons_of_any_integer_type_need_no_conversion) {
  for (const PixelType type : kernel::photon_types()) {
    for (const Delivery delivery : {Delivery::everything, Delivery::list_in_place}) {
      SCOPED_TRACE(pixel_name(type));
      Bench bench(GetParam(), {.veto = bragg_count::Config{10, 100, 100'000},
                               .list = csr::Config{1, 0.9},
                               .input = type,
                               .delivery = delivery});
      if (!bench.runs()) continue;
      EXPECT_EQ(bench.unit->output().pixel, type);
      bench.run_all();
      bench.expect_all_as_references();
    }
  }
}

TEST_P(UnitContract, special_values_of_the_detector_are_no_photons) {
  for (const PixelType type : kernel::photon_types()) {
    SCOPED_TRACE(pixel_name(type));
    Bench bench(GetParam(), {.veto = bragg_count::Config{10, 100, 100'000},
                             .list = csr::Config{1, 0.9},
                             .input = type,
                             .largest_count = 60});
    if (!bench.runs()) continue;
    EXPECT_TRUE(bench.unit->output().delivered);
    bench.run_all();
    bench.expect_all_as_references();
    for (const Stack& stack : bench.ring.all) {
      for (const StackImage& image : stack.view()) {
        kernel::with_type(type, [&]<typename T>(T) {
          const auto* values = static_cast<const T*>(image.sparse.value);
          for (std::uint32_t i = 0; i < image.sparse.count; ++i) EXPECT_TRUE(values[i] >= 1 && values[i] <= 60);
        });
      }
    }
  }
}

TEST_P(UnitContract, stacks_can_be_sent_again_and_again) {
  Bench bench(GetParam(), vetoing(), 3, 2);
  for (int round = 0; round < 100; ++round) bench.run_all();
  bench.expect_all_as_references();
}

TEST_P(UnitContract, one_image_a_stack) {
  Bench bench(GetParam(), vetoing(), 1, 7);
  for (int round = 0; round < 5; ++round) bench.run_all();
  bench.expect_all_as_references();
}

TEST_P(UnitContract, kev_output_is_the_reference_bit_for_bit) {
  Bench bench(GetParam(), {.conversion = calibration(jungfrau::Output::kev)});
  EXPECT_EQ(bench.unit->output().pixel, PixelType::f32);
  bench.run_all();
  bench.expect_all_as_references();
}

TEST_P(UnitContract, missing_dark_and_partial_images_are_decided_without_conversion) {
  Recipe recipe = vetoing(0);
  recipe.partial = PartialPolicy::veto;
  Bench bench(GetParam(), recipe);
  auto& images = bench.ring.all[0].images;
  images[0].completeness = Completeness::missing;
  images[0].decision = Decision::accepted;  // of an earlier use of the stack
  images[0].scalars[0] = Scalar::of_count(7);
  images[1].flags = FrameRecord::dark | FrameRecord::laser;
  images[2].completeness = Completeness::partial;
  images[3].flags = FrameRecord::laser;
  bench.run_all();
  EXPECT_EQ(images[0].decision, Decision::none);
  EXPECT_EQ(images[1].decision, Decision::vetoed);
  EXPECT_EQ(bench.reason(images[1]), "dark");
  EXPECT_EQ(images[2].decision, Decision::vetoed);
  EXPECT_EQ(bench.reason(images[2]), "partial");
  for (const std::size_t i : {0U, 1U, 2U}) {
    EXPECT_EQ(images[i].pixels, nullptr);
    EXPECT_FALSE(images[i].measured) << "nobody has looked at its pixels";
    EXPECT_EQ(images[i].scalars[0], Scalar{});
  }
  bench.expect_as_reference(images[3]);
  bench.expect_as_reference(images[4]);
}

TEST_P(UnitContract, darks_and_partial_images_are_kept_where_the_pipeline_says_so) {
  Recipe recipe = vetoing(0);
  recipe.keep_darks = true;
  Bench bench(GetParam(), recipe);
  auto& images = bench.ring.all[0].images;
  images[0].flags = FrameRecord::dark;
  images[1].completeness = Completeness::partial;
  std::fill_n(reinterpret_cast<std::uint16_t*>(images[1].raw) + 7 * kWidth, 2 * kWidth, kLostRaw);
  bench.run_all();
  EXPECT_EQ(images[0].decision, Decision::accepted);
  EXPECT_EQ(images[1].decision, Decision::accepted);
  EXPECT_GE(bench.scalar(images[1], "masked_pixels"), 2 * kWidth);
  bench.expect_as_reference(images[1]);
}

TEST_P(UnitContract, image_whose_list_is_full_is_errored_and_its_neighbours_are_not) {
  for (const Passes passes : {Passes::fused, Passes::separate}) {
    Recipe recipe = full(0, 0.02);
    recipe.passes = passes;
    Bench bench(GetParam(), recipe);
    if (!bench.runs()) continue;
    bench.run_all();
    for (const Stack& stack : bench.ring.all) {
      for (std::uint32_t i = 0; i < stack.count; ++i) {
        const StackImage& image = stack.images[i];
        const bool spots = (stack.slot * stack.count + i) % 2 == 0;  // 3 % of the pixels, more than the capacity
        EXPECT_EQ(image.decision, spots ? Decision::errored : Decision::accepted);
        EXPECT_EQ(image.sparse.count, 0U) << "threshold 2 is above the background";
        EXPECT_EQ(image.pixels == nullptr, spots);
      }
    }
  }
}

TEST_P(UnitContract, short_last_stack_is_processed) {
  Bench bench(GetParam(), vetoing(0));
  bench.ring.all[2].count = 1;
  bench.run_all();
  bench.expect_as_reference(bench.ring.all[2].images[0]);
  EXPECT_EQ(bench.ring.all[2].images[1].decision, Decision::none) << "behind the end: not touched";
}

TEST_P(UnitContract, stop_gives_every_stack_back_decided_or_errored) {
  for (int round = 0; round < 20; ++round) {
    Bench bench(GetParam(), vetoing(0), 2, 8);
    for (Stack& stack : bench.ring.all) bench.unit->submit(&stack);
    bench.unit->stop();
    bench.unit->stop();
    for (Stack& stack : bench.ring.all) {
      ASSERT_EQ(bench.unit->take(), &stack);
      for (const StackImage& image : stack.view()) {
        EXPECT_TRUE(image.decision == Decision::accepted || image.decision == Decision::errored);
      }
    }
    EXPECT_EQ(bench.unit->take(), nullptr);
  }
}

TEST_P(UnitContract, columns_and_reasons_are_named) {
  Bench bench(GetParam(), vetoing());
  const Results& results = bench.unit->output().results;
  std::vector<std::string> names;
  for (const Column& column : results.columns) names.push_back(column.name);
  EXPECT_EQ(names, (std::vector<std::string>{"masked_pixels", "saturated_pixels", "bright_pixels"}));
  EXPECT_EQ(results.reasons.names(), VetoReasons().names());
}

/// A row for each of the first pixels of an image, as many as the first pixel says; its number, and twice it.
class Rows final : public kernel::outside::ImageFunction {
 public:
  bool look(const std::byte* pixels, kernel::outside::ImageFindings& found, std::string& why) noexcept override {
    const auto first = static_cast<std::uint8_t>(pixels[0]);
    if (first == 250) {
      why = "250 is no number of rows";
      return false;
    }
    found.scalars[0] = Scalar::of_count(first);
    found.verdict = first == 1 ? 1 : 0;
    found.row_count = first;
    for (std::size_t row = 0; row < std::min(found.row_count, found.row_capacity); ++row) {
      found.rows[2 * row] = Scalar::of_count(row);
      found.rows[2 * row + 1] = Scalar::of_real(2.0 * static_cast<double>(row));
    }
    return true;
  }
};

kernel::StepOf rows_step(const std::string& name, std::uint32_t capacity) {
  kernel::Declaration declaration{.name = name, .purpose = "rows"};
  declaration.origin = "a test";
  declaration.parameters.push_back({.name = "rows", .least = 1, .most = 100, .standard = std::int64_t{capacity}});
  declaration.takes.pixels = {PixelType::u8};
  declaration.makes = {{.kind = kernel::Port::Kind::scalars, .columns = {{.name = name + "_first"}}},
                       {.kind = kernel::Port::Kind::table,
                        .capacity = "rows",
                        .columns = {{.name = "row"}, {.name = "twice", .type = Column::Type::f64}}},
                       {.kind = kernel::Port::Kind::verdict, .reasons = {name + "_is_one"}}};
  return kernel::outside::image_step(declaration, capacity,
                                     [](const kernel::Setup&) { return std::make_unique<Rows>(); });
}

TEST_P(UnitContract, tables_are_delivered_or_the_kernel_is_refused) {
  Doorbell bell;
  StackRing ring(kWidth, kHeight, 5, 2, memory::MemoryKind::pageable, PixelType::u8);
  const Pipeline pipeline{{rows_step("wide", 60), rows_step("narrow", 4)}};
  if (GetParam().choice.kind != Kind::cpu) {
    EXPECT_THROW(make_unit(GetParam().choice, pipeline, ring.layout, bell), ConfigError);
    return;
  }
  const auto unit = make_unit(GetParam().choice, pipeline, ring.layout, bell);
  const std::array<std::uint8_t, 5> firsts{0, 1, 4, 5, 250};
  for (Stack& stack : ring.all) {
    for (std::uint32_t i = 0; i < 5; ++i) stack.images[i].raw[0] = std::byte{firsts[i]};
    unit->submit(&stack);
  }
  for (Stack& stack : ring.all) {
    while (unit->take() == nullptr) bell.wait(bell.count(), std::chrono::milliseconds(1));
    const auto& images = stack.images;
    for (const std::uint32_t i : {0U, 2U}) {
      ASSERT_EQ(images[i].decision, Decision::accepted);
      for (const TableView& table : images[i].tables) {
        ASSERT_EQ(table.rows, firsts[i]);
        for (std::size_t row = 0; row < table.rows; ++row) {
          EXPECT_EQ(table.values[2 * row].count(), row);
          EXPECT_EQ(table.values[2 * row + 1].real(), 2.0 * static_cast<double>(row));
        }
      }
    }
    EXPECT_EQ(images[1].decision, Decision::vetoed);
    EXPECT_EQ(images[1].tables[0].rows, 0U);
    EXPECT_EQ(images[3].decision, Decision::errored);
    EXPECT_EQ(images[3].failed_in, 2U);
    EXPECT_EQ(images[4].decision, Decision::errored);
    EXPECT_EQ(images[4].failed_in, 1U);
  }
  EXPECT_EQ(unit->failure(1), "kernel wide: 250 is no number of rows");
  EXPECT_EQ(unit->failure(2), "kernel narrow: 5 rows are found in the image, and its table holds 4; set a larger rows");
  const std::vector<Table>& tables = unit->output().results.tables;
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[1].name, "narrow");
  EXPECT_EQ(tables[1].capacity, 4U);
  EXPECT_EQ(unit->output().results.reasons.names()[static_cast<std::size_t>(ring.all[0].images[1].reason)],
            "wide_is_one");
  const Pipeline three{{rows_step("a", 1), rows_step("b", 1), rows_step("c", 1)}};
  EXPECT_THROW(make_unit(GetParam().choice, three, ring.layout, bell), ConfigError);
}

TEST_P(UnitContract, what_does_not_fit_is_refused_alike) {
  Doorbell bell;
  const StackRing ring(kWidth, kHeight, 2, 2, memory::MemoryKind::pageable);
  const auto refusal = [&](const Pipeline& pipeline, const Layout& layout) -> std::string {
    try {
      make_unit(GetParam().choice, pipeline, layout, bell);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "accepted";
  };
  const jungfrau::Config photons = calibration(jungfrau::Output::photons);
  EXPECT_EQ(refusal({{photons, photons}}, ring.layout), "unit: jungfrau is twice in the pipeline; leave one");
  Layout nothing = ring.layout;
  nothing.stack = 0;
  EXPECT_NE(refusal({{photons}}, nothing).find("none may be 0"), std::string::npos);
  Layout other = ring.layout;
  other.width = kHeight;
  other.height = kWidth;
  EXPECT_NE(refusal({{photons}}, other).find("they must be equal"), std::string::npos);
}

}  // namespace rashpa::unit
