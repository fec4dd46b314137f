// SPDX-License-Identifier: Apache-2.0
/// Functions of libc for sockets of the simulated network.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "system/system.hpp"

namespace rashpa::simulation {
namespace {

std::vector<std::byte> gathered(const msghdr& header) {
  std::vector<std::byte> all;
  for (std::size_t i = 0; i < header.msg_iovlen; ++i) {
    const auto* const from = static_cast<const std::byte*>(header.msg_iov[i].iov_base);
    all.insert(all.end(), from, from + header.msg_iov[i].iov_len);
  }
  return all;
}

std::size_t segment_of(const msghdr& header) noexcept {
  if (header.msg_controllen < sizeof(cmsghdr)) return 0;
  const cmsghdr* const option = CMSG_FIRSTHDR(&header);
  if (option == nullptr || option->cmsg_level != SOL_UDP || option->cmsg_type != UDP_SEGMENT) return 0;
  std::uint16_t segment = 0;
  std::memcpy(&segment, CMSG_DATA(option), sizeof segment);
  return segment;
}

}  // namespace
}  // namespace rashpa::simulation

using namespace rashpa::simulation;  // NOLINT(google-build-using-namespace): functions of libc have no other place

extern "C" {

int socket(int domain, int type, int protocol) noexcept {
  static const auto call = real<int (*)(int, int, int)>("socket");
  if (!world::inside() || network() == nullptr) return call(domain, type, protocol);
  if (domain != AF_INET || (type & SOCK_DGRAM) == 0) return said(EAFNOSUPPORT);
  const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) network()->open(fd);
  return fd;
}

int bind(int fd, const sockaddr* address, socklen_t bytes) noexcept {
  static const auto call = real<int (*)(int, const sockaddr*, socklen_t)>("bind");
  if (!in_network(fd)) return call(fd, address, bytes);
  const int code = network()->bind(fd, address);
  return code == 0 ? 0 : said(code);
}

int connect(int fd, const sockaddr* address, socklen_t bytes) {
  static const auto call = real<int (*)(int, const sockaddr*, socklen_t)>("connect");
  return in_network(fd) ? network()->connect(fd, address) : call(fd, address, bytes);
}

int getsockname(int fd, sockaddr* address, socklen_t* bytes) noexcept {
  static const auto call = real<int (*)(int, sockaddr*, socklen_t*)>("getsockname");
  if (!in_network(fd)) return call(fd, address, bytes);
  const sockaddr_in name = network()->name(fd);
  std::memcpy(address, &name, sizeof name);
  *bytes = sizeof name;
  return 0;
}

int setsockopt(int fd, int level, int name, const void* value, socklen_t bytes) noexcept {
  static const auto call = real<int (*)(int, int, int, const void*, socklen_t)>("setsockopt");
  if (!in_network(fd)) return call(fd, level, name, value, bytes);
  int number = 0;
  std::memcpy(&number, value, std::min<std::size_t>(bytes, sizeof number));
  if (level == SOL_SOCKET && (name == SO_RCVBUF || name == SO_RCVBUFFORCE)) {
    network()->set_buffer(fd, static_cast<std::size_t>(number));
  }
  if (level == IPPROTO_UDP && name == UDP_GRO) return said(ENOPROTOOPT);
  return 0;
}

int getsockopt(int fd, int level, int name, void* value, socklen_t* bytes) noexcept {
  static const auto call = real<int (*)(int, int, int, void*, socklen_t*)>("getsockopt");
  if (!in_network(fd)) return call(fd, level, name, value, bytes);
  int answer = 0;
  if (level == SOL_SOCKET && name == SO_RCVBUF) answer = static_cast<int>(network()->buffer(fd));
  if (level == IPPROTO_IP && name == IP_MTU) answer = static_cast<int>(network()->faults.mtu);
  if (level == IPPROTO_UDP && name == UDP_SEGMENT && !network()->faults.gso) return said(ENOPROTOOPT);
  std::memcpy(value, &answer, std::min<std::size_t>(*bytes, sizeof answer));
  return 0;
}

ssize_t sendto(int fd, const void* data, std::size_t bytes, int flags, const sockaddr* to, socklen_t to_bytes) {
  static const auto call = real<ssize_t (*)(int, const void*, std::size_t, int, const sockaddr*, socklen_t)>("sendto");
  if (!in_network(fd)) return call(fd, data, bytes, flags, to, to_bytes);
  world::pass(1000, kOften);
  const bool taken = network()->send(fd, to, {static_cast<const std::byte*>(data), bytes}, 0);
  return taken ? static_cast<ssize_t>(bytes) : said(EAGAIN);
}

int sendmmsg(int fd, mmsghdr* messages, unsigned count, int flags) {
  static const auto call = real<int (*)(int, mmsghdr*, unsigned, int)>("sendmmsg");
  if (!in_network(fd)) return call(fd, messages, count, flags);
  world::pass(1000, kOften);
  unsigned sent = 0;
  for (; sent < count; ++sent) {
    const msghdr& header = messages[sent].msg_hdr;
    const std::vector<std::byte> all = gathered(header);
    const auto* const to = static_cast<const sockaddr*>(header.msg_name);
    if (!network()->send(fd, to, all, segment_of(header))) break;
    messages[sent].msg_len = static_cast<unsigned>(all.size());
    world::pass(static_cast<std::int64_t>(all.size() / 8), 0);
  }
  return sent > 0 || count == 0 ? static_cast<int>(sent) : said(EAGAIN);
}

int recvmmsg(int fd, mmsghdr* messages, unsigned count, int flags, timespec* limit) {
  static const auto call = real<int (*)(int, mmsghdr*, unsigned, int, timespec*)>("recvmmsg");
  if (!in_network(fd)) return call(fd, messages, count, flags, limit);
  world::pass(500, kOften);
  unsigned taken = 0;
  for (; taken < count; ++taken) {
    msghdr& header = messages[taken].msg_hdr;
    const std::span<std::byte> room(static_cast<std::byte*>(header.msg_iov->iov_base), header.msg_iov->iov_len);
    const std::ptrdiff_t bytes = network()->receive(fd, room, static_cast<sockaddr*>(header.msg_name));
    if (bytes < 0) break;
    messages[taken].msg_len = static_cast<unsigned>(bytes);
    header.msg_controllen = 0;
    if (header.msg_name != nullptr) header.msg_namelen = sizeof(sockaddr_in);
  }
  return taken > 0 ? static_cast<int>(taken) : said(EAGAIN);
}

}  // extern "C"
