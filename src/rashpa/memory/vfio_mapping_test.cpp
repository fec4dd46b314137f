// SPDX-License-Identifier: Apache-2.0
#include "rashpa/memory/vfio_mapping.hpp"

#include <gtest/gtest.h>

#include "rashpa/core/error.hpp"

namespace rashpa::memory {
namespace {

TEST(VfioMapping, a_device_that_is_not_there_is_refused_with_its_address_and_what_to_try) {
  try {
    VfioDevice device("ffff:ff:1f.7");
    FAIL() << "no machine has this device";
  } catch (const ResourceError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("ffff:ff:1f.7"), std::string::npos) << text;
    EXPECT_NE(text.find("IOMMU"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace rashpa::memory
