#include "output_file.hpp"

#include <weir/base/assert.hpp>
#include <weir/base/crc32c.hpp>
#include <weir/base/crc32c_combine.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace weir::storage {
namespace {
constexpr std::size_t kPaddingMax = kAlignment - 1;
}

OutputFile::OutputFile(ports::Disk& disk, ports::FileId id, std::string part_path, std::string final_path,
                       Settings settings, OutputCounters& counters)
    : disk_(disk),
      id_(id),
      part_path_(std::move(part_path)),
      final_path_(std::move(final_path)),
      settings_(settings),
      counters_(counters) {
  WEIR_ASSERT(settings_.reference_bytes_min + kRecordHeadLength + kPaddingMax <= settings_.chunk_bytes);
}

void OutputFile::open(FileHeader header) {
  std::vector<std::byte> bytes;
  encode_file_header(header, bytes);
  tag_ = header.tag;
  disk_.create(id_, part_path_, note(Kind::create));
  auto owned = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  add_reference(*owned, owned);
}

std::uint64_t OutputFile::append(RecordType type, ConstBytes body, const std::shared_ptr<const void>& owner,
                                 std::optional<std::uint32_t> crc) {
  WEIR_ASSERT(!finishing_);
  const std::uint64_t offset = size_;
  add_head(type, body.size());
  if (is_referred_to(body.size())) {
    add_reference(body, owner);
    if (crc) gathering_->known.emplace_back(gathering_->pieces.size() - 1, *crc);
  } else {
    add_copy(body);
  }
  add_padding(body.size());
  ++records_;
  if (gathering_->bytes >= settings_.chunk_bytes) hand_over();
  return offset;
}

std::uint64_t OutputFile::append(RecordType type, std::vector<std::byte> body) {
  auto owned = std::make_shared<const std::vector<std::byte>>(std::move(body));
  return append(type, *owned, owned);
}

void OutputFile::add_head(RecordType type, std::uint64_t body_length) {
  std::byte head[kRecordHeadLength];
  encode_record_head({tag_, size_, body_length, type, 0}, head);
  add_copy(head);
}

void OutputFile::add_padding(std::uint64_t body_length) {
  constexpr std::byte kZeros[kAlignment] = {};
  add_copy(ConstBytes(kZeros).first(padded(body_length) - body_length));
}

// Consecutive copied bytes share one piece.
void OutputFile::add_copy(ConstBytes bytes) {
  if (bytes.empty()) return;
  WEIR_ASSERT(bytes.size() <= settings_.chunk_bytes);
  Segment& segment = gathering();
  if (!block_ || settings_.chunk_bytes - block_used_ < bytes.size()) {
    block_ = std::shared_ptr<std::byte[]>(new std::byte[settings_.chunk_bytes]);
    block_used_ = 0;
  }
  if (segment.owners.empty() || segment.owners.back().get() != block_.get()) segment.owners.push_back(block_);
  std::byte* to = block_.get() + block_used_;
  std::memcpy(to, bytes.data(), bytes.size());
  block_used_ += bytes.size();
  const bool is_known = !segment.known.empty() && segment.known.back().first + 1 == segment.pieces.size();
  if (!segment.pieces.empty() && !is_known &&
      segment.pieces.back().data() + segment.pieces.back().size() == to) {
    ConstBytes& last = segment.pieces.back();
    last = ConstBytes(last.data(), last.size() + bytes.size());
  } else {
    segment.pieces.emplace_back(to, bytes.size());
  }
  segment.bytes += bytes.size();
  size_ += bytes.size();
}

void OutputFile::add_reference(ConstBytes bytes, std::shared_ptr<const void> owner) {
  Segment& segment = gathering();
  segment.pieces.push_back(bytes);
  segment.owners.push_back(std::move(owner));
  segment.bytes += bytes.size();
  size_ += bytes.size();
}

OutputFile::Segment& OutputFile::gathering() {
  if (!gathering_) gathering_ = std::make_shared<Segment>();
  return *gathering_;
}

void OutputFile::close_segment() {
  if (!gathering_) return;
  WEIR_ASSERT(segments_.empty() || segments_.back()->end < size_);
  gathering_->end = size_;
  auto known = gathering_->known.begin();
  for (std::size_t i = 0; i < gathering_->pieces.size(); ++i) {
    const ConstBytes piece = gathering_->pieces[i];
    if (known != gathering_->known.end() && known->first == i) {
      crc_ = crc32c_combine(crc_, (known++)->second, piece.size());
    } else {
      crc_ = crc32c_extend(crc_, piece);
    }
  }
  segments_.push_back(std::exchange(gathering_, nullptr));
}

std::uint32_t OutputFile::checksum() {
  close_segment();
  return crc_;
}

void OutputFile::end_head() {
  close_segment();
  head_end_ = size_;
  head_crc_ = crc_;
  request_sync();
}

