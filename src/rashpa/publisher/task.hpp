// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The program rashpa-publisher: its input from the process that started it (src/rashpa/publish/process.hpp), and its
/// two tasks. It has one thread besides those of libzmq, and ends with its parent.
#include <string>
#include <vector>

namespace rashpa::publisher {

struct Task {
  std::vector<std::string> arguments{};
  std::vector<int> files{};
  /// Reports to the parent that consumers may connect.
  void say_ready() const;
};

/// Sends the entries of a ring to subscribers, until the run is over (publish/feedback_words.hpp). Throws Error.
void publish_feedback(const Task& task);
/// Sends a sink's messages to its outlets, until the sink ends the stream (publish/stream_words.hpp). Throws Error.
void publish_stream(const Task& task);

}  // namespace rashpa::publisher
