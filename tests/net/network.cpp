// SPDX-License-Identifier: Apache-2.0
#include "network.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <thread>

#include "rashpa/core/error.hpp"

namespace rashpa::net {

namespace {

[[noreturn]] void refuse(const std::string& what, int code) {
  throw std::runtime_error(
      fmt::format("network: {}: {}; run as root, or allow user namespaces (sysctl user.max_user_namespaces, "
                  "kernel.unprivileged_userns_clone)",
                  what, errno_text(code)));
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) refuse("cannot write " + path, errno);
}

// Runs `work` on a thread of its own, since a namespace belongs to a thread, and passes its exception on.
void on_thread(const std::function<void()>& work) {
  std::exception_ptr failure;
  std::thread([&] {
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

void enter_user_namespace() {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (user == 0) return;
  if (unshare(CLONE_NEWUSER) != 0) refuse("cannot make a user namespace", errno);
  write_file("/proc/self/setgroups", "deny");
  write_file("/proc/self/uid_map", fmt::format("0 {} 1", user));
  write_file("/proc/self/gid_map", fmt::format("0 {} 1", group));
}

Host::Host(int number) : number_(std::to_string(number)) {
  on_thread([this] {
    if (unshare(CLONE_NEWNET) != 0) refuse("cannot make a network namespace", errno);
    file_ = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);  // NOLINT: variadic by its nature
    if (file_ < 0) refuse("cannot open /proc/thread-self/ns/net", errno);
  });
  run("ip link set lo up");
}

Host::~Host() {
  if (file_ >= 0) close(file_);
}

void Host::within(const std::function<void()>& work) const {
  on_thread([&] {
    if (setns(file_, CLONE_NEWNET) != 0) refuse("cannot enter a network namespace", errno);
    work();
  });
}

void Host::run(const std::string& command) const {
  within([&] {
    const auto close = [](FILE* pipe) { return pclose(pipe); };
    std::unique_ptr<FILE, decltype(close)> pipe(popen((command + " 2>&1").c_str(), "re"), close);  // NOLINT: a test
    if (pipe == nullptr) refuse("cannot run " + command, errno);
    std::string printed;
    std::array<char, 512> part{};
    while (std::fgets(part.data(), part.size(), pipe.get()) != nullptr) printed += part.data();
    if (pclose(pipe.release()) != 0) throw std::runtime_error(fmt::format("network: '{}': {}", command, printed));
  });
}

std::string Host::path() const { return fmt::format("/proc/{}/fd/{}", getpid(), file_); }

Cable::Cable() {
  one.run(fmt::format("ip link add {} address {} mtu 9000 type veth peer name {} address {} mtu 9000 netns {}",
                      one.interface(), one.mac(), two.interface(), two.mac(), two.path()));
  bring_up();
}

void Ends::bring_up() const {
  for (const Host* host : {&one, &two}) {
    // Addresses are there at once: nobody else is on the cable.
    host->run(fmt::format("echo 0 > /proc/sys/net/ipv6/conf/{}/accept_dad", host->interface()));
    host->run(fmt::format("ip addr add {}/24 dev {}", host->ipv4(), host->interface()));
    host->run(fmt::format("ip addr add {}/64 dev {} nodad", host->ipv6(), host->interface()));
    host->run(fmt::format("ip link set {} up", host->interface()));
  }
  // Linux notices the carrier, and takes its IPv6 addresses into use, a little later; until then it throws away in
  // silence what is sent.
  for (const Host* host : {&one, &two}) {
    host->run(
        fmt::format("for try in $(seq 500); do ip link show {0} | grep -q 'state UP' && "
                    "ip -6 route show table local | grep -q '{1} ' && ! ip -6 addr show dev {0} | grep -q tentative "
                    "&& exit 0; sleep 0.02; done; echo not up after 10 s; exit 1",
                    host->interface(), host->ipv6()));
  }
}

}  // namespace rashpa::net
