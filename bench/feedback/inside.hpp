// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <thread>

namespace rashpa::bench {

/// ZeroMQ as receivers had it before a process of its own published: a thread of the receiver's process that reads the
/// ring and sends what is there.
class InsidePublisher {
 public:
  explicit InsidePublisher(const std::string& ring);
  InsidePublisher(const InsidePublisher&) = delete;
  InsidePublisher& operator=(const InsidePublisher&) = delete;
  /// Behind the end of the ring.
  ~InsidePublisher();
  [[nodiscard]] const std::string& endpoint() const noexcept { return endpoint_; }

 private:
  void forward(const std::string& ring) noexcept;
  void* context_;
  void* socket_;
  std::string endpoint_;
  std::thread thread_;
};

}  // namespace rashpa::bench
