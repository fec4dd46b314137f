// SPDX-License-Identifier: Apache-2.0
#include "rashpa/publish/process.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/core/log.hpp"
#include "rashpa/core/printable.hpp"
#include "rashpa/core/tell.hpp"
#include "rashpa/memory/cpu_set.hpp"

namespace rashpa::publish {

namespace {

constexpr const char* kProgram = "rashpa-publisher";
constexpr std::chrono::seconds kStart{10};  // until a child must be ready, on the busiest machine
constexpr std::chrono::milliseconds kFirstPause{1};
constexpr std::chrono::milliseconds kLongestPause{1000};

/// Closes what spawning has made, whatever happens.
class FileActions {
 public:
  FileActions() noexcept { ::posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  void open(int as, const char* path, int flags) { ::posix_spawn_file_actions_addopen(&actions_, as, path, flags, 0); }
  void give(int file, int as) { ::posix_spawn_file_actions_adddup2(&actions_, file, as); }
  [[nodiscard]] const posix_spawn_file_actions_t* get() const noexcept { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

/// Signals are in a child as in any new program, whatever this thread has blocked.
class Attributes {
 public:
  Attributes() noexcept {
    ::posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~Attributes() { ::posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  [[nodiscard]] const posix_spawnattr_t* get() const noexcept { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

/// The same file by a number that no place of a child's has: the last file must not lie where an earlier one was put.
FileDescriptor out_of_the_way(int file, std::size_t files) {
  return FileDescriptor(::fcntl(file, F_DUPFD_CLOEXEC, kFirstFile + static_cast<int>(files)));
}

/// 0: it could not be started, with errno.
int spawn(const std::string& program, const Orders& orders, int control) {
  FileActions actions;
  actions.open(STDIN_FILENO, "/dev/null", O_RDONLY);
  actions.open(STDOUT_FILENO, "/dev/null", O_WRONLY);
  std::vector<FileDescriptor> held;
  const auto give = [&](int file, int as) {
    held.push_back(out_of_the_way(file, orders.files.size()));
    actions.give(held.back().get(), as);
  };
  give(control, kControl);
  for (std::size_t n = 0; n < orders.files.size(); ++n) give(orders.files[n], kFirstFile + static_cast<int>(n));
  std::vector<std::string> words{kProgram, std::to_string(::getpid()), std::to_string(orders.memory_bytes),
                                 std::to_string(orders.files.size()), orders.task};
  words.insert(words.end(), orders.arguments.begin(), orders.arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  const Attributes attributes;
  const int code = ::posix_spawn(&pid, program.c_str(), actions.get(), attributes.get(), argv.data(), environ);
  errno = code;
  return code == 0 ? pid : 0;
}

/// This thread has nobody to tell of an exception.
int spawn_or_not(const std::string& program, const Orders& orders, int control) noexcept {
  try {
    return spawn(program, orders, control);
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return 0;
  }
}

std::string end_text(int status) {
  if (WIFSIGNALED(status)) return fmt::format("signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

}  // namespace

std::string program_path() {
  Dl_info facts{};
  std::string here;
  if (::dladdr(reinterpret_cast<const void*>(&program_path), &facts) != 0 && facts.dli_fname != nullptr)
    here = facts.dli_fname;
  // A program has the name here that it was started by, which need not be a path.
  if (here.find(".so") == std::string::npos) {
    std::array<char, 4096> own{};
    const ssize_t bytes = ::readlink("/proc/self/exe", own.data(), own.size());
    if (bytes > 0) here.assign(own.data(), static_cast<std::size_t>(bytes));
  }
  return here.substr(0, here.rfind('/') + 1) + kProgram;
}

Process::Process(Orders orders) : orders_(std::move(orders)), program_(program_path()) {
  if (::access(program_.c_str(), X_OK) != 0)
    throw ResourceError(fmt::format("{}: {} cannot be run: {}; it is part of rashpa: install rashpa again",
                                    orders_.what, program_, errno_text(errno)));
  thread_ = std::thread([this] { watch(); });
  std::unique_lock lock(mutex_);
  news_.wait(lock, [this] { return state_ != State::starting; });
  if (state_ == State::running) return;
  lock.unlock();
  thread_.join();
  const bool advises = last_words_.find("; ") != std::string::npos;
  throw ResourceError(fmt::format("{}: {}{}", orders_.what,
                                  last_words_.empty() ? "the process that publishes does not begin" : last_words_,
                                  advises ? "" : "; look at the memory of this machine, and at its limits"));
}

Process::~Process() { end(std::chrono::milliseconds(0)); }

template <typename Words>
void Process::remember(Words words) noexcept {
  tell([&] {
    std::string text(words());
    const std::lock_guard lock(mutex_);
    last_words_ = std::move(text);
  });
}

// The parent-death signal of a child is that of the thread that has started it: this one lives as long as any of them.
void Process::watch() {
  memory::place_this_thread("publisher", -1);
  for (std::chrono::milliseconds pause = kFirstPause;;) {
    const auto begun = std::chrono::steady_clock::now();
    const int status = live();
    if (orders_.on_gone) orders_.on_gone();
    std::unique_lock lock(mutex_);
    if (!goes_on(status)) break;
    const bool lived = std::chrono::steady_clock::now() - begun > kLongestPause;
    pause = lived ? kFirstPause : std::min(2 * pause, kLongestPause);
    if (news_.wait_for(lock, pause, [this] { return ending_; })) {
      state_ = State::ended;
      break;
    }
  }
  news_.notify_all();
}

/// Returns true when another child follows one that ended with `status`.
bool Process::goes_on(int status) {
  clean_ = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (last_words_.empty()) tell([&] { last_words_ = fmt::format("it ended with {}", end_text(status)); });
  if (state_ == State::starting || ending_) {
    state_ = state_ == State::starting ? State::failed : State::ended;
    return false;
  }
  restarts_ += 1;
  tell([&] {
    log::write(
        said_, log::Level::warning, {.run = orders_.run, .buffer = orders_.buffer},
        "{}: the process that publishes is gone: {}; another one begins ({} so far); whoever had subscribed connects "
        "again, and the run goes on",
        orders_.what, last_words_, restarts_);
  });
  last_words_.clear();
  return true;
}

int Process::live() {
  constexpr int kNone = 1 << 8;  // the wait status of an exit code of 1
  std::array<int, 2> pair{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    remember([code = errno] { return fmt::format("no socket to it: {}", errno_text(code)); });
    return kNone;
  }
  FileDescriptor own(pair[0]);
  FileDescriptor of_child(pair[1]);
  const int control = own.get();
  const int pid = spawn_or_not(program_, orders_, of_child.get());
  if (pid == 0) {
    remember([&, code = errno] { return fmt::format("{} cannot be started: {}", program_, errno_text(code)); });
    return kNone;
  }
  of_child = FileDescriptor();
  {
    const std::lock_guard lock(mutex_);
    control_ = std::move(own);
    pid_ = pid;
    if (ending_) ::kill(pid, SIGKILL);
  }
  hear(control);
  {
    const std::lock_guard lock(mutex_);
    control_ = FileDescriptor();
    pid_ = 0;
  }
  ::kill(pid, SIGKILL);  // one that has ended keeps its exit code
  int status = kNone;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

/// Reads the child's messages until it ends, or is not ready in time.
void Process::hear(int control) {
  std::array<char, 512> said{};
  pollfd wanted{.fd = control, .events = POLLIN, .revents = 0};
  const auto until = std::chrono::steady_clock::now() + kStart;
  for (bool ready = false;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    const int got = ::poll(&wanted, 1, ready ? -1 : static_cast<int>(std::max<std::int64_t>(0, left.count())));
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) return remember([] { return "it was not ready within 10 s"; });
    const ssize_t bytes = ::recv(control, said.data(), said.size(), 0);
    if (bytes <= 0) return;
    const std::string_view text(said.data(), static_cast<std::size_t>(bytes));
    if (text == kReady) {
      ready = true;
      const std::lock_guard lock(mutex_);
      state_ = State::running;
      news_.notify_all();
    } else if (text.starts_with(kFailed)) {
      remember([&] { return printable(text.substr(kFailed.size())); });
    }
  }
}

void Process::nudge() noexcept {
  const std::lock_guard lock(mutex_);
  if (control_.get() >= 0) ::send(control_.get(), "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool Process::end(std::chrono::milliseconds patience) noexcept {
  if (!thread_.joinable()) return clean_;
  {
    std::unique_lock lock(mutex_);
    ending_ = true;
    news_.notify_all();
    const bool ended = news_.wait_for(lock, patience, [this] { return state_ == State::ended; });
    if (!ended && pid_ != 0) ::kill(pid_, SIGKILL);
  }
  thread_.join();
  return clean_;
}

std::uint64_t Process::restarts() const {
  const std::lock_guard lock(mutex_);
  return restarts_;
}

int Process::pid() const {
  const std::lock_guard lock(mutex_);
  return pid_;
}

}  // namespace rashpa::publish
