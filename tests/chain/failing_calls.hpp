// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Stands between a program of tests and the system: the n-th call of one kind fails, as it does on a machine that has
/// no more of what is asked for. What is linked with failing_calls.cpp fails so, libraries as well.
#include <cstdint>
#include <string_view>

namespace rashpa::chain {

enum class Call : std::uint8_t {
  thread,  ///< pthread_create
  memory,  ///< operator new
  open,
  rename,
  sync,  ///< fsync, fdatasync
  map,   ///< mmap
};
inline constexpr Call kCalls[] = {Call::thread, Call::memory, Call::open, Call::rename, Call::sync, Call::map};
std::string_view name_of(Call call) noexcept;

/// From now on calls of this kind are counted, and the `nth`, from 1, fails; 0: none does. `lasting`: all behind it do,
/// too, as on a disk that is full.
void arm(Call call, std::uint64_t nth, bool lasting = false) noexcept;
/// None fails any more.
void disarm() noexcept;
/// Of the kind, since it was armed.
std::uint64_t calls() noexcept;
/// Allocations by operator new that nobody has given back.
std::int64_t live() noexcept;

}  // namespace rashpa::chain
