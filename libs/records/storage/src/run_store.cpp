#include "open_run_file.hpp"
#include "run_store_state.hpp"
#include <weir/base/assert.hpp>
#include <weir/base/crc32c.hpp>
#include <weir/base/planted.hpp>
#include <weir/storage/run_store.hpp>

#include <algorithm>
#include <utility>

namespace weir::storage {

std::string_view name(StoreResult result) {
  constexpr std::string_view kNames[kStoreResults] = {
      "accepted",       "duplicate",  "malformed",      "bad_checksum",   "wrong_run", "stale_epoch",
      "epoch_conflict", "queue_full", "unsettled_full", "dead_list_full", "not_open",  "no_memory"};
  return kNames[static_cast<std::size_t>(result)];
}

StoreResult store_result(std::string_view text) {
  for (std::size_t i = 0; i < kStoreResults; ++i) {
    if (name(static_cast<StoreResult>(i)) == text) return static_cast<StoreResult>(i);
  }
  return StoreResult::malformed;
}

RunStore::RunStore(RunStoreConfig config, ports::Disk& disk, StoreHandler& handler,
                   ports::FileId first_file_id)
    : config_(std::move(config)),
      disk_(disk),
      handler_(handler),
      next_file_id_(first_file_id.next()),
      next_sequence_(config_.first_sequence),
      check_id_(first_file_id),
      output_counters_(std::make_unique<OutputCounters>()) {}

RunStore::~RunStore() = default;

void RunStore::start(TimeNs now, UtcNs utc, std::vector<std::byte> begin_of_run) {
  WEIR_ASSERT(state_ == State::idle);
  now_ = started_ns_ = now;
  started_utc_ = utc;
  begin_of_run_ = std::move(begin_of_run);
  enter(state_, State::starting);
  open_file();
}

void RunStore::open_file() {
  const std::uint32_t sequence = next_sequence_++;
  const std::string path = config_.directory + "/" + run_file_name(config_.run, config_.writer, sequence);
  auto file = std::make_unique<File>(disk_, next_file_id_, path,
                                     OutputFile::Settings{config_.chunk_bytes, config_.reference_bytes_min},
                                     *output_counters_);
  next_file_id_ = next_file_id_.next();
  file->sequence = sequence;
  file->opened = now_;
  FileHeader header;
  header.run = config_.run;
  header.sequence = sequence;
  header.created = started_utc_ + (now_ - started_ns_);
  header.writer = config_.writer;
  header.farm = config_.farm;
  file->output.open(std::move(header));
  file->output.append(RecordType::begin_of_run, encode_opaque(begin_of_run_));
  file->output.end_head();
  files_.push_back(std::move(file));
}

StoreResult RunStore::store(ConstBytes record, const std::shared_ptr<const void>& owner, std::uint32_t origin,
                            TimeNs now) {
  now_ = now;
  StoreResult result = StoreResult::not_open;
  if (state_ == State::open) {
    const auto view = parse_slice_record(record, config_.check_fragments ? Check::fragments : Check::meta);
    if (!view) {
      result =
          view.error() == StorageError::bad_checksum ? StoreResult::bad_checksum : StoreResult::malformed;
    } else {
      const auto found = known_.find(view->head().slice);
      const Known* known = found == known_.end() ? nullptr : &found->second;
      result = judge(record, known, *view);
      if (result == StoreResult::duplicate) acknowledge_again(*known, view->head(), record.size(), origin);
      if (result == StoreResult::accepted) accept(*view, record, owner, origin);
    }
  }
  ++counters_.results[static_cast<std::size_t>(result)];
  return result;
}

StoreResult RunStore::judge(ConstBytes record, const Known* known, const SliceRecordView& view) const {
  const SliceHead& head = view.head();
  if (head.run != config_.run) return StoreResult::wrong_run;
  if (known != nullptr) {
    if (head.epoch < known->epoch) return StoreResult::stale_epoch;
    if (head.epoch == known->epoch && !planted(Planted::store_twice)) {
      if (!known->copy) return StoreResult::stale_epoch;
      if (head.attempt != known->attempt) return StoreResult::epoch_conflict;
    }
  }
  const bool fits = bytes_queued_ == 0 || bytes_queued_ + record.size() <= config_.queue_bytes_max;
  if (!fits) return StoreResult::queue_full;
  if (known == nullptr) {
    return unsettled() < config_.unsettled_max ? StoreResult::accepted : StoreResult::unsettled_full;
  }
  if (head.epoch == known->epoch && !planted(Planted::store_twice)) return StoreResult::duplicate;
  const bool one_more_dead = known->copy && dead_.size() >= config_.dead_copies_max;
  return one_more_dead ? StoreResult::dead_list_full : StoreResult::accepted;
}

void RunStore::accept(const SliceRecordView& view, ConstBytes record,
                      const std::shared_ptr<const void>& owner, std::uint32_t origin) {
  const SliceHead& head = view.head();
  roll_over_if_due(kRecordHeadLength + padded(record.size()));
  File& file = current();
  if (const auto found = known_.find(head.slice); found != known_.end() && found->second.copy) {
    kill_copy(head.slice, found->second);
  }

  const auto index = static_cast<std::uint32_t>(file.index.size());
  std::optional<std::uint32_t> crc;
  if (config_.check_fragments && file.output.is_referred_to(record.size())) crc = record_checksum(view);
  const std::uint64_t offset = file.output.append(RecordType::slice, record, owner, crc);
  file.index.push_back({head.slice, offset, record.size(), head.stream_mask, head.trigger_time, head.attempt,
                        head.epoch, head.flags, false});
  set_known(head.slice, {head.attempt, head.epoch, file.sequence, index, true, false, false});
  file.waiting.push_back(
      {file.index.back().end(), {head.slice, head.attempt, head.epoch, origin, record.size()}, index, false});
  bytes_queued_ += record.size();
  ++counters_.records;
  counters_.bytes_in += record.size();

  file.unsynced_bytes += record.size();
  if (!file.unsynced_since) file.unsynced_since = now_;
  ++file.unsynced_records;
  const bool enough = config_.sync_records && file.unsynced_records >= *config_.sync_records;
  if (enough || file.unsynced_bytes >= config_.sync_bytes) file.sync();
}

// The first copy's bytes are on disk or on their way, so the second copy's bytes are not needed.
void RunStore::acknowledge_again(const Known& known, const SliceHead& head, std::uint64_t bytes,
                                 std::uint32_t origin) {
  const StoredSlice again{head.slice, head.attempt, head.epoch, origin, bytes};
  File* file = known.earlier_life ? nullptr : find_file(known.sequence);
  if (file == nullptr || file->waiting.empty() ||
      file->index[known.index].end() <= file->output.durable_end()) {
    acknowledgements_.push_back(again);
  } else {
    file->waiting.push_back({file->waiting.back().end, again, known.index, true});
  }
  bytes_queued_ += bytes;
}

void RunStore::kill_copy(SliceId slice, const Known& known) {
  dead_.push_back({slice, known.attempt, known.epoch, known.sequence});
  ++counters_.dead_copies;
  File* file = known.earlier_life ? nullptr : find_file(known.sequence);
  bool counted = true;
  if (file != nullptr) {
    IndexEntry& entry = file->index[known.index];
    entry.dead = true;
    counted = entry.end() <= file->output.durable_end();
  } else if (Closed* closed = find_closed(known.sequence)) {
    closed->live.remove(slice);
  }
  if (counted) stored_.remove(slice);
}

bool RunStore::mark_dead(SliceId slice, Attempt attempt, StoreEpoch epoch) {
  auto found = known_.find(slice);
  if (found != known_.end() && found->second.epoch > epoch) return true;
  if (found != known_.end() && found->second.copy) {
    if (dead_.size() >= config_.dead_copies_max) return false;
    kill_copy(slice, found->second);
  }
  if (found == known_.end() && unsettled() >= config_.unsettled_max) return false;
  set_known(slice, {attempt, epoch, 0, 0, false, false, false});
  return true;
}

void RunStore::forget_dead(SliceId slice) {
  if (!has_copy(slice)) forget(slice);
}

bool RunStore::mark_unsynced_dead() {
  for (const auto& file : files_) {
    for (const File::Waiting& waiting : file->waiting) {
      if (waiting.duplicate || file->index[waiting.index].dead) continue;
      if (!mark_dead(waiting.slice.slice, waiting.slice.attempt, waiting.slice.epoch)) return false;
    }
  }
  return true;
}

void RunStore::set_known(SliceId slice, const Known& known) {
  Known& entry = known_[slice];
  if (entry.settled) --settled_;
  entry = known;
}

void RunStore::forget(SliceId slice) {
  const auto found = known_.find(slice);
  if (found == known_.end()) return;
  if (found->second.settled) --settled_;
  known_.erase(found);
}

void RunStore::settle(std::span<const SliceId> slices) {
  for (const SliceId slice : slices) {
    const auto found = known_.find(slice);
    if (found == known_.end() || found->second.settled) continue;
    if (!found->second.copy) {
      known_.erase(found);
      continue;
    }
    found->second.settled = true;
    ++settled_;
    settled_in_order_.push_back(slice);
  }
  while (settled_in_order_.size() > config_.settled_max) {
    const auto oldest = known_.find(settled_in_order_.front());
    if (oldest != known_.end() && oldest->second.settled) forget(settled_in_order_.front());
    settled_in_order_.pop_front();
  }
}

void RunStore::remember(SliceId slice, Attempt attempt, StoreEpoch epoch, std::uint32_t sequence) {
  WEIR_ASSERT(state_ == State::idle);
  stored_.add(slice);
  if (unsettled() < config_.unsettled_max) set_known(slice, {attempt, epoch, sequence, 0, true, true, false});
}

void RunStore::remember(EarlierFile file) {
  WEIR_ASSERT(state_ == State::idle);
  const bool in_part = file.path.ends_with(kPartSuffix);
  closed_.push_back({std::move(file.path), file.sequence, file.bytes, file.live, in_part, {}});
}

std::vector<StoredSlice> RunStore::unsettled_on_disk() const {
  std::vector<StoredSlice> copies;
  for (const auto& [slice, known] : known_) {
    if (!known.copy || known.settled) continue;
    const File* file = known.earlier_life ? nullptr : find_file(known.sequence);
    if (file != nullptr && file->index[known.index].end() > file->output.durable_end()) continue;
    copies.push_back({slice, known.attempt, known.epoch, 0, 0});
  }
  return copies;
}

bool RunStore::has_unsettled_copies() const {
  return std::any_of(known_.begin(), known_.end(),
                     [](const auto& entry) { return entry.second.copy && !entry.second.settled; });
}

void RunStore::roll_over_if_due(std::uint64_t next_record_bytes) {
  const File& file = current();
  if (file.index.empty() && !file.output.damaged()) return;
  const bool full = file.output.damaged() ||
                    file.output.size() + next_record_bytes > config_.file_bytes_max ||
                    file.output.size() + next_record_bytes + tail_bytes(file) > config_.file_bytes_limit ||
                    file.index.size() >= config_.file_records_max;
  if (!full && now_ - file.opened < config_.file_duration_max) return;
  close_file(nullptr);
  open_file();
}

// Returns the maximum number of bytes that closing the file adds after one more record.
std::uint64_t RunStore::tail_bytes(const File& file) const {
  constexpr std::uint64_t kEndOfRun = 4096;
  const std::uint64_t dead = (dead_.size() - dead_written_ + 1) * kDeadCopyLength;
  const std::uint64_t index = (file.index.size() + 1) * kIndexEntryLength;
  return dead + index + kFooterLength + kEndOfRun;
}

// The index has the final state of copies that are dead by now; copies that die later are listed in a later
// file's dead list.
void RunStore::close_file(const std::vector<std::byte>* end_of_run) {
  File& file = current();
  OutputFile& output = file.output;
  Footer footer;
  footer.tail_offset = output.size();
  output.begin_tail();
  if (dead_written_ < dead_.size()) {
    output.append(RecordType::dead_list, encode_dead_list(std::span(dead_).subspan(dead_written_)));
    dead_written_ = dead_.size();
  }
  if (end_of_run != nullptr) output.append(RecordType::end_of_run, encode_opaque(*end_of_run));

  for (const IndexEntry& entry : file.index) {
    if (!entry.dead) footer.live.add(entry.slice);
  }
  file.live = footer.live;
  if (!output.damaged()) {
    note_reads(file);
    const auto add_to_be_read = [&](RecordType type, std::vector<std::byte> body) {
      file.checksums.push_back(crc32c(body));
      const std::uint64_t length = body.size();
      const std::uint64_t offset = output.append(type, std::move(body));
      file.read_back.push_back({offset + kRecordHeadLength, length});
      return offset;
    };
    std::vector<IndexEntry> sorted = file.index;
    std::vector<std::byte> index = encode_index(sorted);
    footer.index_count = sorted.size();
    footer.index_length = index.size();
    footer.index_offset = add_to_be_read(RecordType::index, std::move(index));
    footer.content_crc = output.checksum();
    footer.records = output.records() + 1;
    add_to_be_read(RecordType::footer, encode_footer(footer));
  }
  file.closing = true;
  file.unsynced_since.reset();
  output.finish();
}

void RunStore::close(TimeNs now, const std::vector<std::byte>& end_of_run) {
  now_ = now;
  if (state_ != State::open && state_ != State::starting) return;
  enter(state_, State::closing);
  emit_acknowledgements();
  close_file(&end_of_run);
}

void RunStore::flush(TimeNs now) {
  now_ = now;
  emit_acknowledgements();
  if (state_ == State::open) current().output.flush();
}

void RunStore::tick(TimeNs now) {
  now_ = now;
  emit_acknowledgements();
  if (state_ == State::open) {
    roll_over_if_due(0);
    File& file = current();
    if (file.unsynced_since && now_ - *file.unsynced_since >= config_.sync_interval) file.sync();
  }
  for (auto& file : files_) {
    if (file->output.failed() && file->output.idle() && now_ >= file->retry_at) file->output.retry();
  }
  if (check_retry_at_ && now_ >= *check_retry_at_) begin_check();
}

void RunStore::on_disk_event(const ports::DiskEvent& event) {
  if (event.file == check_id_) return on_check_event(event);
  const auto found = std::find_if(files_.begin(), files_.end(),
                                  [&](const auto& file) { return file->output.id() == event.file; });
  if (found == files_.end()) return;
  File& file = **found;
  const OutputFile::Outcome outcome = file.output.on_event(event);
  if (state_ == State::failed) return;
  if (outcome.failed) on_file_failed(file);
  if (outcome.advanced && state_ == State::starting) {
    enter(state_, State::open);
    handler_.on_ready();
  }
  if (outcome.advanced) acknowledge_durable(file);
  if (outcome.recovered && std::exchange(file.blocked, false) && --blocked_files_ == 0) handler_.on_resumed();
  if (outcome.published) on_published(file);
}

void RunStore::on_file_failed(File& file) {
  // A full disk may have room later, whether the run has begun or not. Any other error means a wrong folder.
  if (state_ == State::starting && file.output.error() != ports::DiskError::no_space) {
    enter(state_, State::failed);
    handler_.on_failed(file.output.error(), file.output.detail());
    return;
  }
  const bool changed = file.output.error() == ports::DiskError::changed;
  file.retry_at = changed ? now_ : now_ + config_.retry_interval;
  if (std::exchange(file.blocked, true)) return;
  ++blocked_files_;
  ++counters_.blocked;
  handler_.on_blocked(file.output.error(), file.output.detail());
}

void RunStore::acknowledge_durable(File& file) {
  const std::uint64_t durable_end =
      planted(Planted::acknowledge_unsynced) ? file.output.size() : file.output.durable_end();
  while (!file.waiting.empty() && file.waiting.front().end <= durable_end) {
    const File::Waiting& waiting = file.waiting.front();
    if (!waiting.duplicate && !file.index[waiting.index].dead) stored_.add(waiting.slice.slice);
    acknowledgements_.push_back(waiting.slice);
    file.waiting.pop_front();
  }
  emit_acknowledgements();
}

void RunStore::emit_acknowledgements() {
  if (acknowledgements_.empty()) return;
  for (const StoredSlice& slice : acknowledgements_) bytes_queued_ -= slice.bytes;
  handler_.on_stored(acknowledgements_);
  acknowledgements_.clear();
}

void RunStore::on_published(File& file) {
  ++counters_.files_closed;
  closed_.push_back(
      {file.output.path(), file.sequence, file.output.size(), file.live, file.output.damaged(), {}});
  to_check_.push_back(static_cast<std::uint32_t>(closed_.size() - 1));
  if (!checking_) begin_check();
}

RunStore::File* RunStore::find_file(std::uint32_t sequence) const {
  for (const auto& file : files_) {
    if (file->sequence == sequence) return file.get();
  }
  return nullptr;
}

StoreCounters RunStore::counters() const {
  StoreCounters counters = counters_;
  counters.bytes_stored = output_counters_->bytes_durable;
  counters.appends = output_counters_->appends;
  counters.syncs = output_counters_->syncs;
  counters.retries = output_counters_->retries;
  counters.files_restored = output_counters_->restored;
  return counters;
}

}  // namespace weir::storage
