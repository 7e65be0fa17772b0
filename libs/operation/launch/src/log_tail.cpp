#include <weir/base/text.hpp>
#include <weir/launch/log_tail.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <fstream>
#include <optional>

namespace weir::launch {
namespace {

constexpr std::streamoff kTailBytes = 64 * 1024;
constexpr std::size_t kErrorBytesMax = 2000;  // for a line of a plugin's own, for example
constexpr std::string_view kReason = "reason=\"";

// Returns the message of a log line of level error or worse.
std::optional<std::string> error_message(std::string_view line) {
  if (line.starts_with('{')) {
    boost::system::error_code failed;
    const boost::json::value value = boost::json::parse({line.data(), line.size()}, failed);
    const auto* object = failed ? nullptr : value.if_object();
    if (object == nullptr) return std::nullopt;
    const auto* level = object->if_contains("level");
    const auto* message = object->if_contains("message");
    if (level == nullptr || message == nullptr || !level->is_string() || !message->is_string())
      return std::nullopt;
    if (level->as_string() != "error" && level->as_string() != "critical") return std::nullopt;
    return std::string(message->as_string().c_str());
  }
  if (line.find(" level=error ") == line.npos && line.find(" level=critical ") == line.npos)
    return std::nullopt;
  const std::size_t run = line.find(" run=");
  if (run == line.npos) return std::string(line);
  const std::size_t message = line.find(' ', run + 1);
  return std::string(message == line.npos ? line : line.substr(message + 1));
}

bool is_log_line(std::string_view line) {
  return line.starts_with("{\"time\"") || line.find("Z level=") != line.npos;
}

std::string reason_in(const std::string& message) {
  const std::size_t from = message.find(kReason);
  if (from == message.npos) return message;
  const std::size_t begin = from + kReason.size();
  const std::size_t end = message.rfind('"');
  return end == message.npos || end < begin ? message.substr(begin) : message.substr(begin, end - begin);
}

}  // namespace

std::string last_error(std::string_view log) {
  std::string_view last;
  while (!log.empty()) {
    if (log.back() == '\n') log.remove_suffix(1);
    const std::size_t newline = log.rfind('\n');
    const std::string_view line = newline == log.npos ? log : log.substr(newline + 1);
    log = newline == log.npos ? std::string_view() : log.substr(0, newline + 1);
    if (const auto message = error_message(line)) return reason_in(*message);
    if (last.empty() && !is_log_line(line)) last = line;
  }
  return std::string(last);
}

std::string last_error_of_file(const std::string& path, std::uint64_t from) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const std::streamoff size = file.tellg();
  const std::streamoff begin = std::max(static_cast<std::streamoff>(from), size - kTailBytes);
  if (begin >= size) return {};
  std::string tail(static_cast<std::size_t>(size - begin), '\0');
  file.seekg(begin);
  file.read(tail.data(), static_cast<std::streamsize>(tail.size()));
  tail.resize(static_cast<std::size_t>(file.gcount()));
  return clean_text(last_error(tail), kErrorBytesMax);
}

}  // namespace weir::launch
