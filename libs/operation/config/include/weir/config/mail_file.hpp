#pragma once

#include <weir/base/expected.hpp>

#include <string>
#include <vector>

namespace weir::config {

// Contents of a file that `mail` of a channel names.
struct MailFile {
  std::string server;  // smtp://HOST:PORT or smtps://HOST:PORT
  std::string from;
  std::vector<std::string> to;
  std::string user;  // empty: none
  std::string password;
};

// Reads lines `KEY VALUE` or `KEY = VALUE`; blank lines and lines that begin with '#' are ignored. Errors: a
// sentence with the line.
[[nodiscard]] Expected<MailFile, std::string> read_mail_file(const std::string& text);

}  // namespace weir::config
