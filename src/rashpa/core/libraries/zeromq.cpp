// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/libraries/zeromq.hpp"

#include "rashpa/core/libraries/shared_library.hpp"

namespace rashpa::publisher {

ZeromqLibrary load_zeromq(const char* file) {
  const SharedLibrary library(
      file, "install libzmq5, or leave zmq out of the buffer's feedback and stream2 out of its sinks");
  ZeromqLibrary table;
  library.load(table.ctx_new, "zmq_ctx_new");
  library.load(table.ctx_term, "zmq_ctx_term");
  library.load(table.socket, "zmq_socket");
  library.load(table.close, "zmq_close");
  library.load(table.setsockopt, "zmq_setsockopt");
  library.load(table.getsockopt, "zmq_getsockopt");
  library.load(table.bind, "zmq_bind");
  library.load(table.connect, "zmq_connect");
  library.load(table.send, "zmq_send");
  library.load(table.recv, "zmq_recv");
  library.load(table.poll, "zmq_poll");
  library.load(table.monitor, "zmq_socket_monitor");
  library.load(table.msg_init, "zmq_msg_init");
  library.load(table.msg_init_data, "zmq_msg_init_data");
  library.load(table.msg_copy, "zmq_msg_copy");
  library.load(table.msg_send, "zmq_msg_send");
  library.load(table.msg_close, "zmq_msg_close");
  library.load(table.error, "zmq_errno");
  library.load(table.error_text, "zmq_strerror");
  return table;
}

}  // namespace rashpa::publisher
