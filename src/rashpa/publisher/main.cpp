// SPDX-License-Identifier: Apache-2.0
/// rashpa-publisher PARENT MEMORY FILES TASK ARGUMENTS…: started by rashpa alone (src/rashpa/publish/process.hpp).
/// PARENT: its process id; MEMORY: bytes of address space that it may have at most, FILES: descriptors from kFirstFile
/// on.
#include <fmt/format.h>
#include <linux/capability.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>

#include "rashpa/publish/feedback_words.hpp"
#include "rashpa/publish/process.hpp"
#include "rashpa/publish/stream_words.hpp"
#include "rashpa/publisher/task.hpp"

namespace rashpa::publisher {

namespace {

constexpr int kWords = 4;            // before the arguments of the task
constexpr rlim_t kMostFiles = 4096;  // far beyond kMostConnections
constexpr int kLargeMessage = 32 << 20;

// The shadow of a sanitizer alone takes more addresses than any bound.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kBoundAddresses = false;
#else
constexpr bool kBoundAddresses = true;
#endif

void bound(__rlimit_resource_t what, rlim_t most) {
  rlimit now{};
  ::getrlimit(what, &now);
  now.rlim_max = std::min(now.rlim_max, most);
  now.rlim_cur = now.rlim_max;
  ::setrlimit(what, &now);
}

/// Files of the parent must not stay open here; HDF5 keeps locks by its files.
void forget_files(unsigned first) { ::syscall(SYS_close_range, first, ~0U, 0); }

/// Keeps only the rights that this process needs from here on; it ends with its parent, and by no Ctrl-C.
void lower(int parent, rlim_t memory) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_IGN);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_SET_DUMPABLE, 0);
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3]{};
  ::syscall(SYS_capset, &header, none);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // behind all that would undo it
  if (::getppid() != parent) std::_Exit(EXIT_FAILURE);
  if (kBoundAddresses) bound(RLIMIT_AS, memory);
  bound(RLIMIT_CORE, 0);
  bound(RLIMIT_NOFILE, kMostFiles);
  // One arena: each has 64 MiB of addresses. Images are taken and given back again and again: not by the system.
  ::mallopt(M_ARENA_MAX, 1);
  ::mallopt(M_MMAP_THRESHOLD, kLargeMessage);
  ::mallopt(M_TRIM_THRESHOLD, 2 * kLargeMessage);
}

/// An uncaught exception ends here, before anything is taken apart: strangers' queues would take long.
[[noreturn]] void say_and_end() noexcept {
  std::string text(publish::kFailed);
  try {
    std::rethrow_exception(std::current_exception());
  } catch (const std::exception& error) {
    text += error.what();
  } catch (...) {
    text += "an error without words";
  }
  ::send(publish::kControl, text.data(), text.size(), MSG_NOSIGNAL);
  std::_Exit(EXIT_FAILURE);
}

void run(const std::string& name, const Task& task) {
  if (name == publish::kFeedbackTask) return publish_feedback(task);
  if (name == publish::kStreamTask) return publish_stream(task);
  throw std::runtime_error("publisher: there is no task " + name + "; install rashpa again");
}

int run_all(std::span<char*> words) {
  const int files = std::atoi(words[3]);
  forget_files(publish::kFirstFile + static_cast<unsigned>(files));
  lower(std::atoi(words[1]), std::strtoull(words[2], nullptr, 10));
  Task task;
  for (char* word : words.subspan(kWords + 1)) task.arguments.emplace_back(word);
  for (int n = 0; n < files; ++n) task.files.push_back(publish::kFirstFile + n);
  std::set_terminate(&say_and_end);
  run(words[kWords], task);
  return EXIT_SUCCESS;
}

}  // namespace

}  // namespace rashpa::publisher

int main(int count, char** words) {
  if (count < rashpa::publisher::kWords + 1) {
    std::fputs("rashpa-publisher: a part of rashpa, which starts it by itself\n", stderr);
    return EXIT_FAILURE;
  }
  return rashpa::publisher::run_all({words, static_cast<std::size_t>(count)});
}
