// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/shim/ibverbs.hpp"

#include <gtest/gtest.h>

#include "rashpa/core/error.hpp"
#include "rashpa/link/verbs/device.hpp"

namespace rashpa::link::shim {
namespace {

template <typename Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const ResourceError& error) {
    return error.what();
  }
  return {};
}

TEST(Ibverbs, a_missing_library_is_refused_with_its_name_and_what_to_try) {
  const std::string text = refusal([] { load_ibverbs("libibverbs-that-is-not-there.so.1"); });
  EXPECT_NE(text.find("libibverbs-that-is-not-there.so.1"), std::string::npos) << text;
  EXPECT_NE(text.find("install"), std::string::npos) << text;
}

TEST(Ibverbs, a_library_that_is_not_libibverbs_is_refused_with_the_first_symbol_it_lacks) {
  const std::string text = refusal([] { load_ibverbs("libm.so.6"); });
  EXPECT_NE(text.find("ibv_get_device_list@IBVERBS_1.1"), std::string::npos) << text;
}

TEST(Ibverbs, every_function_that_we_name_is_in_the_machines_library) {
  if (!refusal([] { ibverbs(); }).empty()) GTEST_SKIP() << "this machine has no libibverbs";
  EXPECT_NE(ibverbs().get_device_list, nullptr);
  EXPECT_NE(ibverbs().wc_status_str, nullptr);
  EXPECT_STREQ(ibverbs().wc_status_str(IBV_WC_SUCCESS), "success");
}

TEST(Ibverbs, a_device_that_is_not_there_is_refused_with_what_to_try) {
  // 192.0.2.0/24 is for documentation: no interface has it.
  const std::string text = refusal([] { verbs::Device::open("rnic-that-is-not-there", "192.0.2.1"); });
  ASSERT_FALSE(text.empty());
  const bool without_library = text.find("libibverbs") != std::string::npos;
  const bool without_device = text.find("no RDMA device") != std::string::npos;
  const bool other_device = text.find("rnic-that-is-not-there") != std::string::npos;
  EXPECT_TRUE(without_library || without_device || other_device) << text;
}

TEST(Gid, ipv4_lies_behind_ffff_and_ipv6_as_it_is) {
  const auto v4 = verbs::gid_of("10.1.2.3");
  EXPECT_EQ(v4, (std::array<std::uint8_t, 16>{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 1, 2, 3}));
  const auto v6 = verbs::gid_of("fd00::7");
  EXPECT_EQ(v6, (std::array<std::uint8_t, 16>{0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7}));
  EXPECT_THROW(verbs::gid_of("localhost"), ConfigError);
}

}  // namespace
}  // namespace rashpa::link::shim
