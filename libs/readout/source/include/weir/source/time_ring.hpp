#pragma once

#include <weir/source/pieces.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace weir::source {

struct RingLimits {
  std::uint64_t bytes_max = 64ULL << 20U;  // of pieces held, each with kPieceOverhead
  // True: the windows of time slices ascend, so that data before the next possible one are freed. False:
  // windows of events may come late, and data stay until others need their room.
  bool windows_ascend = true;
  bool checksums = true;
};

// Why a piece that reached the ring is in no window.
enum class PieceDrop : std::uint8_t {
  late,       // its source had passed its time
  ring_full,  // others needed its room before a time slice was announced for it
  too_large,  // larger than the ring
  no_time,    // it came without a time
  bad_time,   // more than kAheadMax ahead of UTC, or longer than kDurationMax
  run_ended,
};
constexpr std::size_t kPieceDrops = 6;
[[nodiscard]] constexpr std::string_view name(PieceDrop reason) {
  constexpr std::string_view kNames[] = {"late",    "ring_full", "too_large",
                                         "no_time", "bad_time",  "run_ended"};
  return kNames[static_cast<std::size_t>(reason)];
}

// Counts since begin_run(). At any time: received == placed + unplaced + sum of dropped + held.
struct PieceCounters {
  std::uint64_t received = 0;
  std::uint64_t placed = 0;    // freed after they were in a window or more
  std::uint64_t unplaced = 0;  // freed without: no window was announced for their time
  std::array<std::uint64_t, kPieceDrops> dropped{};
  std::uint64_t held = 0;
  std::uint64_t bytes_held = 0;  // with kPieceOverhead
  std::uint64_t copies = 0;      // of pieces, in windows
  std::uint64_t windows = 0;     // made
  std::uint64_t forced = 0;      // of them, before their source had passed them
  std::uint64_t cut = 0;         // of them, without data that had left the ring: truncated, or too_old
  bool operator==(const PieceCounters&) const = default;
};

// The fragment of one window.
struct MadeWindow {
  SourceId source;
  SliceId slice;
  SourceFragment fragment;
};

// Keeps one source's pieces by time, and makes the fragment of each announced window once the source has
// passed its end. Bounded in bytes. When it is full, the oldest pieces are freed; windows that begin before
// their end are made at once (forced, truncated). A window that begins before data which were freed has the
// status truncated, and is missing (too_old) if it has no pieces left; likewise (gap) if it begins before the
// end of a gap. A window that begins after a gap, or after the begin of a readout that joins the run, by less
// than the length of the longest piece is truncated, too: a lost piece may reach into it. Pieces come in any
// order, and repetitions are not recognised. Not thread-safe; uses no clock.
class TimeRing {
 public:
  static constexpr std::uint64_t kPieceOverhead = 128;
  static constexpr DurationNs kAheadMax = 3600 * kSecond;
  static constexpr DurationNs kDurationMax = 3600 * kSecond;

  TimeRing(SourceId source, const RingLimits& limits) : source_(source), limits_(limits) {}

  // Begins empty. `from`: earlier data are not known (a readout that joins a run); nothing: since ever.
  void begin_run(std::optional<UtcNs> from);
  // Frees all. Open windows are not made.
  void end_run();

  // Appends the windows that the piece forces to `made`. The next two functions append completed ones. `utc`:
  // now.
  void add(Piece piece, UtcNs utc, std::vector<MadeWindow>& made);
  // The source delivers no more pieces that begin before `time`. Lower than before: ignored. `gap`: pieces
  // since the last call may be lost, so that windows with a part of this time are truncated.
  void pass(UtcNs time, bool gap, UtcNs utc, std::vector<MadeWindow>& made);
  // A slice with an open window is ignored.
  void open(const TimeWindow& window, std::vector<MadeWindow>& made);
  // Its fragment is no longer needed. Unknown slices are ignored.
  void close(SliceId slice);
  // A piece that cannot be kept.
  void drop(PieceDrop reason) {
    ++counters_.received;
    ++counters_.dropped[static_cast<std::size_t>(reason)];
  }

  [[nodiscard]] SourceId source() const { return source_; }
  [[nodiscard]] std::size_t open_windows() const { return windows_.size(); }
  [[nodiscard]] std::optional<UtcNs> passed() const {
    return passed_ == kNever ? std::nullopt : std::optional(passed_);
  }
  [[nodiscard]] const PieceCounters& counters() const { return counters_; }

 private:
  static constexpr UtcNs kNever = std::numeric_limits<UtcNs>::min();
  struct Kept {
    Piece piece;
    bool placed = false;
  };
  using Pieces = std::multimap<UtcNs, Kept>;
  using Windows = std::multimap<UtcNs, TimeWindow>;  // by begin

  [[nodiscard]] bool make_room(const Piece& piece, std::vector<MadeWindow>& made);
  void make_passed(std::vector<MadeWindow>& made);
  Windows::iterator make(Windows::iterator at, bool forced, std::vector<MadeWindow>& made);
  void free_old();
  void free_first(bool for_room);

  SourceId source_;
  RingLimits limits_;
  Pieces pieces_;
  Windows windows_;
  boost::unordered_flat_map<std::uint64_t, UtcNs> begin_of_;  // open slices
  UtcNs passed_ = kNever;
  UtcNs gone_until_ = kNever;       // data before this may have been freed
  UtcNs joined_ = kNever;           // pieces that begin before this may not have come
  UtcNs gap_until_ = kNever;        // likewise
  UtcNs next_begin_ = kNever;       // of the windows to come, if they ascend
  DurationNs longest_ = 1;          // of the pieces, since the ring was empty
  DurationNs longest_seen_ = 1;     // of the pieces of the run
  std::vector<Kept*> found_;        // of the window at hand
  std::vector<const Piece*> list_;  //
  PieceCounters counters_;
};

}  // namespace weir::source
