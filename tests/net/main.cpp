// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <exception>
#include <iostream>

#include "network.hpp"

namespace {
constexpr int kSkipped = 77;  // ctest shows it: CMakeLists.txt
}

int main(int count, char** values) {
  try {
    rashpa::net::enter_user_namespace();
    const rashpa::net::Host possible(0);
  } catch (const std::exception& error) {
    std::cerr << "skipped: " << error.what() << '\n';
    return kSkipped;
  }
  testing::InitGoogleTest(&count, values);
  return RUN_ALL_TESTS();
}
