// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/sls/xdp/kernel.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "rashpa/core/error.hpp"

namespace rashpa::link::sls::xdp {

namespace {

std::string_view remedy(int code) {
  switch (code) {
    case EPERM:
    case EACCES:
      return "run as root or with CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF, or use \"socket\"";
    case EBUSY:
    case EEXIST:
      return "another program has this interface (ip link show names it); end it, or use \"socket\"";
    case ENOMEM:
    case ENOBUFS:
      return "use a smaller socket_buffer, fewer queues (ethtool -L) or a higher limit of locked memory, or \"socket\"";
    default:
      return "a kernel of 6.6 or newer with XDP_SOCKETS has it; use \"socket\" on others";
  }
}

std::string text(std::string_view what, int code) {
  return fmt::format("link.sls.engine: xdp: {}: {}; {}", what, errno_text(code), remedy(code));
}

}  // namespace

int bpf(bpf_cmd command, bpf_attr& attributes) noexcept {
  return static_cast<int>(syscall(SYS_bpf, command, &attributes, sizeof attributes));  // NOLINT: variadic by its nature
}

void refuse(std::string_view what, int code) { throw ResourceError(text(what, code)); }

std::string why_not() {
  const FileDescriptor socket(::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return text("cannot open a socket", errno);
  bpf_attr attributes{};
  attributes.map_type = BPF_MAP_TYPE_XSKMAP;
  attributes.key_size = attributes.value_size = sizeof(std::uint32_t);
  attributes.max_entries = 1;
  const FileDescriptor map(bpf(BPF_MAP_CREATE, attributes));
  return map.get() < 0 ? text("cannot make a map", errno) : std::string();
}

}  // namespace rashpa::link::sls::xdp
