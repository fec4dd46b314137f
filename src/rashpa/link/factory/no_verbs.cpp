// SPDX-License-Identifier: Apache-2.0
/// Stands in for verbs_ends.cpp where the build leaves verbs out.
#include "rashpa/core/components.hpp"
#include "rashpa/link/factory/ends.hpp"

namespace rashpa::link {

std::unique_ptr<Receiver> make(const verbs::Options& /*link*/, const ReceiverOptions& /*options*/,
                               const ReceiverMemory& /*memory*/, const std::vector<ReceiverDtp>& /*dtps*/,
                               ArrivalQueues& /*queues*/, Doorbell& /*bell*/) {
  throw_left_out("link", "verbs", "use link roce");
}

std::unique_ptr<Sender> Senders::make(const verbs::Options& /*options*/, const SenderDtp& /*dtp*/) {
  throw_left_out("link", "verbs", "use link roce");
}

std::string Senders::verbs_registration() const { return {}; }

}  // namespace rashpa::link
