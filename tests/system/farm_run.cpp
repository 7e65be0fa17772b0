#include "farm_run.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>
#include <stdexcept>

namespace weir::system_test {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t kLogTailBytes = 1500;
constexpr Seconds kStartPatience{30};

std::string tail(const std::string& text) {
  return text.size() <= kLogTailBytes ? text : "..." + text.substr(text.size() - kLogTailBytes);
}

std::uint16_t port_after(const std::string& text, const std::string& mark) {
  const std::size_t at = text.find(mark);
  if (at == text.npos) return 0;
  const std::size_t colon = text.find(':', at + mark.size());
  return colon == text.npos ? std::uint16_t{0}
                            : static_cast<std::uint16_t>(std::atoi(text.c_str() + colon + 1));
}

}  // namespace

const json::value* Summary::find(std::string_view path) const {
  const json::value* value = &value_;
  while (!path.empty()) {
    const std::string_view key = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(path.size(), key.size() + 1));
    const json::object* object = value->if_object();
    if (object == nullptr) return nullptr;
    value = object->if_contains({key.data(), key.size()});
    if (value == nullptr) return nullptr;
  }
  return value;
}

Summary Summary::group(std::string_view name) const {
  for (const boost::json::value& one : value_.at("groups").as_array()) {
    if (one.at("name").as_string() == name) return Summary(one);
  }
  throw std::runtime_error("no group " + std::string(name));
}

std::uint64_t Summary::count(std::string_view path) const {
  const json::value* value = find(path);
  if (value == nullptr || !value->is_number()) return 0;
  return value->to_number<std::uint64_t>();
}

std::uint64_t Summary::count_all(std::string_view path) const {
  const json::value* value = find(path);
  std::uint64_t sum = 0;
  if (value == nullptr || !value->is_object()) return 0;
  for (const auto& [key, count] : value->get_object()) sum += count.to_number<std::uint64_t>();
  return sum;
}

std::string Summary::text(std::string_view path) const {
  const json::value* value = find(path);
  return value == nullptr || !value->is_string() ? "" : std::string(value->get_string().c_str());
}

bool Summary::balanced() const {
  const json::value* value = find("ledger_balanced");
  return value != nullptr && value->is_bool() && value->get_bool();
}

std::string Summary::imbalance() const {
  const json::value* ledger = find("ledger");
  if (ledger == nullptr) return "the summary has no ledger\n";
  std::string text;
  for (const json::value& line : ledger->as_array()) {
    if (!line.at("good").as_bool()) text += json::serialize(line) + "\n";
  }
  return text;
}

std::vector<std::string> Summary::files() const {
  std::vector<std::string> paths;
  if (const json::value* files = find("files")) {
    for (const json::value& file : files->as_array()) paths.emplace_back(file.at("path").as_string().c_str());
  }
  return paths;
}

FarmRun::FarmRun(const TemporaryFolder& folder, const std::string& farm_file,
                 std::vector<std::string> arguments, std::string out)
    : folder_(folder),
      out_(out.empty() ? folder / "out" : std::move(out)),
      summary_file_(folder / "summary.json") {
  std::vector<std::string> line{
      std::string(WEIR_BIN_DIR) + "/weir", "run", farm_file, "--out", out_, "--summary", summary_file_};
  line.insert(line.end(), arguments.begin(), arguments.end());
  process_ = std::make_unique<Process>(line, folder / "weir.out", folder / "weir.err");
}

FarmRun::~FarmRun() {
  if (std::uncaught_exceptions() > 0) std::cerr << describe(so_far());
}

std::string FarmRun::log(const std::string& node) const { return read_file(out_ + "/log/" + node + ".log"); }

bool FarmRun::wait_for_log(const std::string& node, const std::string& text, Seconds patience) const {
  return wait_until([&] { return log(node).find(text) != std::string::npos; }, patience);
}

std::uint64_t FarmRun::data_bytes() const {
  std::uint64_t bytes = 0;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(out_, none)) {
    if (entry.path().filename().string().find(".weir") == std::string::npos) continue;
    const std::uint64_t size = entry.file_size(none);
    if (!none) bytes += size;
  }
  return bytes;
}

