// SPDX-License-Identifier: Apache-2.0
/// Source and receiver as they are meant to be: two processes that know of each other by an endpoint alone.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <optional>

#include "rashpa/link/pcie/receiver.hpp"
#include "rashpa/link/pcie/sender.hpp"
#include "rashpa/link/testing/testing.hpp"

namespace rashpa::link::pcie {
namespace {

using testing::small_dtp;
using testing::Source;

/// The child plays all images of both DTPs in turn. Ends with 0 when all were sent.
[[noreturn]] void play(const std::vector<ReceiverDtp>& dtps, const std::vector<Endpoint>& endpoints) {
  int code = 1;
  try {
    const auto memory = RemoteMemory::open(endpoints[0]);
    PcieSender first({.memory = memory, .destination = endpoints[0]});
    PcieSender second({.memory = memory, .destination = endpoints[1]});
    Source one(dtps[0], first);
    Source two(dtps[1], second);
    const std::int64_t until = now_ns() + 20'000'000'000;
    const auto late = [&] { return now_ns() > until; };
    bool sent = true;
    for (std::uint64_t k = 0; k < dtps[0].images && sent; ++k) sent = one.send(k, late) && two.send(k, late);
    code = sent ? 0 : 2;
  } catch (...) {
    code = 3;
  }
  _exit(code);
}

class TwoProcesses : public ::testing::Test {
 protected:
  void make(std::uint64_t images) {
    const auto one = small_dtp(1, images, 9, 1500, 4);
    dtps_ = {one, small_dtp(2, images, 3, 4096, 3, 16, testing::end_of(one))};
    region_ = memory::Buffer(testing::end_of(dtps_[1]), memory::MemoryKind::huge, memory::Sharing::machine);
    ReceiverConfig config;
    config.region_file = region_.shared_file();
    config.threads = 2;
    receiver_.emplace(config, region_.bytes(), dtps_, queues_, bell_);
    child_ = fork();
    if (child_ == 0) play(dtps_, receiver_->endpoints());
    receiver_->start();
  }
  ~TwoProcesses() override {
    if (child_ > 0 && !waited_) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
  }
  int wait_for_child() {
    int status = -1;
    waitpid(child_, &status, 0);
    waited_ = true;
    return status;
  }
  /// Takes arrivals until `done` or 20 s; releases each at once.
  void take_until(const std::function<bool()>& done) {
    const std::int64_t until = now_ns() + 20'000'000'000;
    while (!done() && now_ns() < until) {
      const auto seen = bell_.count();
      Arrival arrival;
      while (queues_.try_pop(arrival)) {
        EXPECT_EQ(arrival.index, decided_[arrival.dtp]++);
        complete_ += arrival.completeness == Completeness::complete && arrival.proof == Proof::crc ? 1U : 0U;
        receiver_->release(arrival.dtp, arrival.index + 1);
      }
      bell_.wait(seen, std::chrono::milliseconds(2));
    }
  }

  std::vector<ReceiverDtp> dtps_;
  memory::Buffer region_;
  ArrivalQueues queues_{2, 64};
  Doorbell bell_;
  std::optional<PcieReceiver> receiver_;
  pid_t child_ = -1;
  bool waited_ = false;
  std::array<std::uint64_t, 2> decided_{};
  std::uint64_t complete_ = 0;
};

TEST_F(TwoProcesses, every_image_of_another_process_arrives_proven) {
  make(2000);
  take_until([&] { return decided_[0] + decided_[1] == 4000; });
  EXPECT_EQ(complete_, 4000U);
  EXPECT_EQ(wait_for_child(), 0);
  receiver_->stop();
}

TEST_F(TwoProcesses, a_killed_source_leaves_a_receiver_that_closes_its_images_and_stops) {
  make(1'000'000);
  take_until([&] { return complete_ >= 1000; });
  kill(child_, SIGKILL);
  EXPECT_TRUE(WIFSIGNALED(wait_for_child()));
  take_until([&, since = now_ns()] { return now_ns() - since > 50'000'000; });  // the images that it had still sent
  const std::array<std::uint64_t, 2> last = decided_;
  for (std::uint32_t d = 0; d < 2; ++d) receiver_->close(d, last[d] + 10);
  take_until([&] { return decided_[0] == last[0] + 10 && decided_[1] == last[1] + 10; });
  EXPECT_EQ(decided_[0], last[0] + 10);
  const std::int64_t start = now_ns();
  receiver_->stop();
  EXPECT_LT(now_ns() - start, 5'000'000'000);
}

TEST_F(TwoProcesses, a_source_outlives_its_receiver_and_is_granted_nothing_more) {
  make(1'000'000);
  take_until([&] { return complete_ >= 100; });
  const auto memory = RemoteMemory::open(receiver_->endpoints()[0]);
  PcieSender sender({.memory = memory, .destination = receiver_->endpoints()[0]});
  kill(child_, SIGKILL);
  wait_for_child();
  const std::uint64_t granted = sender.granted();
  receiver_.reset();
  region_ = memory::Buffer();
  const std::vector<std::byte> line(1500, std::byte{1});
  const BufferDescriptor write{line.data(), dtps_[0].placement.image_offset(0), 1500};
  EXPECT_EQ(sender.post({&write, 1}), 1U) << "into memory that nobody reads";
  sender.poll(0);
  const std::int64_t start = now_ns();
  EXPECT_EQ(sender.granted(), granted);
  sender.poll(20'000);
  EXPECT_GE(now_ns() - start, 15'000'000) << "it waits for the credit that does not come";
  EXPECT_EQ(sender.granted(), granted);
  EXPECT_THROW(RemoteMemory::open(sender.endpoint()), std::exception) << "nothing of it is left to be opened";
}

}  // namespace
}  // namespace rashpa::link::pcie
