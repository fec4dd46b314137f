// SPDX-License-Identifier: Apache-2.0
/// Whole acquisitions over each transport with losses: a reliable connection repairs them, datagrams leave them in the
/// books.
#include <gtest/gtest.h>

#include "chain.hpp"
#include "checks.hpp"

namespace rashpa::chain {
namespace {

using link::Packetisation;
using link::Transport;

Plan lossy(Transport transport, Packetisation packetisation) {
  Plan plan;
  plan.frames = 2000;
  plan.roce.transport = transport;
  plan.roce.packetisation = packetisation;
  plan.roce.pmtu = 256;
  plan.deadline_ms = 5000;
  plan.faults.seed = 7;
  plan.faults.drop = 0.01;
  return plan;
}

class Reliable : public testing::TestWithParam<Packetisation> {};

TEST_P(Reliable, connections_deliver_every_pixel_with_one_percent_of_loss) {
  Plan plan = lossy(Transport::rc, GetParam());
  plan.faults.corrupt = 0.005;
  Chain chain(checked(plan));
  ASSERT_TRUE(chain.play());
  const emulator::Injected injected = chain.emulator->injected();
  EXPECT_GT(injected.drop, 100U);
  EXPECT_GT(injected.corrupt, 50U);
  const receiver::Status status = chain.receiver->status();
  EXPECT_EQ(status.buffers[0].books.complete, 2000U);
  EXPECT_EQ(status.buffers[0].books.written, 2000U);
  EXPECT_EQ(status.first_incomplete, "");
  EXPECT_EQ(status.link["icrc_bad"], injected.corrupt);
  EXPECT_GT(status.link["naks"], 0U);
  expect_books_equal_the_log(chain);
  std::uint64_t repeated = 0;
  for (const auto& dtp : chain.emulator->status().dtps) {
    repeated += dtp.link["retransmitted_packets"];
    EXPECT_EQ(dtp.link["connection_errors"] + dtp.link["send_errors"], 0U);
  }
  EXPECT_GE(repeated, injected.drop + injected.corrupt);
}

INSTANTIATE_TEST_SUITE_P(Packetisations, Reliable,
                         testing::Values(Packetisation::only, Packetisation::first_middle_last), [](const auto& test) {
                           return test.param == Packetisation::only ? "only" : "first_middle_last";
                         });

TEST(Datagrams, leave_every_loss_in_the_books) {
  Plan plan = lossy(Transport::ud, Packetisation::only);
  plan.deadline_ms = 500;
  Chain chain(checked(plan));
  ASSERT_TRUE(chain.play());
  const emulator::Injected injected = chain.emulator->injected();
  EXPECT_GT(injected.drop, 100U);
  EXPECT_GT(chain.receiver->status().buffers[0].books.partial, 0U);
  // The sequence numbers name each loss, but those behind which nothing came.
  EXPECT_GE(chain.receiver->status().link["sequence_gaps"] + 2 * 3, injected.drop);
  EXPECT_LE(chain.receiver->status().link["sequence_gaps"], injected.drop);
  expect_books_equal_the_log(chain);
}

}  // namespace
}  // namespace rashpa::chain