bool FarmRun::wait_for_data(std::uint64_t bytes, Seconds patience) const {
  return wait_until([&] { return data_bytes() >= bytes; }, patience);
}

std::uint16_t FarmRun::port_of(const std::string& node) const {
  std::uint16_t port = 0;
  (void)wait_until([&] { return (port = port_after(log(node), "listening at=")) != 0; }, kStartPatience);
  if (port == 0) throw std::runtime_error(node + " does not listen: " + log(node) + process_->err());
  return port;
}

std::uint16_t FarmRun::trigger_port() const {
  std::uint16_t port = 0;
  (void)wait_until([&] { return (port = port_after(process_->out(), "takes triggers at ")) != 0; },
                   kStartPatience);
  if (port == 0)
    throw std::runtime_error("weir run does not say where it takes triggers: " + process_->out());
  return port;
}

std::string FarmRun::control_at() const {
  std::uint16_t port = 0;
  (void)wait_until([&] { return (port = port_after(process_->out(), "run control at ")) != 0; },
                   kStartPatience);
  if (port == 0) throw std::runtime_error("weir run does not say where run control is: " + process_->out());
  return "127.0.0.1:" + std::to_string(port);
}

pid_t FarmRun::pid_of(const std::string& node) const {
  std::vector<RunningProcess> found = processes_naming(folder_.path().string());
  std::erase_if(found, [&](const RunningProcess& process) {
    const auto name = std::find(process.arguments.begin(), process.arguments.end(), "--name");
    const bool named = name != process.arguments.end() && name + 1 != process.arguments.end();
    return !process.arguments.front().ends_with("/weir-" + node) && !(named && *(name + 1) == node);
  });
  // A process that a node forked has the node's command line, and may have a lower number.
  const auto first = std::find_if(found.begin(), found.end(), [&](const RunningProcess& process) {
    return std::none_of(found.begin(), found.end(),
                        [&](const RunningProcess& other) { return other.pid == process.parent; });
  });
  return first == found.end() ? 0 : first->pid;
}

bool FarmRun::send_signal(const std::string& node, int signal) const {
  pid_t pid = 0;
  return wait_until([&] { return (pid = pid_of(node)) != 0; }, kStartPatience) && ::kill(pid, signal) == 0;
}

std::size_t FarmRun::processes() const { return processes_naming(folder_.path().string()).size(); }

FarmEnd FarmRun::so_far() const {
  FarmEnd end;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(out_ + "/log", none)) {
    end.logs += "---- " + entry.path().filename().string() + "\n" + tail(read_file(entry.path())) + "\n";
  }
  end.out = process_->out();
  end.err = process_->err();
  return end;
}

FarmEnd FarmRun::finish(Seconds patience) {
  const auto status = process_->wait(patience);
  FarmEnd end = so_far();
  if (!status) throw std::runtime_error("weir run does not end\n" + describe(end));
  end.status = *status;
  const std::string text = read_file(summary_file_);
  if (!text.empty()) end.summary = Summary(json::parse(text));
  return end;
}

std::string config_file(const std::string& name) { return std::string(WEIR_SOURCE_DIR) + "/configs/" + name; }

FarmEnd run_farm(const TemporaryFolder& folder, const std::string& farm_file,
                 std::vector<std::string> arguments) {
  return FarmRun(folder, farm_file, std::move(arguments)).finish();
}

std::vector<std::string> sets(const std::vector<std::string>& assignments) {
  std::vector<std::string> arguments;
  for (const std::string& assignment : assignments) {
    arguments.emplace_back("--set");
    arguments.push_back(assignment);
  }
  return arguments;
}

std::string describe(const FarmEnd& end) {
  return "status " + std::to_string(end.status) + "\n" + end.summary.imbalance() + "---- standard output\n" +
         tail(end.out) + "\n---- standard error\n" + tail(end.err) + "\n" + end.logs;
}

}  // namespace weir::system_test
