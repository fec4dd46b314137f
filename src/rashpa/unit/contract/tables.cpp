// SPDX-License-Identifier: Apache-2.0
/// Rows of tables, from units that have them; the others refuse.
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/outside/image_step.hpp"
#include "rashpa/unit/contract/bench.hpp"

namespace rashpa::unit {

using namespace contract;  // NOLINT(google-build-using-namespace): the bench of these tests

namespace {

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
  return kernel::outside::image_step(declaration, capacity, [](const kernel::Setup& setup) {
    return kernel::outside::for_all_threads(setup, [] { return std::make_unique<Rows>(); });
  });
}

}  // namespace

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

}  // namespace rashpa::unit
