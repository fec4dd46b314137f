// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/contract/given.hpp"

#include <gtest/gtest.h>

#include "rashpa/core/error.hpp"

namespace rashpa::kernel {
namespace {

const std::vector<Input> kInputs{{.name = "bins", .type = Number::u16},
                                 {.name = "norm", .type = Number::f32, .needed = false},
                                 {.name = "centres", .type = Number::f64, .shape = Input::Shape::values}};

GivenArrays good() {
  return {{"bins", GivenArray::of<std::uint16_t>({1, 2, 3, 4, 5, 6}, {2, 3})},
          {"centres", GivenArray::of<double>({0.5, 1.5})}};
}

std::string refusal(GivenArrays arrays) {
  try {
    check_given("test", kInputs, {.arrays = std::make_shared<const GivenArrays>(std::move(arrays))});
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Given, arrays_are_read_as_what_they_are) {
  const GivenArrays arrays = good();
  const GivenArray& bins = arrays.at("bins");
  EXPECT_EQ(bins.type(), Number::u16);
  EXPECT_EQ(bins.size(), 6U);
  EXPECT_EQ(bins.as<std::uint16_t>()[5], 6);
  EXPECT_TRUE(bins.as<float>().empty());
  EXPECT_EQ(arrays.at("centres").as<double>()[1], 1.5);
  EXPECT_THROW(GivenArray::of<float>({1, 2}, {3}), ConfigError);
  const Given given{.arrays = std::make_shared<const GivenArrays>(arrays)};
  EXPECT_NE(given.array("bins"), nullptr);
  EXPECT_EQ(given.array("norm"), nullptr);
  EXPECT_EQ(Given{}.array("bins"), nullptr);
}

TEST(Given, what_does_not_fit_is_refused_by_name) {
  EXPECT_EQ(refusal(good()), "");
  GivenArrays arrays = good();
  arrays.erase("bins");
  EXPECT_EQ(refusal(arrays), "kernel test: array bins: it is needed and not there; give it");
  arrays = good();
  arrays["bins"] = GivenArray::of<float>({1, 2}, {1, 2});
  EXPECT_EQ(refusal(arrays), "kernel test: array bins: it is of float32; convert it to uint16");
  arrays = good();
  arrays["bins"] = GivenArray::of<std::uint16_t>({1, 2});
  EXPECT_EQ(refusal(arrays), "kernel test: array bins: it has 1 dimensions; give 2");
  arrays = good();
  arrays["norm"] = GivenArray::of<float>({1, 2}, {2, 1});
  EXPECT_EQ(refusal(arrays),
            "kernel test: array norm: it has [2, 1], and another one [2, 3] rows and columns; give both the same size");
  arrays = good();
  arrays["other"] = GivenArray::of<float>({1, 2});
  EXPECT_EQ(refusal(arrays), "kernel test: array other: the kernel does not take it; leave it out");
  EXPECT_THROW(check_given("test", kInputs, {}), ConfigError);
  EXPECT_NO_THROW(check_given("test", {}, {}));
}

}  // namespace
}  // namespace rashpa::kernel
