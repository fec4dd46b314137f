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
  verbs::Operation operation = verbs::Operation::write;
};

class VerbsLink : public ::testing::TestWithParam<Case> {
 protected:
  struct Fresh {
    Fresh() { rnic::reset(); }
  };
  Fresh fresh_;  // before anything is registered
  rnic::VerbsBench bench_{GetParam().transport,
                          GetParam().device,
                          2,
                          200,
                          {},
                          {},
                          rnic::VerbsBench::Words::none,
                          {.operation = GetParam().operation}};
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
        // Both images are written before the first arrival. Images that are read may come behind the first flush.
        if (i == 0 || GetParam().operation == verbs::Operation::write) {
          EXPECT_EQ(bench_.holds(arrival->dtp, k), i == 1) << "they are seen behind the first flush";
        }
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
  EXPECT_EQ(fates.wrong_key + fates.out_of_bounds + fates.not_writable + fates.not_readable + fates.late, 0U);
  EXPECT_EQ(fates.read, GetParam().operation == verbs::Operation::read ? 2U * 200 * rnic::VerbsBench::kLines : 0U);
}

/// The ways of operation = write; tests of the other one are in offered_images_test.cpp.
class WrittenLines : public VerbsLink {};

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

TEST_P(WrittenLines, that_lie_outside_the_images_are_refused_and_their_neighbours_come) {
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

std::string name_of(const ::testing::TestParamInfo<Case>& param) {
  return std::string(param.param.transport == Transport::uc ? "uc_" : "rc_") +
         (param.param.device ? "device" : "host") + (param.param.operation == verbs::Operation::read ? "_read" : "");
}

constexpr Case kWritten[] = {
    {Transport::uc, false}, {Transport::uc, true}, {Transport::rc, false}, {Transport::rc, true}};
constexpr Case kRead[] = {{Transport::rc, false, verbs::Operation::read},
                          {Transport::rc, true, verbs::Operation::read}};
INSTANTIATE_TEST_SUITE_P(Ways, VerbsLink, ::testing::ValuesIn(kWritten), name_of);
INSTANTIATE_TEST_SUITE_P(Read, VerbsLink, ::testing::ValuesIn(kRead), name_of);
INSTANTIATE_TEST_SUITE_P(Ways, WrittenLines, ::testing::ValuesIn(kWritten), name_of);

TEST(VerbsLines, on_a_device_cannot_be_verified_by_the_link) {
  rnic::reset();
  try {
    const rnic::VerbsBench bench(Transport::uc, true, 1, 10, Verify::sampled);
    FAIL() << "the host cannot read them";
  } catch (const ConfigError& error) {
    EXPECT_EQ(std::string(error.what()).rfind("verbs: verify compares", 0), 0U) << error.what();
  }
}

std::string refusal(Transport transport, std::uint32_t operations, std::uint32_t vendor = 0x02C9) {
  rnic::reset();
  rnic::set({.on_demand_of_rc = operations, .vendor = vendor});
  try {
    const rnic::VerbsBench bench(transport, false, 1, 10, {}, {}, rnic::VerbsBench::Words::none,
                                 {.paging = verbs::Paging::on_demand});
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

class PagedImages : public ::testing::TestWithParam<verbs::Operation> {};

TEST_P(PagedImages, come_where_the_device_can_page_so) {
  rnic::reset();
  const bool read = GetParam() == verbs::Operation::read;
  rnic::set({.on_demand_of_rc = IBV_ODP_SUPPORT_WRITE | (read ? std::uint32_t{IBV_ODP_SUPPORT_READ} : 0U)});
  rnic::VerbsBench bench(Transport::rc, false, 1, 3, {}, {}, rnic::VerbsBench::Words::none,
                         {.paging = verbs::Paging::on_demand, .operation = GetParam()});
  const auto* const registering = able<Registering>(bench.receiver());
  EXPECT_EQ(registering->registration(),
            "standin0: registration at the virtual address of host memory, paged on demand");
  EXPECT_EQ(registering->base(), reinterpret_cast<std::uint64_t>(bench.host().data()));
  bench.start();
  for (std::uint64_t k = 0; k < 3; ++k) {
    ASSERT_TRUE(bench.send(0, k));
    const auto arrival = bench.next();
    ASSERT_TRUE(arrival.has_value());
    EXPECT_EQ(arrival->proof, Proof::crc);
  }
  bench.receiver().stop();
}

INSTANTIATE_TEST_SUITE_P(Operations, PagedImages, ::testing::Values(verbs::Operation::write, verbs::Operation::read),
                         [](const auto& param) { return param.param == verbs::Operation::read ? "read" : "write"; });

TEST(Paging, a_device_that_pins_memory_is_refused_with_what_to_do) {
  const std::string said = refusal(Transport::rc, 0);
  EXPECT_EQ(said.rfind("link.verbs.paging: on_demand, and standin0 pins all memory", 0), 0U) << said;
  EXPECT_NE(said.find("set paging = \"pinned\""), std::string::npos) << said;
}

TEST(Paging, soft_roce_is_refused_although_it_says_that_it_can) {
  const std::string said = refusal(Transport::rc, IBV_ODP_SUPPORT_WRITE, 0xFFFFFF);
  EXPECT_EQ(said.rfind("link.verbs.paging: on_demand, and standin0 is Soft-RoCE, which copies", 0), 0U) << said;
}

TEST(Paging, a_device_that_cannot_write_so_is_refused_with_its_operations) {
  const std::string said = refusal(Transport::rc, IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_READ);
  EXPECT_NE(said.find("standin0 does only 0x9 of the operations 0x4 of RC so"), std::string::npos) << said;
}

TEST(Paging, of_an_unreliable_connection_is_refused) {
  EXPECT_EQ(refusal(Transport::uc, IBV_ODP_SUPPORT_WRITE).rfind("verbs: paging on_demand delays packets", 0), 0U);
}

TEST(Paging, registration_on_demand_fails_at_a_device_without_it) {
  rnic::reset();
  const auto device = verbs::Device::open("standin0", "127.0.0.1");
  const memory::Buffer there(8192, memory::MemoryKind::pageable);
  const memory::DmaBlock block{.data = there.data(), .bytes = there.size()};
  EXPECT_THROW(
      static_cast<void>(device->register_first({&block, 1}, memory::DmaAccess::write, verbs::Paging::on_demand)),
      ResourceError);
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
