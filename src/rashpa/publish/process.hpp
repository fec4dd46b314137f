// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Publishing in a process of its own. Strangers connect to the program rashpa-publisher, a child of the process that
/// receives images. The memory that they take, and their worst messages, end that child and nothing else.
///
/// Threads: a Process has one thread, which starts its child, hears it, waits for it when it has ended, and starts the
/// next one. Ownership: the listening sockets, the shared words and the source of messages belong to the parent, and
/// outlive each child; a child has copies of their descriptors. Errors: the first child's are thrown by the
/// constructor; a later end of a child is counted and logged, and never delays the publishing thread.
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

/// The orders to a child.
struct Orders {
  std::string what{};  ///< for messages: "feedback", "sink stream2"
  std::int64_t run = -1;
  std::string buffer{};
  std::string task{};                    ///< the program's task; see src/rashpa/publisher/main.cpp
  std::vector<std::string> arguments{};  ///< of the task
  std::vector<int> files{};              ///< that the child finds as kFirstFile and so on; the parent keeps them open
  std::uint64_t memory_bytes = 0;        ///< of address space, which the child never has more of
  std::function<void()> on_gone{};       ///< called between two children, by the thread of the Process
};

/// Descriptors of a child: the first is a socket to its parent, whose end is that of the child.
inline constexpr int kControl = 3;
inline constexpr int kFirstFile = 4;
/// The words of a child that is ready for strangers, and the beginning of its last words.
inline constexpr std::string_view kReady = "ready";
inline constexpr std::string_view kFailed = "failed ";

/// A child that publishes, and those that follow it when it dies.
class Process {
 public:
  /// Returns when the child is ready. Throws ResourceError with the child's message when it cannot do its work (no
  /// libzmq), or when there is no such program.
  explicit Process(Orders orders);
  /// Ends the child, at once.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Makes the child read its new input, as soon as it can; never waits. Any thread.
  void nudge() noexcept;
  /// Waits until the child has ended, as its input has ordered, and kills it after `patience`. No child comes after it.
  /// True: it has ended by itself, with all done.
  bool end(std::chrono::milliseconds patience) noexcept;

  /// Children that came after one that died. Any thread.
  [[nodiscard]] std::uint64_t restarts() const;
  /// The living child; 0: none is there at this moment. For tests.
  [[nodiscard]] int pid() const;

 private:
  enum class State : std::uint8_t { starting, running, failed, ended };
  void watch();
  /// One child from start to end; returns its wait status.
  int live();
  void hear(int control);
  /// `words` makes the text; without memory for it nothing is remembered, and the child ends all the same.
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

/// The program, beside the library that this code is in.
[[nodiscard]] std::string program_path();

}  // namespace rashpa::publish
