#include "writer_model.hpp"

#include <algorithm>

namespace weir::protocol_test {

WriterModel::Result WriterModel::store(const Copy& copy, std::uint8_t origin, std::vector<Ack>& acks) {
  Known& known = known_[copy.slice];
  if (known.there) {
    if (copy.epoch < known.epoch) return Result::stale_epoch;
    if (copy.epoch == known.epoch) {
      if (!known.copy) return Result::stale_epoch;
      if (copy.attempt != known.attempt) return Result::epoch_conflict;
      (known.durable ? acks : waiting_).push_back({copy, origin});
      return Result::duplicate;
    }
  }
  known = {true, true, false, false, copy.attempt, copy.epoch};
  file_.push_back({copy, false});
  waiting_.push_back({copy, origin});
  return Result::accepted;
}

bool WriterModel::has_unsynced() const { return unsynced() > 0; }

std::size_t WriterModel::unsynced() const {
  return static_cast<std::size_t>(
      std::count_if(file_.begin(), file_.end(), [](const Record& record) { return !record.durable; }));
}

void WriterModel::sync(std::vector<Ack>& acks) {
  for (Record& record : file_) record.durable = true;
  for (Known& known : known_) known.durable = known.copy;
  acks.insert(acks.end(), waiting_.begin(), waiting_.end());
  waiting_.clear();
}

void WriterModel::mark_dead(const Copy& copy) {
  Known& known = known_[copy.slice];
  if (known.there && known.epoch > copy.epoch) return;
  known = {true, false, false, false, copy.attempt, copy.epoch};
}

void WriterModel::settle(std::uint8_t slice) {
  Known& known = known_[slice];
  if (!known.there || known.settled) return;
  if (known.copy) {
    known.settled = true;
  } else {
    known = {};
  }
}

void WriterModel::take(std::span<const SettledRow> rows, std::span<const Notice> notices,
                       std::uint8_t own_index) {
  std::array<bool, kSlicesMax> over{};
  for (const SettledRow& row : rows) {
    const std::uint8_t slice = row.copy.slice;
    over[slice] = true;
    const bool here = row.stored && row.writer == own_index;
    if (here || !known_[slice].copy) continue;
    mark_dead({slice, row.copy.attempt, row.stored ? row.copy.epoch : kEveryEpoch});
  }
  for (const Notice& notice : notices) {
    if (notice.live) {
      over[notice.copy.slice] = true;
    } else {
      mark_dead(notice.copy);
    }
  }
  for (std::uint8_t slice = 0; slice < kSlicesMax; ++slice) {
    if (over[slice]) settle(slice);
  }
}

void WriterModel::restart(std::size_t survivors) {
  std::erase_if(file_, [&](const Record& record) {
    if (record.durable || survivors > 0) {
      survivors -= record.durable ? 0 : 1;
      return false;
    }
    return true;
  });
  known_ = {};
  waiting_.clear();
  for (Record& record : file_) {
    record.durable = true;
    Known& known = known_[record.copy.slice];
    if (known.there && known.epoch > record.copy.epoch) continue;
    known = {true, true, true, false, record.copy.attempt, record.copy.epoch};
  }
}

void WriterModel::forget_origin(std::uint8_t origin) {
  for (Ack& ack : waiting_) {
    if (ack.origin == origin) ack.origin = kNobody;
  }
}

std::vector<Copy> WriterModel::unsettled_on_disk() const {
  std::vector<Copy> copies;
  for (std::uint8_t slice = 0; slice < kSlicesMax; ++slice) {
    const Known& known = known_[slice];
    if (known.copy && known.durable && !known.settled) copies.push_back({slice, known.attempt, known.epoch});
  }
  return copies;
}

bool WriterModel::holds(const Copy& copy) const {
  bool held = false;
  for (const Record& record : file_) {
    if (!record.durable || record.copy.slice != copy.slice) continue;
    if (record.copy.epoch > copy.epoch) return false;
    held = held || record.copy == copy;
  }
  return held;
}

void WriterModel::append_state(std::vector<std::uint64_t>& out) const {
  const auto row = [](const Copy& copy) {
    return std::uint64_t{copy.slice} << 16U | std::uint64_t{copy.attempt} << 8U | copy.epoch;
  };
  for (const Known& known : known_) {
    out.push_back(std::uint64_t{known.there} | std::uint64_t{known.copy} << 1U |
                  std::uint64_t{known.durable} << 2U | std::uint64_t{known.settled} << 3U |
                  std::uint64_t{known.attempt} << 8U | std::uint64_t{known.epoch} << 16U);
  }
  out.push_back(file_.size() << 8U | waiting_.size());
  for (const Record& record : file_) out.push_back(row(record.copy) << 1U | std::uint64_t{record.durable});
  for (const Ack& ack : waiting_) out.push_back(row(ack.copy) << 8U | ack.origin);
}

}  // namespace weir::protocol_test
