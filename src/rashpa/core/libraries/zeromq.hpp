// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace rashpa::publisher {

/// A message in the binary interface of libzmq: zmq_msg_t.
struct alignas(void*) ZeromqMessage {
  std::array<std::byte, 64> bytes{};
};

/// A socket or a file to poll: zmq_pollitem_t.
struct ZeromqPollItem {
  void* socket = nullptr;
  int file = -1;
  short wanted = 0;
  short got = 0;
};

/// The functions of libzmq 4.3 that we use, loaded at run time. A program without ZeroMQ sockets does not need the
/// library.
struct ZeromqLibrary {
  void* (*ctx_new)() = nullptr;
  int (*ctx_term)(void* context) = nullptr;
  void* (*socket)(void* context, int type) = nullptr;
  int (*close)(void* socket) = nullptr;
  int (*setsockopt)(void* socket, int option, const void* value, std::size_t bytes) = nullptr;
  int (*getsockopt)(void* socket, int option, void* value, std::size_t* bytes) = nullptr;
  int (*bind)(void* socket, const char* endpoint) = nullptr;
  int (*connect)(void* socket, const char* endpoint) = nullptr;
  int (*send)(void* socket, const void* data, std::size_t bytes, int flags) = nullptr;
  int (*recv)(void* socket, void* data, std::size_t bytes, int flags) = nullptr;
  int (*poll)(ZeromqPollItem* items, int count, long timeout_ms) = nullptr;
  int (*monitor)(void* socket, const char* endpoint, int events) = nullptr;
  int (*msg_init)(ZeromqMessage* message) = nullptr;
  int (*msg_init_data)(ZeromqMessage* message, void* data, std::size_t bytes, void (*free)(void* data, void* hint),
                       void* hint) = nullptr;
  int (*msg_copy)(ZeromqMessage* to, ZeromqMessage* from) = nullptr;
  int (*msg_send)(ZeromqMessage* message, void* socket, int flags) = nullptr;
  int (*msg_close)(ZeromqMessage* message) = nullptr;
  int (*error)() = nullptr;
  const char* (*error_text)(int code) = nullptr;
};

/// Loads the library `file` once. Throws ResourceError with the package to install.
[[nodiscard]] ZeromqLibrary load_zeromq(const char* file = "libzmq.so.5");

/// Constants of libzmq's binary interface, unchanged since version 4.2.
namespace zeromq {
inline constexpr int kPair = 0;  // sockets
inline constexpr int kRep = 4;
inline constexpr int kPush = 8;
inline constexpr int kXpub = 9;
inline constexpr int kSubscribe = 6;  // options
inline constexpr int kUnsubscribe = 7;
inline constexpr int kSendBytes = 11;
inline constexpr int kReceiveMore = 13;
inline constexpr int kEvents = 15;
inline constexpr int kLinger = 17;
inline constexpr int kMostBytes = 22;
inline constexpr int kSendRoom = 23;
inline constexpr int kReceiveRoom = 24;
inline constexpr int kLastEndpoint = 32;
inline constexpr int kXpubVerbose = 40;
inline constexpr int kKeepAlive = 34;
inline constexpr int kKeepAliveIdle = 36;
inline constexpr int kIpv6 = 42;
inline constexpr int kDomain = 55;
inline constexpr int kHandshakeMs = 66;
inline constexpr int kNoDrop = 69;
inline constexpr int kXpubManual = 71;
inline constexpr int kXpubVerboser = 78;
inline constexpr int kListener = 89;
inline constexpr int kDontWait = 1;  // flags
inline constexpr int kMore = 2;
inline constexpr int kPollIn = 1;  // of polling, and of kEvents
inline constexpr int kPollOut = 2;
inline constexpr int kAccepted = 0x0020;  // of monitors
inline constexpr int kDisconnected = 0x0200;
inline constexpr int kHandshakeSucceeded = 0x1000;
inline constexpr int kHandshakeFailed = 0x6800;  // three of them: no detail, protocol, authentication
}  // namespace zeromq

}  // namespace rashpa::publisher
