#include "history_keeper.hpp"

#include <weir/base/owned_descriptor.hpp>
#include <weir/base/text.hpp>
#include <weir/clock/clock.hpp>
#include <weir/run_record/json.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <span>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace weir::run_control {
namespace {

namespace json = boost::json;
using history::HistoryRing;

constexpr double kMsPerSecond = 1e3;
constexpr std::chrono::seconds kRetry{10};
constexpr std::chrono::seconds kLastWrites{1};  // waited for at the end
constexpr std::int64_t kSecondsMax = 366 * 86400;

}  // namespace

struct HistoryKeeper::Shared {
  std::string path;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<HistoryRing::Change> waiting;
  bool busy = false;  // with a change that is not among the waiting ones
  bool ending = false;
  std::string trouble;  // not told yet
  bool in_trouble = false;

  void run();
  [[nodiscard]] bool write(int file, const HistoryRing::Change& change);
};

bool HistoryKeeper::Shared::write(int file, const HistoryRing::Change& change) {
  std::size_t done = 0;
  while (done < change.bytes.size()) {
    const ssize_t count = ::pwrite(file, change.bytes.data() + done, change.bytes.size() - done,
                                   static_cast<off_t>(change.place + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<std::size_t>(count);
  }
  return !change.is_name || ::fdatasync(file) == 0;
}

void HistoryKeeper::Shared::run() {
  OwnedDescriptor file;
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return ending || !waiting.empty(); });
    if (waiting.empty()) return;
    HistoryRing::Change change = std::move(waiting.front());
    waiting.pop_front();
    busy = true;
    lock.unlock();
    if (!file.is_open()) file = OwnedDescriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    const bool good = file.is_open() && write(file.get(), change);
    const int error = errno;
    lock.lock();
    busy = false;
    if (good) {
      in_trouble = false;
      changed.notify_all();
      continue;
    }
    waiting.push_front(std::move(change));
    file.reset();
    if (!std::exchange(in_trouble, true))
      trouble = fmt::format("the farm's history cannot be written into '{}': {}", path, std::strerror(error));
    if (changed.wait_for(lock, kRetry, [&] { return ending; })) return;
  }
}

HistoryKeeper::HistoryKeeper(const std::string& folder) {
  if (folder.empty()) return;
  shared_ = std::make_shared<Shared>();
  shared_->path = folder + "/history.ring";
  std::ifstream file(shared_->path, std::ios::binary);
  const std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
  if (!bytes.empty() && !ring_.load(std::as_bytes(std::span(bytes)))) {
    // Written by another version: a new file, without rows of the old one.
    ::unlink(shared_->path.c_str());
    shared_->trouble = "'" + shared_->path + "' was not a history of this version: a new one is begun";
  }
  std::thread([shared = shared_] { shared->run(); }).detach();
}

HistoryKeeper::~HistoryKeeper() {
  if (!shared_) return;
  std::unique_lock lock(shared_->mutex);
  shared_->ending = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, kLastWrites, [this] { return shared_->waiting.empty() && !shared_->busy; });
}

void HistoryKeeper::take(TimeNs now, UtcNs utc, const std::map<std::string, double>& values) {
  next_ns_ = now + kInterval;
  std::vector<HistoryRing::Change> changes;
  {
    const std::lock_guard lock(mutex_);
    ring_.take(utc, values);
    changes = ring_.take_changes();
  }
  if (changes.empty()) return;
  const std::lock_guard lock(shared_->mutex);
  for (HistoryRing::Change& one : changes) {
    if (shared_->waiting.size() >= kWaitingMax && !one.is_name) {
      if (!std::exchange(shared_->in_trouble, true))
        shared_->trouble =
            "the disk of '" + shared_->path + "' does not answer: rows of the history are lost";
      continue;
    }
    shared_->waiting.push_back(std::move(one));
  }
  shared_->changed.notify_all();
}

std::string HistoryKeeper::take_trouble() {
  if (!shared_) return {};
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->trouble, {});
}

Expected<std::string, std::string> HistoryKeeper::find(const Query& query) const {
  constexpr std::size_t kQuotedMax = 100;
  const std::lock_guard lock(mutex_);
  const auto name = query.find("name");
  if (name == query.end()) {
    json::array names;
    for (const std::string& one : ring_.names()) names.emplace_back(one);
    return run_record::one_line(json::object{{"names", std::move(names)}, {"left_out", ring_.left_out()}});
  }
  std::int64_t seconds = 0;
  const auto wanted = query.find("seconds");
  const std::string text = wanted == query.end() ? "3600" : wanted->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || seconds < 1 || seconds > kSecondsMax)
    return Unexpected<std::string>("'" + clean_text(text, kQuotedMax) + "' is not a number of seconds");
  const UtcNs now = utc_now_ns();
  const HistoryRing::Curve curve = ring_.curve(name->second, now - seconds * kSecond, now);
  json::array points;
  for (const HistoryRing::Point& one : curve.points)
    points.push_back(json::array{static_cast<double>(one.utc / kMillisecond), one.mean});
  return run_record::one_line(
      json::object{{"name", clean_text(name->second, kQuotedMax)},
                   {"step_ms", static_cast<double>(curve.step / kSecond) * kMsPerSecond},
                   {"points", std::move(points)}});
}

}  // namespace weir::run_control
