#include <weir/node/address_in_use.hpp>

#include <cerrno>
#include <system_error>

namespace weir::node {

void throw_listen_failure(const std::string& why) {
  if (why.ends_with(std::generic_category().message(EADDRINUSE))) throw AddressInUse(why);
  throw std::runtime_error(why);
}

}  // namespace weir::node
