// SPDX-License-Identifier: Apache-2.0
/// A GPU as the DMA engine: the contract of links, frames in its memory and elsewhere, two processes, faults. Run by
/// `make test-device`. Each test that breaks a device, or must not inherit one, runs in a process of its own.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <thread>
#include <tuple>

#include "rashpa/core/ability.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/link/pcie/cuda/cuda_source.hpp"
#include "rashpa/link/pcie/cuda/faulty_kernel.hpp"
#include "rashpa/link/pcie/cuda/testing.hpp"
#include "rashpa/link/pcie/receiver.hpp"
#include "rashpa/link/pcie/sender.hpp"
#include "rashpa/link/testing/link_contract.hpp"

namespace rashpa::link {
namespace {

using pcie::testing::cuda_end;
using pcie::testing::Detector;
using pcie::testing::within;
using Frames = std::vector<std::span<const std::byte>>;

/// A payload that changes has no copy on the device: it is read where it is.
Pair make_changing(const memory::Buffer& region, const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues,
                   Doorbell& bell) {
  pcie::ReceiverConfig config;
  config.region_file = region.shared_file();
  auto receiver = std::make_unique<pcie::PcieReceiver>(config, region.bytes(), dtps, queues, bell);
  const auto memory = pcie::RemoteMemory::open(receiver->endpoints()[0]);
  const pcie::CudaSource gpu(0, {});
  Pair pair;
  std::vector<Endpoint> sources;
  for (const Endpoint& endpoint : receiver->endpoints()) {
    pair.senders.push_back(std::make_unique<pcie::PcieCopySender>(
        pcie::SenderConfig{.memory = memory, .destination = endpoint}, pcie::CopyEngine(gpu.make(memory))));
    sources.push_back(pair.senders.back()->endpoint());
  }
  receiver->connect(sources);
  pair.receiver = std::move(receiver);
  return pair;
}

const auto kLinks = ::testing::Values(ContractLink{"changing_frames", &make_changing});
const auto kNamed = [](const auto& param) { return std::string(param.param.name); };
INSTANTIATE_TEST_SUITE_P(Cuda, LinkContract, kLinks, kNamed);
INSTANTIATE_TEST_SUITE_P(Cuda, LinkCreditContract, kLinks, kNamed);

class CudaEngine : public ::testing::Test {
 protected:
  void make(const ReceiverDtp& dtp, Flow flow = Flow::credits) {
    region_ = memory::Buffer(end_of(dtp), memory::MemoryKind::huge, memory::Sharing::machine);
    pcie::ReceiverConfig config;
    config.region_file = region_.shared_file();
    config.flow = flow;
    receiver_ = std::make_unique<pcie::PcieReceiver>(config, region_.bytes(), std::vector{dtp}, queues_, bell_);
  }
  /// Takes `images` arrivals; how many were complete and proven.
  std::uint64_t take(std::uint64_t images) {
    std::uint64_t proven = 0;
    const auto late = within(30);
    for (std::uint64_t k = 0; k < images && !late();) {
      const auto seen = bell_.count();
      Arrival arrival;
      while (queues_.try_pop(arrival)) {
        EXPECT_EQ(arrival.index, k++);
        proven += arrival.completeness == Completeness::complete && arrival.proof == Proof::crc ? 1U : 0U;
        receiver_->release(0, arrival.index + 1);
      }
      bell_.wait(seen, std::chrono::milliseconds(2));
    }
    return proven;
  }
  memory::Buffer region_;
  ArrivalQueues queues_{1, 1024};
  Doorbell bell_;
  std::unique_ptr<pcie::PcieReceiver> receiver_;
};

TEST_F(CudaEngine, frames_in_its_memory_arrive_line_by_line_and_nothing_between_the_lines_is_written) {
  for (const auto& [lines, bytes, gap] :
       {std::tuple{64U, 512U, 64U}, {31U, 1500U, 20U}, {512U, 2048U, 2048U}, {5U, 1U << 20, 64U}, {16U, 4096U, 0U}}) {
    SCOPED_TRACE(std::to_string(bytes));
    const Detector detector(lines, bytes, gap, 300);
    make(detector.dtp);
    const Frames frames{detector.memory.bytes()};
    Senders senders(cuda_end(), frames, std::nullopt);
    const auto sender = senders.make({.destination = receiver_->endpoints()[0], .id = 5, .images = 300});
    EXPECT_NE(senders.registration().find("in memory of CUDA device 0"), std::string::npos) << senders.registration();
    EXPECT_FALSE(able<Checksumming>(*sender)->makes_payload_crc32c());
    receiver_->start();
    std::jthread source([&] {
      const auto late = within(30);
      for (std::uint64_t k = 0; k < 300; ++k) ASSERT_TRUE(detector.send(*sender, k, late));
      Detector::drain(*sender, late);
    });
    EXPECT_EQ(take(300), 300U);
    source.join();
    receiver_->stop();
    EXPECT_EQ(receiver_->stats()["crc_mismatches"], 0U);
    EXPECT_EQ(sender->stats()["send_errors"], 0U);
    const Placement& p = detector.dtp.placement;
    for (std::uint32_t n = 0; n + 1 < p.lines; ++n) {
      const std::byte* behind = region_.data() + p.image_offset(0) + n * p.pitch + p.line_bytes;
      for (std::uint64_t i = 0; i < p.pitch - p.line_bytes; ++i) ASSERT_EQ(behind[i], std::byte{0}) << n << " " << i;
    }
  }
}

TEST_F(CudaEngine, thousands_of_small_images_are_seen_only_when_they_are_whole) {
  const Detector detector(2, 64, 64, 20'000, 64);
  make(detector.dtp);
  const Frames frames{detector.memory.bytes()};
  Senders senders(cuda_end(), frames, std::nullopt);
  const auto sender = senders.make({.destination = receiver_->endpoints()[0], .id = 5, .images = 20'000});
  receiver_->start();
  std::jthread source([&] {
    const auto late = within(30);
    for (std::uint64_t k = 0; k < 20'000; ++k) ASSERT_TRUE(detector.send(*sender, k, late));
    Detector::drain(*sender, late);
  });
  EXPECT_EQ(take(20'000), 20'000U);
  source.join();
  receiver_->stop();
  EXPECT_EQ(receiver_->stats()["bad_records"], 0U);
}

TEST_F(CudaEngine, a_source_in_another_process_writes_into_the_same_memory) {
  const Detector detector(128, 1024, 128, 2000);
  make(detector.dtp);
  const Endpoint destination = receiver_->endpoints()[0];
  GTEST_FLAG_SET(death_test_style, "fast");
  // A child has no use of this process' CUDA: it begins anew.
  const std::string endpoint =
      destination.address + " " + std::to_string(destination.qpn) + " " + std::to_string(destination.rkey);
  const pid_t child = fork();
  if (child == 0) {
    setenv("RASHPA_TEST_ENDPOINT", endpoint.c_str(), 1);
    execl("/proc/self/exe", "cuda_engine_test", "--gtest_also_run_disabled_tests",
          "--gtest_filter=CudaEngine.DISABLED_the_other_process", nullptr);
    _exit(9);
  }
  receiver_->start();
  EXPECT_EQ(take(2000), 2000U);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  receiver_->stop();
}

// The code that a_source_in_another_process runs there.
TEST_F(CudaEngine, DISABLED_the_other_process) {
  const char* const text = std::getenv("RASHPA_TEST_ENDPOINT");
  if (text == nullptr) GTEST_SKIP() << "run by another test";
  Endpoint destination;
  std::istringstream(text) >> destination.address >> destination.qpn >> destination.rkey;
  const Detector detector(128, 1024, 128, 2000);
  const Frames frames{detector.memory.bytes()};
  Senders senders(cuda_end(), frames, std::nullopt);
  const auto sender = senders.make({.destination = destination, .id = 5, .images = 2000});
  const auto late = within(30);
  for (std::uint64_t k = 0; k < 2000; ++k) ASSERT_TRUE(detector.send(*sender, k, late));
  Detector::drain(*sender, late);
}

TEST_F(CudaEngine, a_device_that_faults_loses_images_and_holds_up_nobody) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const Detector detector(64, 4096, 64, 500);
        make(detector.dtp);
        const Frames frames{detector.memory.bytes()};
        Senders senders(cuda_end(), frames, std::nullopt);
        const auto sender = senders.make({.destination = receiver_->endpoints()[0], .id = 5, .images = 500});
        receiver_->start();
        std::jthread consumer([&] {
          Arrival arrival;
          for (std::uint64_t k = 0; k < 100;) {
            if (!queues_.try_pop(arrival)) continue;
            EXPECT_EQ(arrival.completeness, Completeness::complete);
            receiver_->release(0, ++k);
          }
        });
        const auto late = within(20);
        bool sent = true;
        for (std::uint64_t k = 0; k < 100; ++k) sent = sent && detector.send(*sender, k, late);
        Detector::drain(*sender, late);
        consumer.join();
        EXPECT_EQ(sender->stats()["send_errors"], 0U);
        pcie::fault_now();
        for (std::uint64_t k = 100; k < 500; ++k) sent = sent && detector.send(*sender, k, late);
        Detector::drain(*sender, late);
        EXPECT_TRUE(sent) << "it waited";
        EXPECT_EQ(sender->pending(), 0U);
        EXPECT_GE(sender->stats()["send_errors"], 390U);
        receiver_->stop();
        std::exit(::testing::Test::HasFailure() ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(CudaEngine, a_device_that_is_not_there_is_refused) {
  EXPECT_THROW(pcie::CudaSource(63, {}), ConfigError);
  EXPECT_THROW(pcie::CudaSource(-1, {}), ConfigError);
}

TEST_F(CudaEngine, without_credits_too) {
  const Detector detector(64, 2048, 64, 200);
  make(detector.dtp, Flow::paced);
  EndOptions end = cuda_end();
  end.flow = Flow::paced;
  const Frames frames{detector.memory.bytes()};
  Senders senders(end, frames, std::nullopt);
  const auto sender = senders.make({.destination = receiver_->endpoints()[0], .id = 5, .images = 200});
  receiver_->start();
  const auto late = within(20);
  for (std::uint64_t k = 0; k < 200; ++k) {
    ASSERT_TRUE(detector.send(*sender, k, late));
    Detector::drain(*sender, late);
    Arrival arrival;
    while (!queues_.try_pop(arrival)) ASSERT_FALSE(late());
    EXPECT_EQ(arrival.completeness, Completeness::complete) << k;
    receiver_->release(0, k + 1);
  }
  receiver_->stop();
}

}  // namespace
}  // namespace rashpa::link
