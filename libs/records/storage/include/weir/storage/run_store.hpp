#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/hash.hpp>
#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>
#include <weir/ports/disk.hpp>
#include <weir/storage/format.hpp>
#include <weir/storage/slice_record.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::storage {

struct OutputCounters;

struct RunStoreConfig {
  std::string directory;
  std::string writer;  // this writer's name in the farm, part of the file names
  std::string farm;
  RunNumber run;
  std::uint32_t first_sequence = 0;  // of the first file; after a restart from read_earlier_life()

  std::uint64_t file_bytes_max;                 // a file with one record may be larger
  std::uint64_t file_bytes_limit = UINT64_MAX;  // no file can be longer: the next one is begun before this
  std::uint64_t file_records_max = 4'000'000;   // bounds the index in memory (48 bytes a record)
  DurationNs file_duration_max = 600 * kSecond;

  std::uint64_t sync_bytes = 64ULL << 20;  // group commit: whichever is reached first
  std::optional<std::uint64_t> sync_records;
  DurationNs sync_interval = 100 * kMillisecond;
  DurationNs retry_interval = kSecond;  // between retries after a disk error

  std::uint64_t queue_bytes_max = 256ULL << 20;  // records not yet on disk; a larger record is accepted alone
  std::size_t chunk_bytes = 1U << 20;            // gathered before an append
  std::size_t reference_bytes_min = 64U << 10;   // records of this size and larger are not copied

  std::size_t unsettled_max = 4'000'000;  // slices that the deduplication remembers
  std::size_t settled_max = 250'000;      // settled slices that are recognised as well if they are sent again
  std::size_t dead_copies_max = 1'000'000;
  bool check_fragments = true;  // compare each fragment's checksum before storing it
  bool files_leave = false;     // closed files may be moved away by others (writer.on_close)
};

// A file of an earlier process of this writer.
struct EarlierFile {
  std::string path;
  std::uint32_t sequence = 0;
  std::uint64_t bytes = 0;
  SliceSum live;
};

enum class StoreResult : std::uint8_t {
  accepted,        // acknowledged when on disk
  duplicate,       // stored before: acknowledged again once that copy is on disk
  malformed,       // refused from here on: not a slice record
  bad_checksum,    // damaged in transit
  wrong_run,       //
  stale_epoch,     // a copy with a higher store epoch was confirmed
  epoch_conflict,  // the same store epoch for another attempt: an error of the sender
  queue_full,      // more than was granted
  unsettled_full,  // more slices unsettled than configured
  dead_list_full,  // more dead copies than configured
  not_open,        // not ready yet, closing, or failed
  no_memory,       // set by the receiver: no memory for it
};
constexpr std::size_t kStoreResults = 12;
[[nodiscard]] std::string_view name(StoreResult result);
// Returns the result of that name; `malformed` if there is none.
[[nodiscard]] StoreResult store_result(std::string_view name);
[[nodiscard]] constexpr bool is_refusal(StoreResult result) { return result > StoreResult::duplicate; }
// Returns true if the record itself is good: it may be accepted when it is offered again.
[[nodiscard]] constexpr bool is_passing(StoreResult result) {
  return result == StoreResult::queue_full || result == StoreResult::unsettled_full ||
         result == StoreResult::not_open;
}

// A copy that is on disk.
struct StoredSlice {
  SliceId slice;
  Attempt attempt;
  StoreEpoch epoch;
  std::uint32_t origin = 0;  // as given to store()
  std::uint64_t bytes = 0;   // the record's length, which can be granted again
};

struct ClosedFile {
  std::string path;
  std::uint32_t sequence = 0;
  std::uint64_t bytes = 0;
  SliceSum live;  // without the copies that were known to be dead
  std::uint32_t crc32c = 0;
  bool sound = true;  // false: a part is gone, as reported to on_lost()
};

// Copies that were on disk and are gone: their file was cut, removed or replaced from outside.
struct LostCopies {
  std::string path;
  std::string why;
  std::uint64_t count = 0;
  std::vector<SliceId> slices;  // in order; the first of those that are still known
};

// Called from flush(), tick(), close() and on_disk_event(); must not call the store.
class StoreHandler {
 public:
  virtual ~StoreHandler() = default;
  // The first file exists, with its begin-of-run record on disk: records are accepted from now on.
  virtual void on_ready() = 0;
  virtual void on_stored(std::span<const StoredSlice> slices) = 0;
  virtual void on_file_closed(const ClosedFile& file) = 0;
  virtual void on_lost(const LostCopies& lost) = 0;
  // The disk refuses. No record of the file is acknowledged until on_resumed(). Before on_ready(): the disk
  // is full, and the first file is retried until there is room.
  virtual void on_blocked(ports::DiskError error, const std::string& detail) = 0;
  virtual void on_resumed() = 0;
  // The first file could not be created or written, for another reason than a full disk: the run cannot
  // begin.
  virtual void on_failed(ports::DiskError error, const std::string& detail) = 0;
  // After close(): every file is published and was compared with the file system.
  virtual void on_finished() = 0;
};

