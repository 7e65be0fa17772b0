#include "alarm_letter.hpp"

#include <weir/base/assert.hpp>
#include <weir/base/owned_descriptor.hpp>
#include <weir/base/text.hpp>
#include <weir/config/mail_file.hpp>
#include <weir/run_record/json.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sstream>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace weir::run_control {
namespace {

namespace json = boost::json;

constexpr std::size_t kLineMax = 900;          // RFC 5322: 998 characters
constexpr std::size_t kSecretBytesMax = 8192;  // of a file

Unexpected<std::string> refuse(std::string why) { return Unexpected<std::string>(std::move(why)); }

std::string subject(const AlarmLetter& letter) {
  return clean_text(control::subject_of(letter.message, letter.scene), kLineMax);
}

// Each line is printable.
std::string body(const AlarmLetter& letter) {
  std::istringstream lines(control::body_of(letter.message, letter.scene));
  std::string text;
  for (std::string line; std::getline(lines, line);) text += clean_text(line, kLineMax) + "\n";
  return text;
}

// curl: "If the parameter contains whitespace, it must be enclosed within quotes", with \" and \\.
std::string curl_text(std::string_view text) {
  std::string out = "\"";
  for (const char one : text) {
    if (one == '"' || one == '\\') out += '\\';
    out += one;
  }
  return out + "\"";
}

std::vector<std::string> limited(const AlarmLetter& letter) {
  return {"/usr/bin/env",   "-u",
          "WEIR_CHILD",     "timeout",
          "--kill-after=5", std::to_string(letter.way.seconds_max)};
}

std::vector<std::string> curl(const AlarmLetter& letter, const char* protocols) {
  std::vector<std::string> command = limited(letter);
  for (const char* word :
       {"curl", "-q", "--silent", "--show-error", "--fail", "--proto", protocols, "--config", "-"})
    command.emplace_back(word);
  return command;
}

// RFC 2047, in words of at most 75 characters.
// `between`: words.
std::string encoded(const std::string& text, std::string_view between) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  constexpr std::size_t kWordMax = 75 - std::string_view("=?UTF-8?Q?").size() - std::string_view("?=").size();
  if (std::string_view(text).find_first_not_of(
          " !\"#$%&'()*+,-./"
          "0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~") ==
      std::string_view::npos)
    return text;
  std::string out;
  std::string word;
  const auto flush = [&] {
    out += (out.empty() ? "" : std::string(between)) + "=?UTF-8?Q?" + std::exchange(word, {}) + "?=";
  };
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = std::max<std::size_t>(1, utf8_length(std::string_view(text).substr(i)));
    if (word.size() + 3 * length > kWordMax) flush();
    for (std::size_t j = i; j < i + length; ++j) {
      const auto byte = static_cast<unsigned char>(text[j]);
      const bool plain = std::isalnum(byte) != 0 && byte < 0x80;
      word += plain ? std::string(1, text[j]) : std::string{'=', kHex[byte >> 4U], kHex[byte & 0xFU]};
    }
    i += length;
  }
  if (!word.empty()) flush();
  return out;
}

std::string mail_date(UtcNs utc_ns) {
  const std::time_t seconds = utc_ns / kSecond;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  constexpr std::array<const char*, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<const char*, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} +0000",
                     kDays[static_cast<std::size_t>(parts.tm_wday)], parts.tm_mday,
                     kMonths[static_cast<std::size_t>(parts.tm_mon)], parts.tm_year + 1900, parts.tm_hour,
                     parts.tm_min, parts.tm_sec);
}

// Reads a line without the blanks at its end; files may come from other systems.
bool next_line(std::istringstream& lines, std::string& line) {
  if (!std::getline(lines, line)) return false;
  line.erase(line.find_last_not_of(" \t\r") + 1);
  return true;
}

json::object fields(const AlarmLetter& letter) {
  json::array alarms;
  for (const control::AlarmMessage::Line& line : letter.message.lines) {
    alarms.push_back({{"name", clean_text(line.name, kLineMax)},
                      {"severity", control::name(line.gravity)},
                      {"reason", clean_text(line.reason, kLineMax)},
                      {"active", line.until_utc == 0},
                      {"since_s", line.since_utc / kSecond},
                      {"times", line.times},
                      {"acknowledged_by", clean_text(line.acked_by, kLineMax)}});
  }
  return {{"farm", letter.scene.farm},
          {"run", letter.scene.run},
          {"state", letter.scene.state},
          {"kind", control::name(letter.message.kind)},
          {"severity", control::name(letter.message.gravity)},
          {"subject", subject(letter)},
          {"text", body(letter)},
          {"alarms", std::move(alarms)}};
}

// Of a program that formats texts, as Slack does.
std::string chat_text(std::string text) {
  std::string out;
  for (const char one : text) {
    if (one == '&')
      out += "&amp;";
    else if (one == '<')
      out += "&lt;";
    else if (one == '>')
      out += "&gt;";
    else
      out += one;
  }
  return out;
}

}  // namespace

