// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/pcie/control_block.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>

#include "rashpa/core/error.hpp"
#include "rashpa/link/pcie/sender.hpp"

namespace rashpa::link::pcie {
namespace {

constexpr std::size_t kRegion = 10'000;

class ControlBlockTest : public ::testing::Test {
 protected:
  memory::Buffer region_{kRegion, memory::MemoryKind::pageable, memory::Sharing::machine};
  ControlBlock block_{kRegion, region_.shared_file(), 3, 2};
  Endpoint endpoint_ = block_.endpoint(2);

  /// The error of opening after `change` was made to the header.
  std::string refusal(const std::function<void(Header&)>& change) {
    const memory::Buffer peer = memory::Buffer::open_shared(endpoint_.address);
    auto& header = *reinterpret_cast<Header*>(peer.data());
    const Header before = header;
    change(header);
    std::string said = "nothing";
    try {
      RemoteMemory::open(endpoint_);
    } catch (const Error& error) {
      said = error.what();
    }
    header = before;
    return said;
  }
};

TEST_F(ControlBlockTest, both_sides_see_the_same_words_and_the_same_region) {
  const auto remote = RemoteMemory::open(endpoint_);
  EXPECT_EQ(remote->dtps(), 3U);
  EXPECT_EQ(remote->region().size(), kRegion);
  block_.dtp(2).granted = 17;
  EXPECT_EQ(remote->dtp(2).granted.load(), 17U);
  remote->dtp(1).lock = 5;
  EXPECT_EQ(block_.dtp(1).lock.load(), 5U);
  remote->region()[kRegion - 1] = std::byte{9};
  EXPECT_EQ(region_.data()[kRegion - 1], std::byte{9});
  EXPECT_TRUE(remote->is(endpoint_));
  EXPECT_TRUE(remote->is(block_.endpoint(0))) << "one opening serves all DTPs";
}

TEST_F(ControlBlockTest, what_is_no_receivers_block_is_refused_with_the_reason) {
  const auto says = [&](const std::function<void(Header&)>& change, const char* what) {
    EXPECT_NE(refusal(change).find(what), std::string::npos) << refusal(change) << ", not " << what;
  };
  says([](Header& h) { h.magic ^= 1; }, "no receiver's control block");
  says([](Header& h) { h.version = kVersion + 1; }, "version 5");
  says([](Header& h) { h.key ^= 1; }, "wrong key");
  says([](Header& h) { h.dtps = 0; }, "0 DTPs");
  says([](Header& h) { h.dtps = 0xFFFFFFFF; }, "which is not possible");
  says([](Header& h) { h.dtps = 200; }, "which is not possible");
  says([](Header& h) { h.threads = 0; }, "which is not possible");
  says([](Header& h) { h.threads = 4; }, "which is not possible");
  says([](Header& h) { h.region_bytes = 0; }, "0 bytes of RASHPA buffer");
  says([](Header& h) { h.region_bytes = ~std::uint64_t{0}; }, "and there are");
  says([](Header& h) { h.region_file = 999'999; }, "run its owner");
  says([](Header& h) { h.region_file = 0xFFFFFFFF; }, "give /proc");
  EXPECT_NO_THROW(RemoteMemory::open(endpoint_)) << "unchanged it is good";
}

TEST_F(ControlBlockTest, addresses_from_elsewhere_are_refused) {
  for (const char* address : {"127.0.0.1", "", "/etc/passwd", "/proc/self/mem", "/proc/1/fd/../../1/mem"}) {
    endpoint_.address = address;
    EXPECT_THROW(RemoteMemory::open(endpoint_), ConfigError) << address;
  }
  endpoint_.address = region_.shared_path();
  EXPECT_THROW(RemoteMemory::open(endpoint_), ConfigError) << "memory, but no control block";
  endpoint_.address = memory::shared_path(getpid(), 999'999);
  EXPECT_THROW(RemoteMemory::open(endpoint_), ResourceError);
}

TEST_F(ControlBlockTest, a_buffer_that_others_cannot_map_is_refused) {
  const memory::Buffer own(kRegion, memory::MemoryKind::pageable);
  EXPECT_THROW(ControlBlock(kRegion, own.shared_file(), 1, 1), ConfigError);
  EXPECT_THROW(ControlBlock(region_.size() * 10, region_.shared_file(), 1, 1), ConfigError);
}

TEST_F(ControlBlockTest, a_sender_takes_only_a_dtp_of_the_memory_that_was_opened) {
  const auto remote = RemoteMemory::open(endpoint_);
  EXPECT_NO_THROW(PcieSender({.memory = remote, .destination = endpoint_}));
  Endpoint other = endpoint_;
  other.qpn = 3;
  EXPECT_THROW(PcieSender({.memory = remote, .destination = other}), ConfigError);
  other = endpoint_;
  other.rkey ^= 1U;
  EXPECT_THROW(PcieSender({.memory = remote, .destination = other}), ConfigError);
}

}  // namespace
}  // namespace rashpa::link::pcie
