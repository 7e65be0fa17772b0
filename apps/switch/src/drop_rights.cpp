#include "drop_rights.hpp"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weir::switch_node {
namespace {

Unexpected<std::string> failed(const std::string& what) {
  return Unexpected<std::string>(fmt::format("{}: {}", what, std::strerror(errno)));
}

}  // namespace

Expected<void, std::string> drop_rights(const std::string& user) {
  if (::geteuid() == 0) {
    const passwd* const entry = ::getpwnam(user.c_str());
    if (entry == nullptr)
      return Unexpected<std::string>(
          fmt::format("user: no user '{}': set another one in the switch file", user));
    if (::setgroups(0, nullptr) != 0 || ::setresgid(entry->pw_gid, entry->pw_gid, entry->pw_gid) != 0 ||
        ::setresuid(entry->pw_uid, entry->pw_uid, entry->pw_uid) != 0)
      return failed("cannot become user '" + user + "'");
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  if (::syscall(SYS_capset, &header, none.data()) != 0) return failed("cannot give up capabilities");
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return failed("cannot give up new rights");
  return {};
}

}  // namespace weir::switch_node