AlarmChild command_child(const AlarmLetter& letter) {
  WEIR_ASSERT(letter.way.kind == config::AlarmWay::Kind::command);
  const bool has_line = !letter.message.lines.empty();
  const control::AlarmMessage::Line line =
      has_line ? letter.message.lines.front() : control::AlarmMessage::Line{};
  std::vector<std::string> command = limited(letter);
  const std::pair<const char*, std::string> variables[] = {
      {"WEIR_FARM", letter.scene.farm},
      {"WEIR_RUN", std::to_string(letter.scene.run)},
      {"WEIR_KIND", std::string(control::name(letter.message.kind))},
      {"WEIR_SEVERITY", std::string(control::name(letter.message.gravity))},
      {"WEIR_FINDING", clean_text(line.name, kLineMax)},
      {"WEIR_REASON", clean_text(line.reason, kLineMax)},
      {"WEIR_SUBJECT", subject(letter)}};
  std::vector<std::string> words;
  for (const auto& [name, value] : variables) words.push_back(std::string(name) + "=" + value);
  command.insert(command.begin() + 3, words.begin(), words.end());
  for (const std::string& word : {std::string("sh"), std::string("-c"), letter.way.what})
    command.push_back(word);
  return {std::move(command), subject(letter) + "\n" + body(letter), {}};
}

Expected<AlarmChild, std::string> mail_child(const AlarmLetter& letter, const std::string& file) {
  const auto mail = config::read_mail_file(file);
  if (!mail) return refuse(letter.way.what + ": " + mail.error());
  std::string config = "url = " + curl_text(mail->server) + "\nmail-from = " + curl_text(mail->from) +
                       "\nupload-file = \"/dev/fd/3\"\ncrlf\n";
  std::string to;
  for (const std::string& one : mail->to) {
    config += "mail-rcpt = " + curl_text(one) + "\n";
    to += (to.empty() ? "" : ", ") + one;
  }
  // A password never leaves in clear text.
  if (!mail->user.empty())
    config += "user = " + curl_text(mail->user + ":" + mail->password) + "\nssl-reqd\n";
  const std::string head =
      "From: " + mail->from + "\nTo: " + to + "\nSubject: " + encoded(subject(letter), "\n ") +
      "\nDate: " + mail_date(letter.utc_ns) +
      fmt::format("\nMessage-ID: <weir.{}.{}.{}@{}>", letter.utc_ns, letter.serial, ::getpid(),
                  "weir.invalid") +
      "\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n"
      "Auto-Submitted: auto-generated\n\n";
  return AlarmChild{curl(letter, "=smtp,smtps"), std::move(config), head + body(letter)};
}

Expected<AlarmChild, std::string> webhook_child(const AlarmLetter& letter, const std::string& file) {
  std::istringstream lines(file);
  std::string config;
  std::string line;
  if (!next_line(lines, line) || !(line.starts_with("https://") || line.starts_with("http://")))
    return refuse(letter.way.what + ": its first line is the address, https://…");
  config = "url = " + curl_text(clean_text(line, kLineMax)) +
           "\ndata-binary = \"@/dev/fd/3\"\noutput = \"/dev/null\"\n";
  while (next_line(lines, line)) {
    if (line.empty() || line.front() == '#') continue;
    if (line.find(':') == std::string::npos)
      return refuse(letter.way.what + ": after the address each line is a header, as in `Authorization: …`");
    config += "header = " + curl_text(clean_text(line, kLineMax)) + "\n";
  }
  std::string content = "application/json";
  std::string text;
  switch (letter.way.format) {
    case v1::AlarmChannelSettings::FORMAT_SLACK:
      text = json::serialize(json::object{{"text", chat_text(subject(letter) + "\n" + body(letter))}});
      break;
    case v1::AlarmChannelSettings::FORMAT_NTFY:
      content = "text/plain; charset=utf-8";
      config += "header = " + curl_text("Title: " + encoded(subject(letter), " ")) + "\n";
      if (letter.message.gravity == control::Gravity::error) config += "header = \"Priority: high\"\n";
      text = body(letter);
      break;
    case v1::AlarmChannelSettings::FORMAT_JSON:
      text = json::serialize(fields(letter));
      break;
  }
  config += "header = " + curl_text("Content-Type: " + content) + "\n";
  return AlarmChild{curl(letter, "=http,https"), std::move(config), std::move(text)};
}

Expected<std::string, std::string> read_secret(const std::string& file) {
  const OwnedDescriptor in(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat about {};
  if (!in.is_open() || ::fstat(in.get(), &about) != 0) return refuse(file + ": " + std::strerror(errno));
  if (!S_ISREG(about.st_mode)) return refuse(file + ": is not a regular file");
  if ((about.st_mode & 0007U) != 0)
    return refuse(file + ": other users may read it: `chmod o= " + file + "`");
  std::string text(kSecretBytesMax, '\0');
  const ssize_t got = ::read(in.get(), text.data(), text.size());
  if (got < 0) return refuse(file + ": " + std::strerror(errno));
  WEIR_ASSERT(static_cast<std::size_t>(got) <= text.size());
  if (static_cast<std::size_t>(got) == kSecretBytesMax)
    return refuse(file + ": is longer than an address or a password");
  text.resize(static_cast<std::size_t>(got));
  return text;
}

}  // namespace weir::run_control