void OutputFile::begin_tail() {
  close_segment();
  tail_begin_ = size_;
}

void OutputFile::flush() {
  if (appends_under_way_ == 0) hand_over();
}

void OutputFile::hand_over() {
  close_segment();
  if (failed_) return;
  auto first = segments_.end();
  while (first != segments_.begin() && !(*std::prev(first))->handed) --first;
  for (; first != segments_.end(); ++first) {
    Segment& segment = **first;
    if (has_to_wait(segment)) return;
    segment.handed = true;
    handed_end_ = segment.end;
    ++appends_under_way_;
    ++counters_.appends;
    disk_.append(id_, segment.pieces, *first, note(Kind::append));
  }
}

bool OutputFile::has_to_wait(const Segment& segment) const {
  const auto behind = [&](std::uint64_t place) { return segment.end > place && durable_end_ < place; };
  return behind(head_end_) || behind(tail_begin_);
}

void OutputFile::request_sync() {
  sync_wanted_ = true;
  advance();
}

void OutputFile::finish() {
  finishing_ = true;
  sync_wanted_ = true;
  advance();
}

// Starts the wanted operations that are not in progress yet.
void OutputFile::advance() {
  if (failed_) return;
  if (sync_wanted_ && !sync_under_way_) {
    hand_over();
    sync_wanted_ = false;
    if (durable_end_ < handed_end_) {
      sync_under_way_ = true;
      ++counters_.syncs;
      disk_.sync(id_, note(Kind::sync, handed_end_));
    }
  }
  if (finishing_ && !sync_wanted_ && !publish_under_way_ && handed_end_ == size_) {
    publish_under_way_ = true;
    disk_.publish(id_, path(), note(Kind::publish, size_));
  }
}

std::uint64_t OutputFile::note(Kind kind, std::uint64_t end) {
  operations_.push_back({kind, next_token_, end});
  return next_token_++;
}

OutputFile::Outcome OutputFile::on_event(const ports::DiskEvent& event) {
  WEIR_ASSERT(!operations_.empty() && operations_.front().token == event.token);
  const Operation operation = operations_.front();
  operations_.pop_front();
  Outcome outcome;
  WEIR_ASSERT(operation.kind != Kind::append || appends_under_way_ > 0);
  if (operation.kind == Kind::append) --appends_under_way_;
  changed_ = changed_ || event.error == ports::DiskError::changed;
  if (event.error != ports::DiskError::none) {
    // After the first failed operation the later ones fail as well; the first has the reason.
    outcome.failed = !std::exchange(failed_, true);
    if (outcome.failed) {
      error_ = event.error;
      detail_ = event.detail;
    }
    return outcome;
  }
  if (failed_) return outcome;
  if (operation.kind == Kind::create) created_ = true;
  if (operation.kind == Kind::restore) {
    changed_ = false;
    damaged_ = damaged_ || event.view.size < durable_end_;
    ++counters_.restored;
    return outcome;
  }
  if (operation.kind == Kind::publish) outcome.published = true;
  if (operation.kind == Kind::sync) sync_under_way_ = false;
  if (operation.kind == Kind::sync || operation.kind == Kind::publish) {
    outcome.advanced = made_durable(operation.end);
    if (recovering_ && durable_end_ >= recovery_end_) {
      recovering_ = false;
      outcome.recovered = true;
    }
  }
  // Continues with operations that waited for this sync.
  const bool more = recovering_ || (finishing_ && durable_end_ < size_);
  if (operation.kind == Kind::sync && more) sync_wanted_ = true;
  advance();
  return outcome;
}

bool OutputFile::made_durable(std::uint64_t end) {
  WEIR_ASSERT(end <= handed_end_ && handed_end_ <= size_);
  if (end <= durable_end_) return false;
  counters_.bytes_durable += end - durable_end_;
  durable_end_ = end;
  while (!segments_.empty() && segments_.front()->end <= end) segments_.pop_front();
  return true;
}

void OutputFile::retry() {
  WEIR_ASSERT(failed_ && idle());
  ++counters_.retries;
  failed_ = false;
  recovering_ = true;
  sync_under_way_ = false;
  publish_under_way_ = false;
  appends_under_way_ = 0;
  close_segment();
  recovery_end_ = size_;
  handed_end_ = durable_end_;
  for (auto& segment : segments_) segment->handed = false;
  if (changed_) disk_.restore(id_, note(Kind::restore));
  if (created_) {
    disk_.truncate(id_, durable_end_, note(Kind::truncate));
  } else {
    disk_.create(id_, part_path_, note(Kind::create));
  }
  hand_over();
  // Syncs even if no data must be written again, because the disk's answer is needed.
  sync_wanted_ = false;
  sync_under_way_ = true;
  ++counters_.syncs;
  disk_.sync(id_, note(Kind::sync, handed_end_));
  advance();
}

}  // namespace weir::storage
