// RunStore: checks of closed files against the file system.
#include "open_run_file.hpp"
#include "run_store_state.hpp"
#include <weir/base/assert.hpp>
#include <weir/base/crc32c.hpp>
#include <weir/storage/run_file_reader.hpp>
#include <weir/storage/run_store.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

namespace weir::storage {
namespace {

constexpr std::uint64_t kLook = 0;  // tokens
constexpr std::uint64_t kRead = 1;
constexpr std::size_t kErrorsMax = 5;  // consecutive ones; after that, unreadable data count as lost

using CopyKey = std::tuple<SliceId, StoreEpoch, Attempt>;

// Returns the file's copies in which every byte is sound, in order.
std::vector<CopyKey> sound_copies(ConstBytes bytes, const std::string& path) {
  std::vector<CopyKey> copies;
  const auto file = RunFileReader::from_bytes(bytes, path, Reading::records);
  if (!file) return copies;
  for (const IndexEntry& entry : file->entries()) {
    copies.emplace_back(entry.slice, entry.epoch, entry.attempt);
  }
  std::sort(copies.begin(), copies.end());
  copies.erase(std::unique(copies.begin(), copies.end()), copies.end());
  return copies;
}

bool contains(const std::vector<CopyKey>& copies, const CopyKey& key) {
  return std::binary_search(copies.begin(), copies.end(), key);
}

}  // namespace

// The place and head of a record prove that it belongs to this file and that the file was not cut before it.
// The last record is always among those read.
void RunStore::note_reads(File& file) const {
  file.read_back.push_back({0, file.output.head_end()});
  file.checksums.push_back(file.output.head_checksum());
  const std::size_t heads = std::min(kHeadsRead, file.index.size());
  for (std::size_t i = 1; i <= heads; ++i) {
    const IndexEntry& entry = file.index[i * file.index.size() / heads - 1];
    std::byte head[kRecordHeadLength];
    encode_record_head({file.output.tag(), entry.offset, entry.length, RecordType::slice, 0}, head);
    file.read_back.push_back({entry.offset, kRecordHeadLength});
    file.checksums.push_back(crc32c(head));
  }
}

RunStore::Closed* RunStore::find_closed(std::uint32_t sequence) {
  const auto found = std::find_if(closed_.rbegin(), closed_.rend(),
                                  [&](const Closed& closed) { return closed.sequence == sequence; });
  return found == closed_.rend() ? nullptr : &*found;
}

void RunStore::begin_check() {
  check_retry_at_.reset();
  if (to_check_.empty()) return finish_if_done();
  checking_ = true;
  const Closed& closed = closed_[to_check_.front()];
  const File* file = find_file(closed.sequence);
  disk_.look(check_id_, closed.path, file == nullptr ? std::vector<ports::FileRange>() : file->read_back,
             kLook);
}

void RunStore::on_check_event(const ports::DiskEvent& event) {
  if (event.error != ports::DiskError::none && event.error != ports::DiskError::not_found) {
    return check_again_later(event);
  }
  check_errors_ = 0;
  Closed& closed = closed_[to_check_.front()];
  File* file = find_file(closed.sequence);
  if (event.token == kRead) {
    count_what_is_there(closed, file, event.bytes);
    return end_check();
  }
  if (!event.view.there && config_.files_leave && file == nullptr && !closed.in_part) {
    ++counters_.files_left;
    return end_check();
  }
  finding_ = finding(closed, file, event.view);
  if (!finding_.empty()) return disk_.read(check_id_, closed.path, kRead);
  closed.seen = event.view;
  end_check();
}

// Returns an empty string if the file is unchanged.
std::string RunStore::finding(const Closed& closed, const File* file, const ports::FileView& view) const {
  if (!view.there) return "it is gone";
  if (view.size != closed.bytes) {
    return "it has " + std::to_string(view.size) + " bytes instead of " + std::to_string(closed.bytes);
  }
  if (file != nullptr && file->output.damaged()) return "it was cut while it was written";
  if (file != nullptr) {
    return view.holes || view.checksums != file->checksums ? "its contents differ from the written data" : "";
  }
  const bool is_same = view.inode == closed.seen.inode && view.modified_ns == closed.seen.modified_ns;
  return closed.seen.there && !is_same ? "it was changed after it was closed" : "";
}

void RunStore::check_again_later(const ports::DiskEvent& event) {
  if (++check_errors_ <= kErrorsMax) {
    check_retry_at_ = now_ + config_.retry_interval;
    return;
  }
  check_errors_ = 0;
  finding_ = "it cannot be read back: " + event.detail;
  Closed& closed = closed_[to_check_.front()];
  count_what_is_there(closed, find_file(closed.sequence), {});
  end_check();
}

// Recounts a file that has changed. Lost copies are forgotten, so that a slice which is sent again is stored
// again.
void RunStore::count_what_is_there(Closed& closed, File* file, ConstBytes bytes) {
  const std::vector<CopyKey> there = sound_copies(bytes, closed.path);
  LostCopies lost{closed.path, finding_, 0, {}};
  if (file != nullptr) {
    for (IndexEntry& entry : file->index) {
      if (entry.dead || contains(there, {entry.slice, entry.epoch, entry.attempt})) continue;
      entry.dead = true;
      stored_.remove(entry.slice);
      ++lost.count;
      lost.slices.push_back(entry.slice);
    }
  } else {
    // Of its live copies only a sum is known, and those copies that are still remembered.
    std::vector<CopyKey> dead;
    for (const DeadCopy& copy : dead_) {
      if (copy.sequence == closed.sequence) dead.emplace_back(copy.slice, copy.epoch, copy.attempt);
    }
    std::sort(dead.begin(), dead.end());
    SliceSum left;
    for (const CopyKey& copy : there) {
      if (!contains(dead, copy)) left.add(std::get<SliceId>(copy));
    }
    for (const auto& [slice, known] : known_) {
      const bool here = known.copy && known.sequence == closed.sequence;
      if (here && !contains(there, {slice, known.epoch, known.attempt})) lost.slices.push_back(slice);
    }
    lost.count = closed.live.count - std::min(left.count, closed.live.count);
    stored_.count += left.count - closed.live.count;
    stored_.hash_sum += left.hash_sum - closed.live.hash_sum;
    closed.live = left;
  }
  for (const SliceId slice : lost.slices) forget(slice);
  std::sort(lost.slices.begin(), lost.slices.end());
  if (lost.slices.size() > kLostNamed) lost.slices.resize(kLostNamed);
  counters_.slices_lost += lost.count;
  closed.seen = {};
  if (lost.count > 0) handler_.on_lost(lost);
}

void RunStore::end_check() {
  Closed& closed = closed_[to_check_.front()];
  to_check_.pop_front();
  checking_ = false;
  if (last_look_) ++counters_.files_compared;
  const auto found = std::find_if(files_.begin(), files_.end(),
                                  [&](const auto& file) { return file->sequence == closed.sequence; });
  if (found != files_.end()) {
    File& file = **found;
    closed.live = {};  // some may have died since
    for (const IndexEntry& entry : file.index) {
      if (!entry.dead) closed.live.add(entry.slice);
    }
    const bool sound = closed.seen.there;
    const ClosedFile told{closed.path,
                          closed.sequence,
                          closed.bytes,
                          sound ? file.live : closed.live,
                          sound ? file.output.checksum() : 0,
                          sound};
    files_.erase(found);
    handler_.on_file_closed(told);
  }
  begin_check();
}

void RunStore::check_again(TimeNs now) {
  WEIR_ASSERT(finished());
  now_ = now;
  enter(state_, State::closing);
  last_look_ = false;
  finish_if_done();
}

// Checks every file once more, because some were closed hours ago.
void RunStore::finish_if_done() {
  if (state_ != State::closing || !files_.empty()) return;
  if (!std::exchange(last_look_, true)) {
    for (std::uint32_t i = 0; i < closed_.size(); ++i) to_check_.push_back(i);
    if (!to_check_.empty()) return begin_check();
  }
  enter(state_, State::finished);
  handler_.on_finished();
}

}  // namespace weir::storage