struct StoreCounters {
  std::uint64_t records = 0;       // accepted
  std::uint64_t bytes_in = 0;      // in accepted records
  std::uint64_t bytes_stored = 0;  // on disk, with frames and indexes
  std::uint64_t appends = 0;
  std::uint64_t syncs = 0;
  std::uint64_t retries = 0;
  std::uint64_t blocked = 0;  // number of times
  std::uint64_t files_closed = 0;
  std::uint64_t dead_copies = 0;
  std::uint64_t files_restored = 0;  // that were changed from outside
  std::uint64_t files_compared = 0;  // with the file system, at the end of the run
  std::uint64_t files_left = 0;   // of the compared ones: moved away by a person or a job, which is allowed
  std::uint64_t slices_lost = 0;  // live copies that were on disk
  std::array<std::uint64_t, kStoreResults> results{};  // by StoreResult
};

// A writer's run: checks records, stores each (slice, store epoch) once, gathers records into files, and
// reports which are on disk. Each closed file is read back: the length, file header and begin of run, index
// and footer, and the heads of kHeadsRead records. At the end every file is checked once more. If a file has
// changed, every record of it is read, and lost ones no longer count. Pure: the disk is a port, the time an
// argument. Not thread-safe; the disk's events for its files go to on_disk_event(). File ids are counted from
// `first_file_id`.
class RunStore final : public ports::DiskHandler {
 public:
  static constexpr std::size_t kHeadsRead = 64;  // spread over the file
  static constexpr std::size_t kLostNamed = 1000;

  RunStore(RunStoreConfig config, ports::Disk& disk, StoreHandler& handler, ports::FileId first_file_id = {});
  ~RunStore() override;

  // Creates the first file; on_ready() or on_failed() follows, when there is room, unless close() is called
  // first. `begin_of_run` is written to every file.
  void start(TimeNs now, UtcNs utc, std::vector<std::byte> begin_of_run);
  // Stores a slice record as received. `owner` keeps a large one alive (small ones are copied before the call
  // returns) and may be empty for bytes that outlive the store. The acknowledgement contains `origin`.
  [[nodiscard]] StoreResult store(ConstBytes record, const std::shared_ptr<const void>& owner,
                                  std::uint32_t origin, TimeNs now);
  // Passes gathered records to the disk and acknowledges duplicates. To be called at the end of a pass of the
  // loop.
  void flush(TimeNs now);
  // Carries out due work: group commit, roll-over, retries. To be called once per pass of the loop.
  void tick(TimeNs now);
  // Ends the run: closes the file with the dead list and this record. on_finished() follows, unless the disk
  // keeps refusing: then a .part with all acknowledged records remains.
  void close(TimeNs now, const std::vector<std::byte>& end_of_run);

  // These slices are settled. A DCM that lost its connection may send one again: the last settled_max of them
  // are recognised, and acknowledged again.
  void settle(std::span<const SliceId> slices);
  // Marks copies of `slice` with this store epoch or a lower one as dead, present and future ones. Returns
  // false if the lists are full (dead_copies_max, unsettled_max).
  [[nodiscard]] bool mark_dead(SliceId slice, Attempt attempt, StoreEpoch epoch);
  // Forgets a settled slice with a dead copy, unless another copy is stored here: the fate of that one is
  // reported separately.
  void forget_dead(SliceId slice);
  // Every slice of the run is settled: records that are not on disk were never acknowledged, and are marked
  // dead. Returns false like mark_dead().
  [[nodiscard]] bool mark_unsynced_dead();
  // Registers a copy left on disk by a previous process; it counts as stored. Beyond unsettled_max, copies
  // are not recognised when they are sent again. Requires: called before start().
  void remember(SliceId slice, Attempt attempt, StoreEpoch epoch, std::uint32_t sequence);

  // Registers the file of such copies. Requires: called before start().
  void remember(EarlierFile file);

  void on_disk_event(const ports::DiskEvent& event) override;

