#include <weir/base/text.hpp>
#include <weir/config/mail_file.hpp>

#include <cstddef>
#include <sstream>
#include <string_view>
#include <utility>

namespace weir::config {
namespace {

constexpr std::size_t kLineMax = 900;  // RFC 5322: 998 characters
constexpr std::string_view kBlanks = " \t\r";

Unexpected<std::string> wrong(int line, const std::string& what) {
  return Unexpected<std::string>("line " + std::to_string(line) + ": " + what);
}

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

// "key value" or "key = value"; a value may begin with another sign.
std::pair<std::string, std::string> parts(std::string_view line) {
  const std::size_t end = std::min(line.find_first_of(" \t="), line.size());
  std::string_view value = trimmed(line.substr(end));
  if (value.starts_with('=')) value = trimmed(value.substr(1));
  return {std::string(line.substr(0, end)), std::string(value)};
}

std::vector<std::string> addresses(const std::string& text) {
  std::vector<std::string> all;
  constexpr std::string_view kBetween = " \t,;";
  for (std::size_t at = text.find_first_not_of(kBetween); at != std::string::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBetween, at), text.size());
    all.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(kBetween, end);
  }
  return all;
}

}  // namespace

Expected<MailFile, std::string> read_mail_file(const std::string& text) {
  MailFile mail;
  std::istringstream lines(text);
  int number = 0;
  for (std::string whole; std::getline(lines, whole);) {
    ++number;
    const std::string_view line = trimmed(whole);
    if (line.empty() || line.front() == '#') continue;
    const auto [key, value] = parts(line);
    if (value.empty() || clean_text(value, kLineMax) != value)
      return wrong(number, "a key and its value, as in `server smtp://mail.example.org:587`");
    if (key == "to") {
      for (std::string& one : addresses(value)) mail.to.push_back(std::move(one));
      continue;
    }
    std::string* place = key == "server"     ? &mail.server
                         : key == "from"     ? &mail.from
                         : key == "user"     ? &mail.user
                         : key == "password" ? &mail.password
                                             : nullptr;
    if (place == nullptr) return wrong(number, "the keys are server, from, to, user, password");
    *place = value;
  }
  if (mail.server.empty() || mail.from.empty() || mail.to.empty())
    return Unexpected<std::string>("server, from and to are needed");
  return mail;
}

}  // namespace weir::config
