# SPDX-License-Identifier: Apache-2.0
# cmake -D SOURCE=x.cl -D MADE=x_cl.cpp -D NAMESPACE=rashpa::kernel -D NAME=x_cl -P embed_text.cmake: the text as a C++ constant.
file(READ ${SOURCE} text)
file(
  WRITE ${MADE}
  "#include <string_view>

namespace ${NAMESPACE} {
extern const std::string_view ${NAME};
const std::string_view ${NAME} = R\"text(${text})text\";
}  // namespace ${NAMESPACE}
"
)
