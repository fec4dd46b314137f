// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/system/writer_lock.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace rashpa {
namespace {

struct flock whole(short type) noexcept {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

/// Returns the type of a lock that keeps readers from `file`: F_WRLCK, as only a writer's does; F_UNLCK where nothing
/// does, −1 where the kernel does not say.
int in_the_way(int file) noexcept {
  struct flock lock = whole(F_RDLCK);
  return ::fcntl(file, F_OFD_GETLK, &lock) == 0 ? lock.l_type : -1;
}

}  // namespace

WriterLock take_writer_lock(int file) noexcept {
  struct flock lock = whole(F_WRLCK);
  if (::fcntl(file, F_OFD_SETLK, &lock) == 0) return WriterLock::taken;
  const int why = errno;
  if (has_writer(file)) return WriterLock::other;
  errno = why;
  return why == EAGAIN || why == EACCES ? WriterLock::readers : WriterLock::none;
}

bool has_writer(int file) noexcept { return in_the_way(file) == F_WRLCK; }

bool lacks_writer(int file) noexcept { return in_the_way(file) == F_UNLCK; }

}  // namespace rashpa
