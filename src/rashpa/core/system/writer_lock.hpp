// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A process says that it writes a file by a write lock of its open file description, for as long as it lives. Only a
/// process that may write the file can have that lock. One that may only read it can hold a lock that keeps a writer
/// from its own: that is told from a writer, and from file systems without locks.
/// python/rashpa/data/files/writer_lock.py is the same for Python.
#include <cstdint>

namespace rashpa {

enum class WriterLock : std::uint8_t {
  taken,    ///< until the descriptor and its duplicates are closed
  other,    ///< another process writes the file
  readers,  ///< no process writes it; one that may only read it has a lock on it
  none,     ///< nobody can lock it here; errno says why: a file system without locks, a file that is open to read only
};

/// Takes the lock of an open file. Any thread.
[[nodiscard]] WriterLock take_writer_lock(int file) noexcept;

/// Returns true when another open file description has the lock, and lacks_writer() when none has. Both take nothing.
/// Where there are no locks both return false.
[[nodiscard]] bool has_writer(int file) noexcept;
[[nodiscard]] bool lacks_writer(int file) noexcept;

}  // namespace rashpa
