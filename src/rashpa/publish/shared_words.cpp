// SPDX-License-Identifier: Apache-2.0
#include "rashpa/publish/shared_words.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "rashpa/core/error.hpp"

namespace rashpa::publish {

SharedMemory::SharedMemory(std::size_t bytes, std::string_view what)
    : file_(::memfd_create("rashpa-publish", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  if (file_.get() < 0 || ::ftruncate(file_.get(), static_cast<off_t>(bytes)) != 0 ||
      ::fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    throw ResourceError(
        fmt::format("{}: {} bytes of memory cannot be shared with the process that publishes: {}; free memory", what,
                    bytes, errno_text(errno)));
  }
  map(bytes, what);
}

SharedMemory::SharedMemory(int file, std::size_t bytes) : file_(file) {
  struct stat facts {};
  if (::fstat(file, &facts) != 0 || static_cast<std::size_t>(facts.st_size) < bytes)
    throw ResourceError(
        fmt::format("descriptor {} has no {} bytes of memory; rashpa-publisher and the program that "
                    "started it are of different versions: install rashpa again",
                    file, bytes));
  map(bytes, "shared memory");
}

void SharedMemory::map(std::size_t bytes, std::string_view what) {
  mapping_ = memory::FileMapping(file_.get(), bytes, memory::FileAccess::write);
  if (mapping_.data() == nullptr)
    throw ResourceError(fmt::format("{}: {} bytes cannot be mapped: {}; free memory", what, bytes, errno_text(errno)));
}

}  // namespace rashpa::publish
