// SPDX-License-Identifier: Apache-2.0
/// The link verbs over the stand-in RNIC, with lines in host memory and in memory that stands for a GPU's.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "rashpa/core/ability.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/link/roce/transports/uc_requester.hpp"
#include "rashpa/link/testing/rnic/exported_images.hpp"
#include "rashpa/link/testing/rnic/verbs_bench.hpp"

namespace rashpa::link {
namespace {

namespace rnic = testing::rnic;

struct Case {
  Transport transport;
  bool device;
};

class VerbsLink : public ::testing::TestWithParam<Case> {
 protected:
  struct Fresh {
    Fresh() { rnic::reset(); }
  };
  Fresh fresh_;  // before anything is registered
  rnic::VerbsBench bench_{GetParam().transport, GetParam().device, 2, 200};
};

TEST_P(VerbsLink, each_image_arrives_once_with_its_pixels_behind_the_flush) {
  bench_.start();
  for (std::uint64_t k = 0; k < 200; ++k) {
    for (std::uint32_t dtp = 0; dtp < 2; ++dtp) ASSERT_TRUE(bench_.send(dtp, k));
    for (int i = 0; i < 2; ++i) {
      const auto arrival = bench_.next();
      ASSERT_TRUE(arrival.has_value());
      EXPECT_EQ(arrival->index, k);
      EXPECT_EQ(arrival->completeness, Completeness::complete);
      EXPECT_EQ(arrival->proof, GetParam().device ? Proof::none : Proof::crc);
      if (GetParam().device) {
        EXPECT_EQ(bench_.holds(arrival->dtp, k), i == 1) << "they are seen behind the first flush";
        bench_.images()->order_writes();
      }
      EXPECT_TRUE(bench_.holds(arrival->dtp, k)) << "image " << k;
      bench_.receiver().release(arrival->dtp, k + 1);
    }
  }
  bench_.receiver().stop();
  const Counts stats = bench_.receiver().stats();
  EXPECT_EQ(stats["bad_records"] + stats["malformed"] + stats["refused_key"], 0U);
  const rnic::Fates fates = rnic::fates();
  EXPECT_EQ(fates.wrong_key + fates.out_of_bounds + fates.not_writable + fates.late, 0U);
}

TEST_P(VerbsLink, records_have_a_key_of_their_own_where_they_lie_elsewhere) {
  for (const Endpoint& end : bench_.receiver().endpoints()) {
    EXPECT_EQ(end.records_rkey != 0, GetParam().device);
    EXPECT_EQ(end.key_of_records() != end.rkey, GetParam().device);
  }
  const auto* const registering = able<Registering>(bench_.receiver());
  ASSERT_NE(registering, nullptr);
  EXPECT_EQ(registering->base(), 0U);
  EXPECT_EQ(registering->base_of_records(), 0U);
  const std::string how = registering->registration();
  EXPECT_EQ(how.find("standin0: dma-buf of accelerator memory; records: standin0: registration at iova 0") == 0,
            GetParam().device)
      << how;
}

TEST_P(VerbsLink, a_line_outside_the_images_is_refused_and_its_neighbours_come) {
  bench_.start();
  ASSERT_TRUE(bench_.send(0, 0));
  ASSERT_TRUE(bench_.next().has_value());
  const std::uint64_t before = rnic::fates().out_of_bounds;
  const BufferDescriptor outside{bench_.line(0, 0, 0), bench_.line_bytes_of_region() - 1, 64};
  ASSERT_EQ(bench_.sender(0).post({&outside, 1}), 1U);
  EXPECT_EQ(rnic::fates().out_of_bounds, before + 1);
  if (GetParam().transport == Transport::uc) {
    ASSERT_TRUE(bench_.send(0, 1)) << "an unreliable pair goes on";
    const auto arrival = bench_.next();
    ASSERT_TRUE(arrival.has_value());
    EXPECT_EQ(arrival->completeness, Completeness::complete);
  }
  bench_.receiver().stop();
}

INSTANTIATE_TEST_SUITE_P(Ways, VerbsLink,
                         ::testing::Values(Case{Transport::uc, false}, Case{Transport::uc, true},
                                           Case{Transport::rc, false}, Case{Transport::rc, true}),
                         [](const auto& param) {
                           return std::string(param.param.transport == Transport::uc ? "uc_" : "rc_") +
                                  (param.param.device ? "device" : "host");
                         });

TEST(VerbsLines, on_a_device_cannot_be_verified_by_the_link) {
  rnic::reset();
  try {
    const rnic::VerbsBench bench(Transport::uc, true, 1, 10, Verify::sampled);
    FAIL() << "the host cannot read them";
  } catch (const ConfigError& error) {
    EXPECT_EQ(std::string(error.what()).rfind("verbs: verify compares", 0), 0U) << error.what();
  }
}

TEST(TwoKeys, the_record_goes_with_the_key_of_records) {
  Endpoint end{.address = "127.0.0.1", .rkey = 5};
  EXPECT_EQ(end.key_of_records(), 5U);
  EXPECT_NO_THROW(check_one_key("card", end));
  end.records_rkey = 7;
  EXPECT_EQ(end.key_of_records(), 7U);
  EXPECT_THROW(check_one_key("card", end), ConfigError);
  const roce::UcRequester requester({end.rkey, end.key_of_records()}, 0);
  roce::Outgoing packet{};
  requester.line({.first = true, .last = true}, packet);
  EXPECT_EQ(packet.reth.key, 5U);
  requester.event({}, packet);
  EXPECT_EQ(packet.reth.key, 7U);
}

}  // namespace
}  // namespace rashpa::link
