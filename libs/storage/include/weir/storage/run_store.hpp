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
  std::string writer;  // this writer's name in the farm: part of the file names
  std::string farm;
  RunNumber run;
  std::uint32_t first_sequence = 0;  // of the first file; read_earlier_life() finds it after a restart

  std::uint64_t file_bytes_max = 4ULL << 30;    // a file with one record may be larger
  std::uint64_t file_bytes_limit = UINT64_MAX;  // no file can be longer: the next one is begun before that
  std::uint64_t file_records_max = 4'000'000;   // bounds the index in memory (48 bytes a record)
  DurationNs file_duration_max = 600 * kSecond;

  std::uint64_t sync_bytes = 64ULL << 20;  // group commit: whichever of the two comes first
  DurationNs sync_interval = 100 * kMillisecond;
  DurationNs retry_interval = kSecond;  // between attempts to go on after an error of the disk

  std::uint64_t queue_bytes_max = 256ULL
                                  << 20;  // records that are not on disk; one larger record goes when alone
  std::size_t chunk_bytes = 1U << 20;     // gathered before an append
  std::size_t reference_bytes_min = 64U << 10;  // records from here on are not copied

  std::size_t unsettled_max = 4'000'000;  // slices that the dedupe remembers
  std::size_t settled_max = 250'000;      // settled slices that it recognises besides, when they come again
  std::size_t dead_copies_max = 1'000'000;
  bool check_fragments = true;  // compare each fragment's checksum before storing it
  bool files_leave = false;     // closed files are moved away by others (writer.on_close)
};

// A file of an earlier life of this writer.
struct EarlierFile {
  std::string path;
  std::uint32_t sequence = 0;
  std::uint64_t bytes = 0;
  SliceSum live;
};

enum class StoreResult : std::uint8_t {
  accepted,        // acknowledged when on disk
  duplicate,       // stored before: acknowledged again, when that copy is on disk
  malformed,       // refused from here on: not a slice record
  bad_checksum,    // damaged on the way
  wrong_run,       //
  stale_epoch,     // a copy with a higher store epoch was confirmed
  epoch_conflict,  // the same store epoch for another attempt: an error of the sender
  queue_full,      // more than was granted
  unsettled_full,  // more slices unsettled than configured
  dead_list_full,  // more dead copies than configured
  not_open,        // not ready yet, closing, or failed
  no_memory,       // said by the receiver: there is no memory for it
};
constexpr std::size_t kStoreResults = 12;
[[nodiscard]] std::string_view name(StoreResult result);
// Of that name; `malformed` when there is none.
[[nodiscard]] StoreResult store_result(std::string_view name);
[[nodiscard]] constexpr bool is_refusal(StoreResult result) { return result > StoreResult::duplicate; }
// Nothing is wrong with the record: it may be taken when it is offered again.
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
  std::uint64_t bytes = 0;   // the record's length: what can be granted again
};

struct ClosedFile {
  std::string path;
  std::uint32_t sequence = 0;
  std::uint64_t bytes = 0;
  SliceSum live;  // without the copies that were known to be dead
  std::uint32_t crc32c = 0;
  bool sound = true;  // false: a part is gone, and on_lost() has said what
};

// Copies that were on disk and are not any more: their file was cut, removed or replaced from outside.
struct LostCopies {
  std::string path;
  std::string why;
  std::uint64_t count = 0;
  std::vector<SliceId> slices;  // in order; the first of them, as far as they are still known
};

// Called from flush(), tick(), close() and on_disk_event(); must not call the store.
class StoreHandler {
 public:
  virtual ~StoreHandler() = default;
  // The first file is there, with its begin-of-run record on disk: records are accepted from now on.
  virtual void on_ready() = 0;
  virtual void on_stored(std::span<const StoredSlice> slices) = 0;
  virtual void on_file_closed(const ClosedFile& file) = 0;
  virtual void on_lost(const LostCopies& lost) = 0;
  // The disk refuses. Nothing of the file concerned is acknowledged until on_resumed(). Before on_ready():
  // the disk is full, and the first file is tried again until there is room.
  virtual void on_blocked(ports::DiskError error, const std::string& detail) = 0;
  virtual void on_resumed() = 0;
  // The first file could not be created, or not written, for another reason than a full disk: there is no
  // run.
  virtual void on_failed(ports::DiskError error, const std::string& detail) = 0;
  // After close(): every file is published, and what the file system says of each was compared.
  virtual void on_finished() = 0;
};

struct StoreCounters {
  std::uint64_t records = 0;       // accepted
  std::uint64_t bytes_in = 0;      // of them
  std::uint64_t bytes_stored = 0;  // on disk, with frames and indexes
  std::uint64_t appends = 0;
  std::uint64_t syncs = 0;
  std::uint64_t retries = 0;
  std::uint64_t blocked = 0;  // times
  std::uint64_t files_closed = 0;
  std::uint64_t dead_copies = 0;
  std::uint64_t files_restored = 0;  // that were changed from outside
  std::uint64_t files_compared = 0;  // with what the file system says, at the end of the run
  std::uint64_t files_left = 0;      // of them, moved away by a person or a job that may
  std::uint64_t slices_lost = 0;     // live copies that were on disk
  std::array<std::uint64_t, kStoreResults> results{};  // by StoreResult
};

// A writer's run: checks records, stores each (slice, store epoch) once, gathers them into files, and says
// what is on disk. What it closes it reads back: the length, file header and begin of run, index and footer,
// and the heads of kHeadsRead records; at the end it looks at every file once more. Of one that is not as it
// was left every record is read, and what is not there does not count. Pure: the disk is a port, time a
// parameter. One thread; the disk's events for its files come to on_disk_event(). File ids are counted from
// the `first_file_id`.
class RunStore final : public ports::DiskHandler {
 public:
  static constexpr std::size_t kHeadsRead = 64;  // spread over the file
  static constexpr std::size_t kLostNamed = 1000;

