// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/error.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <string>

namespace rashpa {
namespace {

TEST(ErrnoText, NamesTheLimitOfTheAddressSpaceBehindThreadsAndMemory) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  if (before.rlim_cur != RLIM_INFINITY) GTEST_SKIP() << "this process has a limit of its own";
  EXPECT_EQ(errno_text(EAGAIN), "Resource temporarily unavailable");
  EXPECT_EQ(errno_text(ENOMEM), "Cannot allocate memory");
  const rlimit limit{rlim_t{1} << 46, before.rlim_max};  // of no effect
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &limit), 0);
  const std::string thread = errno_text(EAGAIN);
  const std::string memory = errno_text(ENOMEM);
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  const std::string said = "; its address space is limited to 67108864 MiB (ulimit -v)";
  EXPECT_EQ(thread, "Resource temporarily unavailable" + said);
  EXPECT_EQ(memory, "Cannot allocate memory" + said);
}

}  // namespace
}  // namespace rashpa
