#include "weir_catch.hpp"
#include <weir/burst/alert_book.hpp>
#include <weir/burst/ring.hpp>

#include <deque>
#include <map>
#include <random>
#include <set>
#include <vector>

using namespace weir;
using namespace weir::burst;

namespace {

// A ring with the bytes that a DCM would copy into it, beside a reference that remembers every slice.
class Run {
 public:
  explicit Run(std::uint64_t seed)
      : random_(seed),
        settings_(draw()),
        ring_(settings_),
        region_(settings_.bytes),
        disk_(settings_.disk_bytes) {}

  void go() {
    for (int i = 0; i < 600; ++i) {
      now_ += static_cast<TimeNs>(random_() % (5 * kMillisecond));
      if (settings_.disk_bytes > 0) use_disk();
      switch (random_() % 10) {
        case 0:
          open();
          break;
        case 1:
        case 2:
          answer();
          break;
        case 3:
        case 4:
          send();
          break;
        default:
          add();
      }
      REQUIRE(ring_.broken_invariant().empty());
    }
    now_ += kSecond;
    for (int i = 0; i < 100'000 && waits(); ++i) {
      now_ += kSecond;
      send();
      answer();
    }
    check();
  }

 private:
  // Every second ring has a disk, which may be smaller than its memory, slow, and fail.
  RingSettings draw() {
    RingSettings settings{1000 + random_() % 4000, 200 + random_() % 2000, 1 + random_() % 100'000,
                          1 + random_() % 500};
    if (random_() % 2 == 0) return settings;
    settings.disk_bytes = 500 + random_() % 10'000;
    settings.frozen_bytes_max = 200 + random_() % 10'000;
    settings.frozen_memory_bytes_max = 100 + random_() % 2000;
    settings.writing_bytes_max = 1 + random_() % 1000;
    disk_turn_ = 1 + random_() % 10;
    return settings;
  }
  // Bytes are copied when a write ends: until then nothing may overwrite them.
  void use_disk() {
    if (random_() % disk_turn_ != 0) return;
    while (!writes_.empty() && random_() % 4 != 0) {
      const Ring::Write write = writes_.front();
      writes_.pop_front();
      if (random_() % 5 == 0) {
        ring_.write_failed(write.slice);
        continue;
      }
      for (std::uint64_t i = 0; i < write.bytes; ++i) disk_[write.to + i] = region_[write.from + i];
      ring_.written(write.slice, static_cast<std::uint32_t>(write.slice.value));
    }
    while (const auto write = ring_.next_write()) {
      REQUIRE(write->to + write->bytes <= disk_.size());
      writes_.push_back(*write);
    }
  }
  void add() {
    const SliceId slice(++last_);
    const UtcNs time = now_ - static_cast<UtcNs>(random_() % (40 * kMillisecond));
    const std::uint64_t bytes = 1 + random_() % 300;
    offered_[slice] = time;
    book_.announced(time);
    book_.settled(slice, time, NodeIndex(0));
    const auto offset = ring_.add(slice, Attempt(0), time, bytes);
    if (!offset) return;
    REQUIRE(*offset + bytes <= region_.size());
    for (std::uint64_t i = 0; i < bytes; ++i) region_[*offset + i] = slice.value;
  }
  void open() {
    if (!ring_.can_open()) return;
    std::string error;
    const UtcNs from = now_ - static_cast<UtcNs>(random_() % (200 * kMillisecond));
    const auto alert =
        book_.ask(from, now_ + static_cast<UtcNs>(random_() % (100 * kMillisecond)), "", error);
    REQUIRE(alert);
    ring_.open(*alert);
    alerts_.push_back(*alert);
  }
  // A record leaves as it came, however much was overwritten meanwhile.
  void send() {
    while (const auto record = ring_.next(now_)) {
      const std::vector<std::uint64_t>& from = record->from_disk ? disk_ : region_;
      for (std::uint64_t i = 0; i < record->bytes; ++i)
        REQUIRE(from[record->offset + i] == record->slice.value);
      CHECK((!record->from_disk || record->checksum == record->slice.value));
      sent_.push_back(*record);
    }
  }
  void answer() {
    while (!sent_.empty() && random_() % 4 != 0) {
      const Ring::Record record = sent_.back();
      sent_.pop_back();
      if (random_() % 5 == 0) {
        ring_.send_again(record.alert, record.slice);
      } else if (record.from_disk && random_() % 8 == 0) {
        ring_.read_failed(record.alert, record.slice);
      } else {
        ring_.saved(record.alert, record.slice);
        REQUIRE(saved_[record.alert].insert(record.slice).second);
      }
    }
  }
  [[nodiscard]] bool waits() const {
    for (const Alert& alert : alerts_) {
      if (ring_.account(alert.number)->waiting.count > 0) return true;
    }
    return false;
  }
  void check() {
    for (const Alert& alert : alerts_) book_.told(NodeIndex(0), alert.number, *ring_.account(alert.number));
    CHECK(book_.take_ended(now_, 0, true, false).size() == alerts_.size());
    for (const Alert& alert : alerts_) {
      SliceSum asked;
      for (const auto& [slice, time] : offered_) {
        if (alert.contains(time)) asked.add(slice);
      }
      CHECK(ring_.account(alert.number)->all() == asked);
      CHECK(book_.alerts().at(alert.number).asked == asked);
      CHECK(book_.alerts().at(alert.number).lost == 0);
      SliceSum saved;
      for (const SliceId slice : saved_[alert.number]) saved.add(slice);
      CHECK(ring_.account(alert.number)->saved == saved);
    }
    CHECK(ring_.bytes_frozen() == 0);
  }

  std::mt19937_64 random_;
  std::uint64_t disk_turn_ = 1;
  RingSettings settings_;
  Ring ring_;
  AlertBook book_{1};
  std::deque<Ring::Write> writes_;
  std::vector<std::uint64_t> region_;
  std::vector<std::uint64_t> disk_;
  std::map<SliceId, UtcNs> offered_;
  std::map<std::uint32_t, std::set<SliceId>> saved_;
  std::vector<Alert> alerts_;
  std::vector<Ring::Record> sent_;
  std::uint64_t last_ = 0;
  TimeNs now_ = kSecond;
};

}  // namespace

TEST_CASE("each requested slice has one fate, and supervisor and ring agree, under random events") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    INFO("seed " << seed);
    Run(seed).go();
  }
}
