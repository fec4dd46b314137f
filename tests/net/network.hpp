// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Two hosts on one machine: network namespaces that a veth pair joins. Needs iproute2 and the right to make
/// namespaces: root, or user namespaces (see enter_user_namespace).
#include <functional>
#include <string>

namespace rashpa::net {

/// Before any thread: as root in a user namespace of its own when the process is not root. Throws std::runtime_error
/// when the system does not allow it.
void enter_user_namespace();

/// One end of the cable.
class Host {
 public:
  /// Makes the namespace. Throws std::runtime_error when the system does not allow it.
  explicit Host(int number);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  /// Runs `work` in the namespace, on a thread of its own, and waits; sockets it opens stay there. Passes exceptions
  /// on.
  void within(const std::function<void()>& work) const;
  /// Runs a shell command there; throws std::runtime_error with what it printed when it fails.
  void run(const std::string& command) const;

  [[nodiscard]] std::string interface() const { return "veth" + number_; }
  [[nodiscard]] std::string ipv4() const { return "10.77.0." + number_; }
  [[nodiscard]] std::string ipv6() const { return "fd77::" + number_; }
  /// Link-local, EUI-64 of mac().
  [[nodiscard]] std::string link_local() const { return "fe80::ff:fe00:770" + number_; }
  /// The same with its scope: the address of this end with RoCEv1.
  [[nodiscard]] std::string gid() const { return link_local() + "%" + interface(); }
  [[nodiscard]] std::string mac() const { return "02:00:00:00:77:0" + number_; }
  /// Of the namespace, as `ip link set … netns` takes it.
  [[nodiscard]] std::string path() const;

 private:
  std::string number_;
  int file_ = -1;
};

/// The two ends of every cable: one and two.
struct Ends {
  Host one{1};
  Host two{2};

 protected:
  /// Gives the interfaces their addresses and waits until Linux uses them.
  void bring_up() const;
};

/// Ends joined by a veth pair of MTU 9000, addresses set, both up.
struct Cable : Ends {
  Cable();
};

}  // namespace rashpa::net
