// SPDX-License-Identifier: Apache-2.0
#include "rashpa/publisher/task.hpp"

#include <sys/socket.h>

#include "rashpa/publish/process.hpp"

namespace rashpa::publisher {

void Task::say_ready() const {
  ::send(publish::kControl, publish::kReady.data(), publish::kReady.size(), MSG_NOSIGNAL);
}

}  // namespace rashpa::publisher