  [[nodiscard]] std::uint64_t bytes_queued() const { return bytes_queued_; }
  [[nodiscard]] bool blocked() const { return blocked_files_ > 0; }
  // Checks every file once more, long after close(): finished() is false until this is done.
  // Requires: finished().
  void check_again(TimeNs now);
  [[nodiscard]] bool finished() const { return state_ == State::finished; }
  [[nodiscard]] std::size_t unsettled() const { return known_.size() - settled_; }
  // Returns whether a copy was received, by this process or an earlier one, and is not forgotten.
  [[nodiscard]] bool has_copy(SliceId slice) const {
    const auto found = known_.find(slice);
    return found != known_.end() && found->second.copy;
  }
  // Returns the unsettled copies on disk, to be acknowledged to a supervisor that may have missed them.
  [[nodiscard]] std::vector<StoredSlice> unsettled_on_disk() const;
  // Returns whether a copy of unknown fate (neither settled nor dead) is on disk or on its way there. Visits
  // all remembered copies.
  [[nodiscard]] bool has_unsettled_copies() const;
  // Returns the live copies on disk, those of earlier processes included.
  [[nodiscard]] SliceSum stored() const { return stored_; }
  [[nodiscard]] std::span<const DeadCopy> dead_copies() const { return dead_; }
  [[nodiscard]] StoreCounters counters() const;

 private:
  enum class State : std::uint8_t { idle, starting, open, closing, finished, failed };
  struct File;
  // The live copy of a slice, or only the epoch below which none is live.
  struct Known {
    Attempt attempt;
    StoreEpoch epoch;
    std::uint32_t sequence = 0;
    std::uint32_t index = 0;  // in that file's index, while the file is open
    bool copy = false;
    bool earlier_life = false;
    bool settled = false;
  };
  using KnownSlices = boost::unordered_flat_map<SliceId, Known, std::hash<SliceId>>;

  // A file closed by this process or an earlier one.
  struct Closed {
    std::string path;
    std::uint32_t sequence = 0;
    std::uint64_t bytes = 0;
    SliceSum live;
    bool in_part = false;  // without an index: left so by an earlier process, or damaged from outside
    ports::FileView seen;  // when it was read back
  };

  [[nodiscard]] StoreResult judge(ConstBytes record, const Known* known, const SliceRecordView& view) const;
  void accept(const SliceRecordView& view, ConstBytes record, const std::shared_ptr<const void>& owner,
              std::uint32_t origin);
  void acknowledge_again(const Known& known, const SliceHead& head, std::uint64_t bytes,
                         std::uint32_t origin);
  void kill_copy(SliceId slice, const Known& known);
  void set_known(SliceId slice, const Known& known);
  void forget(SliceId slice);
  void open_file();
  void close_file(const std::vector<std::byte>* end_of_run);
  void roll_over_if_due(std::uint64_t next_record_bytes);
  [[nodiscard]] std::uint64_t tail_bytes(const File& file) const;
  void acknowledge_durable(File& file);
  void emit_acknowledgements();
  void on_published(File& file);
  void note_reads(File& file) const;
  void begin_check();
  void on_check_event(const ports::DiskEvent& event);
  [[nodiscard]] std::string finding(const Closed& closed, const File* file,
                                    const ports::FileView& view) const;
  void check_again_later(const ports::DiskEvent& event);
  void count_what_is_there(Closed& closed, File* file, ConstBytes bytes);
  void end_check();
  void finish_if_done();
  [[nodiscard]] Closed* find_closed(std::uint32_t sequence);
  void on_file_failed(File& file);
  [[nodiscard]] File* find_file(std::uint32_t sequence) const;
  [[nodiscard]] File& current() const { return *files_.back(); }

  RunStoreConfig config_;
  ports::Disk& disk_;
  StoreHandler& handler_;
  ports::FileId next_file_id_;
  State state_ = State::idle;
  TimeNs now_ = 0;
  TimeNs started_ns_ = 0;
  UtcNs started_utc_ = 0;
  std::vector<std::byte> begin_of_run_;
  std::uint32_t next_sequence_ = 0;
  std::vector<std::unique_ptr<File>> files_;  // files being closed, and the current one at the end
  KnownSlices known_;
  std::size_t settled_ = 0;               // settled ones among them
  std::deque<SliceId> settled_in_order_;  // forgotten from the front
  std::vector<DeadCopy> dead_;
  std::size_t dead_written_ = 0;
  std::vector<StoredSlice> acknowledgements_;
  std::uint64_t bytes_queued_ = 0;
  std::size_t blocked_files_ = 0;
  ports::FileId check_id_;              // for operations on closed files
  std::vector<Closed> closed_;          // in the order of closing
  std::deque<std::uint32_t> to_check_;  // their indices; the first is in progress
  bool checking_ = false;
  bool last_look_ = false;  // the run is over
  std::size_t check_errors_ = 0;
  std::optional<TimeNs> check_retry_at_;
  std::string finding_;  // about the file being checked
  SliceSum stored_;
  StoreCounters counters_;
  std::unique_ptr<OutputCounters> output_counters_;
};

}  // namespace weir::storage
