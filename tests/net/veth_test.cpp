// SPDX-License-Identifier: Apache-2.0
/// Whole acquisitions between two hosts: the packets leave one network stack and enter another.
#include <gtest/gtest.h>

#include "chain.hpp"
#include "checks.hpp"
#include "place.hpp"

namespace rashpa::net {
namespace {

enum class Family : std::uint8_t { v4, v6 };

/// A plan whose emulator is on host one and whose receiver is on host two.
chain::Plan plan_over(const Cable& cable, Family family) {
  chain::Plan plan;
  const bool v4 = family == Family::v4;
  plan.source = place(cable.one, v4 ? cable.one.ipv4() : cable.one.ipv6());
  plan.destination = place(cable.two, v4 ? cable.two.ipv4() : cable.two.ipv6());
  plan.frames = 2000;
  plan.roce.pmtu = 256;
  plan.deadline_ms = 500;
  return plan;
}

struct Way {
  const char* name;
  Family family;
  link::Packetisation packetisation;
  bool offload;
  link::Transport transport = link::Transport::uc;
};

class Veth : public testing::TestWithParam<Way> {
 protected:
  chain::Plan plan() const {
    chain::Plan plan = plan_over(cable_, GetParam().family);
    plan.roce.transport = GetParam().transport;
    plan.roce.packetisation = GetParam().packetisation;
    plan.roce.gso = plan.roce.gro = GetParam().offload;
    return plan;
  }
  Cable cable_;
};

TEST_P(Veth, everything_arrives_where_nothing_is_lost) {
  chain::Chain chain(chain::checked(plan()));
  ASSERT_TRUE(chain.play());
  const receiver::Status status = chain.receiver->status();
  EXPECT_EQ(status.buffers[0].books.complete, 2000U);
  EXPECT_EQ(status.link["icrc_bad"], 0U);
  EXPECT_EQ(status.link["icrc_exact"] + status.link["icrc_modulo_id"], status.link["packets"]);
  chain::expect_books_equal_the_log(chain);
}

TEST_P(Veth, with_one_percent_of_loss_every_loss_is_repaired_or_in_the_books) {
  chain::Plan lossy = plan();
  lossy.faults.seed = 5;
  lossy.faults.drop = 0.01;
  const bool repairs = lossy.roce.transport == link::Transport::rc;
  if (repairs) lossy.deadline_ms = 5000;
  chain::Chain chain(chain::checked(lossy));
  ASSERT_TRUE(chain.play());
  EXPECT_GT(chain.emulator->injected().drop, 100U);
  const Books books = chain.receiver->status().buffers[0].books;
  if (repairs) {
    EXPECT_EQ(books.complete, 2000U);
  } else {
    EXPECT_GT(books.partial, 0U);
  }
  chain::expect_books_equal_the_log(chain);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, Veth,
    testing::Values(Way{"ipv4", Family::v4, link::Packetisation::only, true},
                    Way{"ipv4_plain_sockets", Family::v4, link::Packetisation::only, false},
                    Way{"ipv4_long_messages", Family::v4, link::Packetisation::first_middle_last, true},
                    Way{"ipv6", Family::v6, link::Packetisation::only, true},
                    Way{"rc_ipv4", Family::v4, link::Packetisation::only, true, link::Transport::rc},
                    Way{"rc_ipv6_long_messages", Family::v6, link::Packetisation::first_middle_last, true,
                        link::Transport::rc},
                    Way{"ud_ipv4", Family::v4, link::Packetisation::only, true, link::Transport::ud},
                    Way{"ud_ipv6_plain_sockets", Family::v6, link::Packetisation::only, false, link::Transport::ud}),
    [](const auto& way) { return way.param.name; });

}  // namespace
}  // namespace rashpa::net
