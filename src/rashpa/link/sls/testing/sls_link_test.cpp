// SPDX-License-Identifier: Apache-2.0
/// Senders and a receiver over loopback sockets.
#include <gtest/gtest.h>

#include "rashpa/core/error.hpp"
#include "rashpa/link/factory/factory.hpp"
#include "rashpa/link/sls/receiver.hpp"
#include "rashpa/link/sls/sending/sender.hpp"
#include "rashpa/link/sls/testing/sls_contract.hpp"
#include "rashpa/link/sls/testing/testing.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::link::sls {
namespace {

Network gathered() {
  Network network;
  network.device = far_end;
  return network;
}

INSTANTIATE_TEST_SUITE_P(Loopback, SlsContract,
                         ::testing::Values(ContractNetwork{"socket", [] { return Network(); }},
                                           ContractNetwork{"gathered", gathered}),
                         [](const auto& param) { return std::string(param.param.name); });

using testing::Places;
using testing::places;

TEST(SlsLink, set_ups_that_cannot_be_are_refused) {
  const auto refused = [](const std::string& words, const auto& make) {
    try {
      make();
      ADD_FAILURE() << "not refused: " << words;
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  const Options options;
  Places place = places(options, 2, 4, 4);
  memory::Buffer region(place.bytes, memory::MemoryKind::pageable);
  ArrivalQueues queues(place.dtps.size(), 16);
  Doorbell bell;
  const auto receiver = [&](std::uint16_t port, std::uint32_t threads, const std::string& xdp_at = {}) {
    ReceiverConfig config;
    if (!xdp_at.empty()) {
      config.bind_address = xdp_at;
      config.options.engine = EngineKind::xdp;
    }
    config.port = port;
    config.threads = threads;
    SlsReceiver(config, region.bytes(), place.dtps, queues, bell);
  };
  refused("threads", [&] { receiver(0, 3); });
  refused("beyond port 65535", [&] { receiver(65535, 1); });
  refused("reads one interface by its IPv4 address", [&] { receiver(0, 1, "0.0.0.0"); });
  refused("reads one interface by its IPv4 address", [&] { receiver(0, 1, "::1"); });
  place.dtps[1].placement.lines = 256;
  refused("one buffer takes all of it", [&] { receiver(0, 1); });
  refused("is no whole port", [&] {
    SenderConfig config;
    config.destination = {.address = "127.0.0.1", .port = 9};
    config.payload_bytes = 17;
    SlsSender{config};
  });
  refused("choose sls for both", [&] {
    EndOptions end;
    end.link = options;
    Senders senders(end, {}, std::nullopt);
  });
}

}  // namespace
}  // namespace rashpa::link::sls
