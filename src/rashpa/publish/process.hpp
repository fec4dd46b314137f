// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Publishing in a process of its own. Clients connect to the program rashpa-publisher, a child of the process that
/// receives images. So the memory that clients use, and malicious messages, can end only the child.
/// Threads: a Process has one thread, which starts its child, reads its messages, waits for its end, and starts the
/// next one. Ownership: the listening sockets, the shared words and the source of messages belong to the parent and
/// outlive each child, which has copies of their descriptors. Errors: the constructor throws those of the first child.
/// A later end of a child is counted and logged, and never delays the publishing thread.
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "rashpa/core/log.hpp"
#include "rashpa/core/system/file_descriptor.hpp"

namespace rashpa::publish {

/// The settings of a child.
struct Orders {
  std::string what{};  ///< prefix of messages: "feedback", "sink stream2"
  std::int64_t run = -1;
  std::string buffer{};
  std::string task{};                    ///< task of the program; see src/rashpa/publisher/main.cpp
  std::vector<std::string> arguments{};  ///< arguments of the task
  std::vector<int> files{};        ///< descriptors that the child gets from kFirstFile on; the parent keeps them open
  std::uint64_t memory_bytes = 0;  ///< limit of the child's address space
  /// called after the end of a child and before the next one, by the thread of the Process
  std::function<void()> on_gone{};
};

/// The descriptor by which a child talks to its parent. It is a socket; when the parent's end closes, the child ends.
inline constexpr int kControl = 3;
inline constexpr int kFirstFile = 4;
/// The message of a child that is ready for clients. kFailed is the prefix of its last message.
inline constexpr std::string_view kReady = "ready";
inline constexpr std::string_view kFailed = "failed ";

/// A publishing child, and its successors when it dies.
class Process {
 public:
  /// Starts the first child and waits until it is ready. Throws ResourceError with the child's message when it cannot
  /// work (no libzmq), or when there is no such program.
  explicit Process(Orders orders);
  /// Ends the child at once.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Tells the child that there is new input; never waits. Any thread.
  void nudge() noexcept;
  /// Waits until the child has ended, as its input has ordered, and kills it after `patience`. No child follows.
  /// Returns true when it ended by itself, with all work done.
  bool end(std::chrono::milliseconds patience) noexcept;

  /// Returns the number of children started after one died. Any thread.
  [[nodiscard]] std::uint64_t restarts() const;
  /// Returns the process id of the child; 0: there is none at present. For tests.
  [[nodiscard]] int pid() const;

 private:
  enum class State : std::uint8_t { starting, running, failed, ended };
  void watch();
  /// Runs one child from start to end; returns its wait status.
  int live();
  void hear(int control);
  /// Stores the text that `words` makes. Without memory for it nothing is stored, and the child ends all the same.
  template <typename Words>
  void remember(Words words) noexcept;
  bool goes_on(int status);

  Orders orders_;
  std::string program_;
  mutable std::mutex mutex_;
  std::condition_variable news_;
  State state_ = State::starting;  // guarded by mutex_, as all that follows
  FileDescriptor control_;         // of the child that lives
  int pid_ = 0;
  std::uint64_t restarts_ = 0;
  std::string last_words_;  // of the child that ends
  bool ending_ = false;     // no child comes after this one
  bool clean_ = false;      // the last child has ended by itself
  log::Limiter said_;
  std::thread thread_;  // last: it uses all of the above
};

/// Returns the path of the program, which lies beside the library with this code.
[[nodiscard]] std::string program_path();

}  // namespace rashpa::publish
