#pragma once

#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>
#include <weir/numbering/time_vote.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace weir::numbering {

struct SeenNumber {
  SliceId number;
  UtcNs time = 0;
  bool operator==(const SeenNumber&) const = default;
};

// How the time of a number is found where times are compared. A front-end out of step may be the first to
// send a number, and its time would be wrong for all others: the time that most sources give counts. Without
// a majority a number waits for `wait_ns`, and until its time is later than the previous number's, or most
// sources have reached it for as long.
struct TimeSettings {
  DurationNs tolerance_ns = 0;  // 0: the first fragment's time counts
  DurationNs wait_ns = 0;       // for most sources that deliver
};

// The numbers of a readout's fragments that the supervisor has to hear of, each once. A number up to one
// above the highest so far is reported at once. A higher one waits until more than half of the sources that
// delivered lately have reached it, so that one counter that jumps does not move the farm. Not thread-safe.
class SeenNumbers {
 public:
  static constexpr DurationNs kDeliveredLately = 1 * kSecond;
  // Numbers that are kept for a new connection: without a supervisor the lowest are forgotten. Their
  // fragments have left the store of early fragments by then.
  static constexpr std::size_t kKnownMax = 65536;
  static constexpr std::size_t kWaitingMax = 8192;  // beyond, the highest is forgotten

  explicit SeenNumbers(std::size_t sources, const TimeSettings& times = {})
      : times_(times), sources_(sources) {}

  void begin();
  // A fragment of the source, by its place, has arrived. `trusted`: the source is in step, as far as is
  // known; the time of another one counts only if there is none else.
  void note(std::size_t source, SliceId number, UtcNs time, TimeNs now, bool trusted = true);
  // The supervisor has announced numbers up to this one, or has vetoed them. `time`: of this one, if known.
  void announced(SliceId upto, std::optional<UtcNs> time = std::nullopt);
  // Moves the numbers to be reported to `out`, at most `most`.
  void take(std::size_t most, TimeNs now, std::vector<SeenNumber>& out);
  // The connection to the supervisor is new: everything that it has not announced is reported again.
  void repeat();

  // Returns the time of the highest number up to this one that is not announced yet; none: there is none.
  [[nodiscard]] std::optional<UtcNs> time_upto(SliceId number) const;
  [[nodiscard]] std::uint64_t forgotten() const { return forgotten_; }
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

 private:
  struct Source {
    SliceId at;
    TimeNs heard = 0;
    bool delivers = false;
    bool trusted = true;
  };
  struct Waiting {
    UtcNs time = 0;
    bool near = false;    // when a source sent it, it was not far ahead of the others
    bool decided = true;  // the time is that of most sources
  };
  struct Ballot {
    TimeNs since = 0;
    TimeNs reached = 0;  // when most sources had reached the number; 0: not yet
    UtcNs first = 0;
    TimeVote vote;
  };
  [[nodiscard]] bool is_reached_by_most(SliceId number, TimeNs now) const;
  // Returns the highest number that most sources have reached.
  [[nodiscard]] SliceId reached_by_most(TimeNs now);
  [[nodiscard]] std::size_t voters(TimeNs now) const;
  [[nodiscard]] UtcNs time_of(SliceId number, const Ballot& ballot) const;
  // Returns the time of a lower number, the highest that was believed; none: not known.
  [[nodiscard]] std::optional<UtcNs> time_before(SliceId number) const;
  // Returns whether the number need not wait for a majority any more.
  [[nodiscard]] bool is_due(SliceId number, const Ballot& ballot, TimeNs now) const;
  void forget_top();
  void vote(SliceId number, UtcNs time, TimeNs now, bool trusted);
  void count_votes(TimeNs now);
  // `decided`: the time is that of most sources.
  void accept(SliceId number, UtcNs time, TimeNs now, bool decided = true);
  void believe(SliceId number, UtcNs time);

  TimeSettings times_;
  std::vector<Source> sources_;
  std::vector<std::uint64_t> reached_;  // scratch
  std::optional<SliceId> announced_;
  std::optional<SliceId> top_;          // the highest that was believed
  std::optional<UtcNs> top_time_;       // its time, if known
  std::optional<SliceId> near_;         // the highest that was not far ahead
  std::map<SliceId, UtcNs> known_;      // believed, not announced: their times
  std::map<SliceId, Waiting> waiting_;  // not believed yet
  std::map<SliceId, Ballot> voting_;    // without a time yet
  std::vector<SeenNumber> fresh_;       // to be reported
  bool behind_ = false;                 // `fresh_` lacks some of them
  std::uint64_t forgotten_ = 0;
};

}  // namespace weir::numbering
