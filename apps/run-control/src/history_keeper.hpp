#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>
#include <weir/history/ring.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace weir::run_control {

// The farm's history in `history.ring` of control.out. A thread of its own writes: a disk that does not
// answer delays nothing. find() may be called by another thread.
class HistoryKeeper {
 public:
  static constexpr DurationNs kInterval = 5 * kSecond;
  static constexpr std::size_t kWaitingMax = 256;  // changes; beyond, rows are dropped

  // `folder` empty: nothing is kept. Reads the file if there is one.
  explicit HistoryKeeper(const std::string& folder);
  ~HistoryKeeper();
  HistoryKeeper(const HistoryKeeper&) = delete;
  HistoryKeeper& operator=(const HistoryKeeper&) = delete;

  [[nodiscard]] bool is_due(TimeNs now) const { return shared_ && now >= next_ns_; }
  void take(TimeNs now, UtcNs utc, const std::map<std::string, double>& values);
  // Returns a new trouble with the file as a sentence, once; empty: none.
  [[nodiscard]] std::string take_trouble();

  using Query = std::map<std::string, std::string>;
  // Returns as JSON the names of all series, or of `name` the means of the last `seconds`. Errors: a
  // sentence. Thread-safe.
  [[nodiscard]] Expected<std::string, std::string> find(const Query& query) const;

 private:
  struct Shared;
  mutable std::mutex mutex_;  // of ring_
  history::HistoryRing ring_;
  std::shared_ptr<Shared> shared_;  // with the thread, whichever ends last; null: nothing is kept
  TimeNs next_ns_ = 0;
};

}  // namespace weir::run_control