  RunStore(RunStoreConfig config, ports::Disk& disk, StoreHandler& handler, ports::FileId first_file_id = {});
  ~RunStore() override;

  // Creates the first file; on_ready() or on_failed() follows, when there is room, unless close() comes
  // first. `begin_of_run` stands in every file.
  void start(TimeNs now, UtcNs utc, std::vector<std::byte> begin_of_run);
  // `record` is one slice record as received. `owner` keeps a large one alive (small ones are copied before
  // the call returns) and may be empty for bytes that outlive the store. `origin` comes back with the
  // acknowledgement.
  [[nodiscard]] StoreResult store(ConstBytes record, const std::shared_ptr<const void>& owner,
                                  std::uint32_t origin, TimeNs now);
  // At the end of a pass of the loop: hands gathered records to the disk, acknowledges duplicates.
  void flush(TimeNs now);
  // Group commit, roll-over, retry, once in each pass of the loop: what is due is done then.
  void tick(TimeNs now);
  // Ends the run: closes the file with the dead list and this record. on_finished() follows, unless the disk
  // keeps refusing: then there remains a .part that holds all that was acknowledged.
  void close(TimeNs now, const std::vector<std::byte>& end_of_run);

  // These slices are over. A DCM that lost its connection may send one again all the same: the last
  // settled_max of them are recognised, and acknowledged again.
  void settle(std::span<const SliceId> slices);
  // Copies of `slice` with this store epoch or a lower one do not count, here and when they come later.
  // False: there is no room to note it (dead_copies_max, unsettled_max).
  [[nodiscard]] bool mark_dead(SliceId slice, Attempt attempt, StoreEpoch epoch);
  // The slice is over, and a copy of it is marked: what is kept of it is forgotten, unless another copy is
  // here, whose fate is told by itself.
  void forget_dead(SliceId slice);
  // Every slice of the run is settled: what has come and is not on disk was never acknowledged, so it is
  // no copy that counts. False: as with mark_dead().
  [[nodiscard]] bool mark_unsynced_dead();
  // A copy that an earlier life of this writer has on disk; before start(). It counts as stored. Beyond
  // unsettled_max copies it is not recognised when it comes again.
  void remember(SliceId slice, Attempt attempt, StoreEpoch epoch, std::uint32_t sequence);

  // A file that it has them in; before start().
  void remember(EarlierFile file);

  void on_disk_event(const ports::DiskEvent& event) override;

  [[nodiscard]] std::uint64_t bytes_queued() const { return bytes_queued_; }
  [[nodiscard]] bool blocked() const { return blocked_files_ > 0; }
  [[nodiscard]] bool finished() const { return state_ == State::finished; }
  [[nodiscard]] std::size_t unsettled() const { return known_.size() - settled_; }
  // A copy of it came, in this life or in an earlier one, and is not forgotten.
  [[nodiscard]] bool has_copy(SliceId slice) const {
    const auto found = known_.find(slice);
    return found != known_.end() && found->second.copy;
  }
  // Unsettled copies that are on disk, to be acknowledged to a supervisor that may not have heard of them.
  [[nodiscard]] std::vector<StoredSlice> unsettled_on_disk() const;
  // Whether a copy is here, on disk or on its way there, whose fate is not known: neither settled nor dead.
  // Costs a pass over what is remembered.
  [[nodiscard]] bool has_unsettled_copies() const;
  // Live copies on disk, those of earlier lives included.
  [[nodiscard]] SliceSum stored() const { return stored_; }
  [[nodiscard]] std::span<const DeadCopy> dead_copies() const { return dead_; }
  [[nodiscard]] StoreCounters counters() const;

 private:
  enum class State : std::uint8_t { idle, starting, open, closing, finished, failed };
  struct File;
  // The copy of a slice that counts, or only the epoch below which none does.
  struct Known {
    Attempt attempt;
    StoreEpoch epoch;
    std::uint32_t sequence = 0;
    std::uint32_t index = 0;  // in that file's index, while it is open
    bool copy = false;
    bool earlier_life = false;
    bool settled = false;
  };
  using KnownSlices = boost::unordered_flat_map<SliceId, Known, std::hash<SliceId>>;

  // A file that was closed, in this life or in an earlier one.
  struct Closed {
    std::string path;
    std::uint32_t sequence = 0;
    std::uint64_t bytes = 0;
    SliceSum live;
    bool in_part = false;  // without an index: as an earlier life, or a hand from outside, has left it
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
  std::vector<std::unique_ptr<File>> files_;  // closing ones, and the current one at the end
  KnownSlices known_;
  std::size_t settled_ = 0;               // of them
  std::deque<SliceId> settled_in_order_;  // forgotten from the front
  std::vector<DeadCopy> dead_;
  std::size_t dead_written_ = 0;
  std::vector<StoredSlice> acknowledgements_;
  std::uint64_t bytes_queued_ = 0;
  std::size_t blocked_files_ = 0;
  ports::FileId check_id_;              // of what is asked about closed files
  std::vector<Closed> closed_;          // in the order of closing
  std::deque<std::uint32_t> to_check_;  // their places; the first is under way
  bool checking_ = false;
  bool last_look_ = false;  // the run is over
  std::size_t check_errors_ = 0;
  std::optional<TimeNs> check_retry_at_;
  std::string finding_;  // about the file that is looked at
  SliceSum stored_;
  StoreCounters counters_;
  std::unique_ptr<OutputCounters> output_counters_;
};

}  // namespace weir::storage
