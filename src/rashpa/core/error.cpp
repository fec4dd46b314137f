// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/error.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>
#include <system_error>

namespace rashpa {

namespace {

// As python/rashpa/data/base/limit_said.py has it.
std::string limit_behind(int code) {
  const auto said = [](auto limit, const char* words, unsigned shift) {
    rlimit found{};
    if (::getrlimit(limit, &found) != 0 || found.rlim_cur == RLIM_INFINITY) return std::string();
    return "; " + fmt::format(fmt::runtime(words), found.rlim_cur >> shift);
  };
  if (code == EFBIG) return said(RLIMIT_FSIZE, "its files are limited to {} KiB (ulimit -f)", 10);
  if (code == EMFILE) return said(RLIMIT_NOFILE, "it is limited to {} open files (ulimit -n)", 0);
  // pthread_create says EAGAIN for a stack without address space, too
  if (code == ENOMEM || code == EAGAIN)
    return said(RLIMIT_AS, "its address space is limited to {} MiB (ulimit -v)", 20);
  return {};
}

}  // namespace

std::string errno_text(int code) { return std::generic_category().message(code) + limit_behind(code); }

}  // namespace rashpa
