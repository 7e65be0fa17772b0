#include "alarm_history.hpp"

#include <weir/base/figures.hpp>
#include <weir/base/text.hpp>
#include <weir/run_record/json.hpp>

#include <boost/json.hpp>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace weir::run_control {

std::string AlarmHistory::add(const control::AlarmEvent& event) {
  if (path_.empty()) return {};
  constexpr std::size_t kTextMax = 1000;
  boost::json::object line{{"time", utc_text(event.utc_ns)}, {"what", control::name(event.what)}};
  const auto add_text = [&](const char* key, const std::string& text) {
    if (!text.empty()) line[key] = clean_text(text, kTextMax);
  };
  const bool of_message = !event.channel.empty();
  add_text(of_message ? "subject" : "alarm", event.name);
  if (!event.name.empty() && !of_message) line["severity"] = control::name(event.gravity);
  add_text("reason", event.reason);
  add_text("by", event.by);
  add_text("channel", event.channel);
  boost::json::array text;
  std::istringstream lines(event.text);
  for (std::string one; std::getline(lines, one);) text.emplace_back(clean_text(one, kTextMax));
  if (!text.empty()) line["text"] = std::move(text);
  std::error_code none;
  if (std::filesystem::file_size(path_, none) >= kBytesMax && !none)
    std::filesystem::rename(path_, path_ + ".1", none);
  std::ofstream file(path_, std::ios::app);
  file << run_record::one_line(line) << '\n';
  file.flush();
  const bool again = failed_;
  failed_ = !file;
  return failed_ && !again ? "cannot write '" + path_ + "': " + std::strerror(errno) : "";
}

}  // namespace weir::run_control
