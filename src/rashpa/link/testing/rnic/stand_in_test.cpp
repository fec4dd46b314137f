// SPDX-License-Identifier: Apache-2.0
/// The stand-in RNIC through the classes that use a real one.
#include "rashpa/link/testing/rnic/stand_in.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <optional>

#include "rashpa/core/error.hpp"
#include "rashpa/link/testing/rnic/exported_images.hpp"
#include "rashpa/link/verbs/queue_pair.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::link::testing::rnic {
namespace {

using verbs::CompletionQueue;
using verbs::Device;
using verbs::QueuePair;
using verbs::Registration;

constexpr std::size_t kBytes = 8192;

memory::DmaBlock whole(const memory::Buffer& buffer) { return {.data = buffer.data(), .bytes = buffer.size()}; }

/// Two connected queue pairs, of which the second one's memory is written.
class StandIn : public ::testing::TestWithParam<Transport> {
 protected:
  StandIn() {
    reset();
    source_.emplace(kBytes, memory::MemoryKind::pageable);
    std::memset(source_->data(), 0x5A, kBytes);
    local_ = device_->register_first(std::array{whole(*source_)}, memory::DmaAccess::read);
    sends_.emplace(device_, 64, CompletionQueue::Channel::none);
    receives_.emplace(device_, 64, CompletionQueue::Channel::none);
    const verbs::QueuePairConfig config{.transport = GetParam(), .send_depth = 16, .receive_depth = 16};
    from_.emplace(device_, *sends_, config);
    to_.emplace(device_, *receives_, config);
    to_->post_receives(16);
    from_->connect({.address = "127.0.0.1", .qpn = to_->number(), .psn = to_->first_psn()});
    to_->connect({.address = "127.0.0.1", .qpn = from_->number(), .psn = from_->first_psn()});
  }
  ibv_wc_status write(std::uint64_t address, std::uint32_t rkey, std::uint32_t bytes = 64, bool event = false) {
    ibv_sge piece{local_->address_of(source_->data()), bytes, local_->lkey()};
    ibv_send_wr request{};
    request.sg_list = &piece;
    request.num_sge = 1;
    request.opcode = event ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.rdma.remote_addr = address;
    request.wr.rdma.rkey = rkey;
    ibv_send_wr* refused = nullptr;
    EXPECT_EQ(from_->post_send(request, refused), 0);
    ibv_wc done{};
    return sends_->poll({&done, 1}) == 1 ? done.status : IBV_WC_SUCCESS;
  }
  /// The status of a refused write: only a reliable source is told.
  static ibv_wc_status refused() { return GetParam() == Transport::rc ? IBV_WC_REM_ACCESS_ERR : IBV_WC_SUCCESS; }

