#include <gtest/gtest.h>

#include <exception>
#include <iostream>

#include "network.hpp"

int main(int count, char** values) {
  try {
    rashpa::net::enter_user_namespace();
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  testing::InitGoogleTest(&count, values);
  return RUN_ALL_TESTS();
}
