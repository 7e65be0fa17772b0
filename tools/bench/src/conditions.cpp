// The machine of a figure, its load, and the version of Weir.
#include "output.hpp"
#include "units.hpp"
#include <weir/base/time.hpp>
#include <weir/bench/conditions.hpp>
#include <weir/clock/clock.hpp>
#include <weir/lab/load.hpp>
#include <weir/node/paths.hpp>
#include <weir/transport/loop.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace weir::bench {
namespace {

namespace fs = std::filesystem;

constexpr DurationNs kSample = 333 * kMillisecond;
constexpr std::size_t kCommitLetters = 10;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "git rev-parse REF" of a loose or packed ref.
std::string resolved(const fs::path& git, const std::string& ref) {
  const std::string common = first_line(git / "commondir");  // of a work tree besides the main one
  const fs::path shared = common.empty() ? git : git / common;
  if (const std::string loose = first_line(shared / ref); !loose.empty()) return loose;
  std::ifstream packed(shared / "packed-refs");
  for (std::string line; std::getline(packed, line);) {
    if (line.ends_with(" " + ref)) return line.substr(0, line.find(' '));
  }
  return {};
}

// Busy and all jiffies of all cores (proc(5)).
std::pair<double, double> jiffies() {
  std::istringstream line(first_line("/proc/stat"));
  std::string cpu;
  line >> cpu;
  double busy = 0;
  double all = 0;
  for (int column = 0; column < 8; ++column) {
    double value = 0;
    line >> value;
    all += value;
    if (column != 3 && column != 4) busy += value;  // idle, waiting for a disk
  }
  return {busy, all};
}

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(std::min(line.size(), line.find(':') + 2));
  }
  return {};
}

std::string today() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  return fmt::format("{}-{:02}-{:02}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday);
}

}  // namespace

bool RunConditions::is_busy() const { return (withheld < 0 ? others : withheld) > kBusyShare; }

unsigned RunConditions::cores() const {
  const std::size_t end = machine.find(" core");
  if (end == machine.npos || end == 0) return 0;
  const std::size_t before = machine.find_last_not_of("0123456789", end - 1);
  const std::size_t begin = before == machine.npos ? 0 : before + 1;
  unsigned cores = 0;
  std::from_chars(machine.data() + begin, machine.data() + end, cores);
  return cores;
}

std::string commit_around(const std::string& folder) {
  for (fs::path at(folder); !at.empty(); at = at.parent_path()) {
    std::error_code error;
    fs::path git = at / ".git";
    if (fs::is_regular_file(git, error)) {  // "gitdir: PATH"
      const std::string line = first_line(git);
      git = line.starts_with("gitdir: ") ? at / line.substr(8) : fs::path();
    }
    const std::string head = git.empty() ? std::string() : first_line(git / "HEAD");
    if (!head.empty())
      return (head.starts_with("ref: ") ? resolved(git, head.substr(5)) : head).substr(0, kCommitLetters);
    if (at == at.root_path()) break;
  }
  return {};
}

RunConditions conditions_now() {
  RunConditions now;
  const std::string name = processor();
  now.machine = name.empty() ? machine() : name + ", " + machine();
  now.commit = commit_around(node::program_folder());
  now.date = today();
  double load = 0;
  if (::getloadavg(&load, 1) == 1) now.load = hundredths(load);
  return now;
}

std::string where_now() {
  const RunConditions now = conditions_now();
  return fmt::format("{}; load {:.2f}, {}{}{}", now.machine, now.load, now.commit.empty() ? "" : "commit ",
                     now.commit.empty() ? "" : now.commit + ", ", now.date);
}

double sample_busy_share() {
  const auto [busy_before, before] = jiffies();
  transport::Loop loop{transport::SocketPolicy{}};
  const TimeNs until_ns = awake_now_ns() + kSample;
  for (TimeNs now_ns = awake_now_ns(); now_ns < until_ns; now_ns = awake_now_ns())
    loop.run_once([](TimeNs) {}, until_ns - now_ns);
  const auto [busy, all] = jiffies();
  return all > before ? hundredths((busy - busy_before) / (all - before)) : 0;
}

void sample_others(RunConditions& conditions) {
  conditions.others = std::max(conditions.others, sample_busy_share());
  const auto cores = std::max(1U, std::thread::hardware_concurrency());
  auto spinners = lab::Load::start(cores);
  if (!spinners) return;
  const TimeNs since_ns = awake_now_ns();
  transport::Loop loop{transport::SocketPolicy{}};
  while (awake_now_ns() < since_ns + kSample)
    loop.run_once([](TimeNs) {}, since_ns + kSample - awake_now_ns());
  const double all_s = cores * static_cast<double>(awake_now_ns() - since_ns) / static_cast<double>(kSecond);
  conditions.withheld =
      std::max(conditions.withheld, hundredths(std::max(0.0, 1 - spinners->stop() / all_s)));
}

void add_to(Line& line, const RunConditions& conditions) {
  line["machine"] = conditions.machine;
  line["commit"] = conditions.commit;
  line["date"] = conditions.date;
  line["load"] = conditions.load;
  line[kOtherShare] = conditions.others;
  line[kWithheldShare] = conditions.withheld;
}

RunConditions conditions_of(const Lines& lines) {
  RunConditions conditions;
  for (const Line& line : lines) {
    if (conditions.machine.empty()) {
      conditions.machine = text_of(line, "machine");
      conditions.commit = text_of(line, "commit");
      conditions.date = text_of(line, "date");
      if (line.contains("load")) conditions.load = number_of(line, "load");
    }
    if (line.contains(kOtherShare))
      conditions.others = std::max(conditions.others, number_of(line, kOtherShare));
    if (line.contains(kWithheldShare))
      conditions.withheld = std::max(conditions.withheld, number_of(line, kWithheldShare));
  }
  return conditions;
}

std::string text_of(const RunConditions& conditions) {
  const auto known = [](const std::string& text) { return text.empty() ? "not recorded" : text; };
  const auto share = [](double of) {
    return of < 0 ? std::string("not recorded") : fmt::format("at most {:.0f} %", kPercent * of);
  };
  std::string text = fmt::format(
      "Machine: {}; commit: {}; date: {}; load before the first run: {}; cores in use by other "
      "programs before a run: {}",
      known(conditions.machine), known(conditions.commit), known(conditions.date),
      conditions.load < 0 ? "not recorded" : fmt::format("{:.2f}", conditions.load),
      share(conditions.others));
  if (conditions.withheld >= 0)
    text += "; cores that they kept from a program of this figure's priority: " + share(conditions.withheld);
  return text + ".";
}

}  // namespace weir::bench