  std::shared_ptr<Device> device_ = Device::open("standin0", "127.0.0.1");
  std::optional<memory::Buffer> source_;
  std::unique_ptr<Registration> local_;
  std::optional<CompletionQueue> sends_, receives_;
  std::optional<QueuePair> from_, to_;
};

TEST_P(StandIn, bytes_for_host_memory_are_there_at_once) {
  const memory::Buffer there(kBytes, memory::MemoryKind::pageable);
  const auto region = device_->register_first(std::array{whole(there)}, memory::DmaAccess::write);
  EXPECT_EQ(region->device_address(), 0U);
  EXPECT_EQ(write(kBytes - 64, region->rkey()), IBV_WC_SUCCESS);
  EXPECT_EQ(there.data()[kBytes - 1], std::byte{0x5A});
  EXPECT_EQ(there.data()[kBytes - 65], std::byte{0});
  EXPECT_EQ(fates().written, 1U);
}

TEST_P(StandIn, bytes_for_a_dma_buf_are_seen_behind_a_flush_and_not_before) {
  const ExportedImages images(kBytes);
  const auto region = device_->register_first(std::array{images.block()}, memory::DmaAccess::write);
  EXPECT_NE(region->how().find("dma-buf of accelerator memory"), std::string::npos) << region->how();
  EXPECT_EQ(write(4096, region->rkey(), 64, true), IBV_WC_SUCCESS);
  ibv_wc event{};
  ASSERT_EQ(receives_->poll({&event, 1}), 1) << "the host knows that they were written";
  EXPECT_EQ(images.block().data[4096], std::byte{0});
  EXPECT_EQ(unseen_bytes(), 64U);
  flush();
  EXPECT_EQ(images.block().data[4096], std::byte{0x5A});
  EXPECT_EQ(images.block().data[4096 + 64], std::byte{0});
  EXPECT_EQ(unseen_bytes(), 0U);
}

TEST_P(StandIn, a_write_that_passes_an_end_by_one_byte_is_refused) {
  const ExportedImages images(kBytes);
  const auto region = device_->register_first(std::array{images.block()}, memory::DmaAccess::write);
  EXPECT_EQ(write(kBytes - 63, region->rkey()), refused());
  EXPECT_EQ(fates().out_of_bounds, 1U);
  flush();
  for (std::size_t at = 0; at < kBytes; ++at) ASSERT_EQ(images.block().data[at], std::byte{0});
}

TEST_P(StandIn, a_wrong_key_is_refused_and_so_is_the_local_one) {
  const ExportedImages images(kBytes);
  const auto region = device_->register_first(std::array{images.block()}, memory::DmaAccess::write);
  EXPECT_EQ(write(0, region->lkey()), refused());
  EXPECT_EQ(fates().wrong_key, 1U);
  EXPECT_EQ(fates().written, 0U);
}

TEST_P(StandIn, memory_that_was_registered_for_reading_is_not_written) {
  EXPECT_EQ(write(local_->address_of(source_->data()), local_->rkey()), refused());
  EXPECT_EQ(fates().not_writable, 1U);
}

TEST_P(StandIn, a_write_on_the_wire_when_its_registration_ends_is_refused) {
  const ExportedImages images(kBytes);
  auto region = device_->register_first(std::array{images.block()}, memory::DmaAccess::write);
  hold();
  write(0, region->rkey());
  region.reset();
  let_go();
  EXPECT_EQ(fates().wrong_key, 1U);
  flush();
  EXPECT_EQ(images.block().data[0], std::byte{0});
}

TEST_P(StandIn, a_write_that_comes_when_its_queue_pair_has_ended_is_late) {
  const ExportedImages images(kBytes);
  const auto region = device_->register_first(std::array{images.block()}, memory::DmaAccess::write);
  hold();
  write(0, region->rkey());
  to_.reset();
  let_go();
  EXPECT_EQ(fates().late, 1U);
  flush();
  EXPECT_EQ(images.block().data[0], std::byte{0});
}

TEST_P(StandIn, memory_of_an_accelerator_goes_by_peer_memory_where_dma_bufs_are_refused) {
  const ExportedImages images(kBytes);
  set({.dma_bufs = false, .peer_memory = true});
  const auto region = device_->register_first(std::array{images.block()}, memory::DmaAccess::write);
  EXPECT_NE(region->how().find("peer memory of accelerator memory; not by dma-buf: Operation not supported"),
            std::string::npos)
      << region->how();
  EXPECT_EQ(write(0, region->rkey()), IBV_WC_SUCCESS);
  EXPECT_EQ(images.block().data[0], std::byte{0});
  flush();
  EXPECT_EQ(images.block().data[0], std::byte{0x5A});
}

TEST_P(StandIn, a_device_like_soft_roce_is_refused_with_what_to_do) {
  const ExportedImages images(kBytes);
  set({.dma_bufs = false, .peer_memory = false});
  try {
    static_cast<void>(device_->register_first(std::array{images.block()}, memory::DmaAccess::write));
    FAIL() << "it takes neither";
  } catch (const ResourceError& error) {
    const std::string what = error.what();
    EXPECT_EQ(what.rfind("receiver.memory: device, and standin0 takes no memory of a GPU", 0), 0U) << what;
    EXPECT_NE(what.find("not by dma-buf: Operation not supported; not by peer memory: Bad address; use an RNIC"),
              std::string::npos)
        << what;
  }
}

INSTANTIATE_TEST_SUITE_P(Transports, StandIn, ::testing::Values(Transport::uc, Transport::rc),
                         [](const auto& param) { return param.param == Transport::uc ? "uc" : "rc"; });

}  // namespace
}  // namespace rashpa::link::testing::rnic
