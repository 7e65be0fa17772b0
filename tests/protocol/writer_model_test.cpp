// The search's model of a writer is held against the store that writers have.
#include "writer_model.hpp"

#include "memory_disk.hpp"
#include "weir_catch.hpp"
#include <weir/storage/run_file_reader.hpp>
#include <weir/storage/run_store.hpp>
#include <weir/storage/verify.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

using namespace weir;
using namespace weir::protocol_test;
using storage::RunStore;

namespace {

constexpr std::uint8_t kSelf = 0;
constexpr RunNumber kRun{7};

// An event that changes a writer's state of one slice.
struct Event {
  enum class Kind : std::uint8_t { record, sync, settled, notice, restart };
  Kind kind = Kind::sync;
  Copy copy;
  bool stored = false;  // settled
  std::uint8_t writer = kSelf;
  bool live = false;  // notice
  std::size_t survivors = 0;
};

std::vector<Event> alphabet() {
  std::vector<Event> all;
  // A store epoch belongs to one attempt.
  for (const Copy copy : {Copy{0, 0, 0}, Copy{0, 0, 1}, Copy{0, 1, 2}}) {
    all.push_back({Event::Kind::record, copy});
    all.push_back({Event::Kind::settled, copy, true, kSelf});
    all.push_back({Event::Kind::settled, copy, true, 1});
    all.push_back({Event::Kind::notice, copy, false, kSelf, false});
    all.push_back({Event::Kind::notice, copy, false, kSelf, true});
  }
  all.push_back({Event::Kind::settled, Copy{0, 1, 0}, false, kNobody});
  all.push_back({Event::Kind::sync, {}});
  for (const std::size_t survivors : {0, 1, 2}) {
    all.push_back({Event::Kind::restart, {}, false, kSelf, false, survivors});
  }
  return all;
}

std::string describe(const std::vector<Event>& events) {
  constexpr const char* kNames[] = {"record", "sync", "settled", "notice", "restart"};
  std::string text;
  for (const Event& event : events) {
    text += std::string(kNames[static_cast<std::size_t>(event.kind)]) + " attempt " +
            std::to_string(event.copy.attempt) + " epoch " + std::to_string(event.copy.epoch) +
            (event.stored ? " stored by " + std::to_string(event.writer) : "") + (event.live ? " live" : "") +
            " survivors " + std::to_string(event.survivors) + "; ";
  }
  return text;
}

// A RunStore with the logic of the writer's node around it.
class RealWriter final : public storage::StoreHandler {
 public:
  RealWriter() { start({}); }

  std::optional<WriterModel::Result> take(const Event& event, std::vector<Ack>& acks) {
    std::optional<WriterModel::Result> result;
    switch (event.kind) {
      case Event::Kind::record:
        result = store(event.copy);
        break;
      case Event::Kind::sync:
        now_ += kSecond;
        store_->tick(now_);
        break;
      case Event::Kind::settled:
        settle(event);
        break;
      case Event::Kind::notice:
        if (event.live) {
          settle({event.copy.slice});
        } else {
          (void)store_->mark_dead(SliceId(event.copy.slice), Attempt(event.copy.attempt),
                                  StoreEpoch(event.copy.epoch));
        }
        break;
      case Event::Kind::restart:
        restart(event.survivors);
        break;
    }
    store_->flush(now_);
    disk_->run(*store_);
    acks = std::exchange(acks_, {});
    return result;
  }

  [[nodiscard]] std::uint64_t live_count() const { return store_->stored().count; }
  [[nodiscard]] std::vector<Copy> unsettled_on_disk() const {
    std::vector<Copy> copies;
    for (const storage::StoredSlice& copy : store_->unsettled_on_disk()) copies.push_back(small(copy));
    return copies;
  }

  void on_ready() override {}
  void on_stored(std::span<const storage::StoredSlice> slices) override {
    for (const storage::StoredSlice& stored : slices) {
      acks_.push_back({small(stored), static_cast<std::uint8_t>(stored.origin)});
    }
  }
  void on_file_closed(const storage::ClosedFile&) override {}
  void on_blocked(ports::DiskError, const std::string&) override {}
  void on_resumed() override {}
  void on_lost(const storage::LostCopies&) override {}
  void on_failed(ports::DiskError, const std::string&) override {}
  void on_finished() override {}

 private:
  static Copy small(const storage::StoredSlice& copy) {
    return {static_cast<std::uint8_t>(copy.slice.value), static_cast<std::uint8_t>(copy.attempt.value),
            static_cast<std::uint8_t>(copy.epoch.value)};
  }

  void start(const std::vector<std::pair<Copy, std::uint32_t>>& earlier) {
    storage::RunStoreConfig config;
    config.directory = "out";
    config.writer = "writer-0";
    config.farm = "protocol";
    config.run = kRun;
    config.first_sequence = life_;
    config.file_bytes_max = 4ULL << 30;
    config.sync_interval = kSecond;
    disk_ = std::make_unique<test::MemoryDisk>();
    store_ = std::make_unique<RunStore>(config, *disk_, *this);
    for (const auto& [copy, sequence] : earlier) {
      store_->remember(SliceId(copy.slice), Attempt(copy.attempt), StoreEpoch(copy.epoch), sequence);
    }
    store_->start(now_, 1, {});
    disk_->run(*store_);
  }

  WriterModel::Result store(const Copy& copy) {
    storage::SliceRecord record;
    record.head.slice = SliceId(copy.slice);
    record.head.run = kRun;
    record.head.attempt = Attempt(copy.attempt);
    record.head.epoch = StoreEpoch(copy.epoch);
    std::vector<std::byte> bytes;
    storage::encode_slice_meta(record, bytes);
    switch (store_->store(bytes, {}, kSelf, now_)) {
      case storage::StoreResult::accepted:
        return WriterModel::Result::accepted;
      case storage::StoreResult::duplicate:
        return WriterModel::Result::duplicate;
      case storage::StoreResult::stale_epoch:
        return WriterModel::Result::stale_epoch;
      default:
        return WriterModel::Result::epoch_conflict;
    }
  }

  void settle(const Event& event) {
    const SliceId slice(event.copy.slice);
    const bool here = event.stored && event.writer == kSelf;
    if (!here && store_->has_copy(slice)) {
      const std::uint16_t epoch = event.stored ? event.copy.epoch : UINT16_MAX;
      (void)store_->mark_dead(slice, Attempt(event.copy.attempt), StoreEpoch(epoch));
    }
    settle({event.copy.slice});
  }
  void settle(std::initializer_list<std::uint8_t> slices) {
    for (const std::uint8_t slice : slices) {
      const SliceId id(slice);
      store_->settle({&id, 1});
    }
  }

  // As read_earlier_life() on a real folder: the files of all lives, the newest copy of each slice.
  void restart(std::size_t survivors) {
    for (const auto& [path, file] : disk_->files()) lives_.push_back(kept(path, file, survivors));
    std::vector<storage::RunFileReader> files;
    for (const auto& bytes : lives_) {
      files.push_back(std::move(storage::RunFileReader::from_bytes(bytes, "a life").value()));
    }
    storage::resolve_copies(files);
    std::vector<std::pair<Copy, std::uint32_t>> earlier;
    for (const storage::RunFileReader& file : files) {
      for (const storage::IndexEntry& entry : file.entries()) {
        if (entry.dead) continue;
        const Copy copy{static_cast<std::uint8_t>(entry.slice.value),
                        static_cast<std::uint8_t>(entry.attempt.value),
                        static_cast<std::uint8_t>(entry.epoch.value)};
        earlier.emplace_back(copy, file.header().sequence);
      }
    }
    ++life_;
    acks_.clear();
    start(earlier);
  }

  // Returns the synced bytes and so many further records.
  static std::vector<std::byte> kept(const std::string& path, const test::MemoryDisk::File& file,
                                     std::size_t survivors) {
    auto reader = storage::RunFileReader::from_bytes(file.bytes, path).value();
    std::size_t end = file.synced;
    for (const storage::IndexEntry& entry : reader.entries()) {
      if (entry.end() <= file.synced) continue;
      if (survivors == 0) break;
      --survivors;
      end = static_cast<std::size_t>(entry.end());
    }
    return {file.bytes.begin(), file.bytes.begin() + static_cast<std::ptrdiff_t>(end)};
  }

  TimeNs now_ = 0;
  std::uint32_t life_ = 0;
  std::vector<std::vector<std::byte>> lives_;
  std::vector<Ack> acks_;
  std::unique_ptr<test::MemoryDisk> disk_;
  std::unique_ptr<RunStore> store_;
};

std::optional<WriterModel::Result> take(WriterModel& model, const Event& event, std::vector<Ack>& acks) {
  switch (event.kind) {
    case Event::Kind::record:
      return model.store(event.copy, kSelf, acks);
    case Event::Kind::sync:
      model.sync(acks);
      break;
    case Event::Kind::settled: {
      const SettledRow row{event.copy, event.writer, event.stored};
      model.take({&row, 1}, {}, kSelf);
      break;
    }
    case Event::Kind::notice: {
      const Notice notice{event.copy, event.live};
      model.take({}, {&notice, 1}, kSelf);
      break;
    }
    case Event::Kind::restart:
      model.restart(event.survivors);
      break;
  }
  return std::nullopt;
}

// Applies the events to both; returns the index of the first event after which they differ, or nullopt.
std::optional<std::size_t> first_difference(const std::vector<Event>& events) {
  WriterModel model;
  RealWriter real;
  for (std::size_t i = 0; i < events.size(); ++i) {
    std::vector<Ack> expected;
    std::vector<Ack> got;
    const auto result = take(model, events[i], expected);
    const bool same = real.take(events[i], got) == result && got == expected &&
                      real.live_count() == (model.is_live(0) ? 1U : 0U) &&
                      real.unsettled_on_disk() == model.unsettled_on_disk();
    if (!same) return i;
  }
  return std::nullopt;
}

std::vector<std::uint64_t> state_of(const WriterModel& model) {
  std::vector<std::uint64_t> state;
  model.append_state(state);
  return state;
}

}  // namespace

TEST_CASE("the writer model agrees with the store in each of its states") {
  // Every state of the model by the shortest way to it, and from there every event.
  constexpr std::size_t kLongest = 7;
  const std::vector<Event> events = alphabet();
  std::set<std::vector<std::uint64_t>> seen{state_of(WriterModel{})};
  std::vector<std::vector<Event>> edge{{}};
  std::size_t played = 0;
  for (std::size_t length = 1; length <= kLongest; ++length) {
    std::vector<std::vector<Event>> next;
    for (const auto& way : edge) {
      for (const Event& event : events) {
        auto longer = way;
        longer.push_back(event);
        ++played;
        const auto different = first_difference(longer);
        INFO(describe(longer));
        REQUIRE(!different.has_value());
        WriterModel model;
        std::vector<Ack> acks;
        for (const Event& each : longer) (void)take(model, each, acks);
        if (seen.insert(state_of(model)).second) next.push_back(std::move(longer));
      }
    }
    edge = std::move(next);
  }
  std::printf("%zu states of a writer, %zu ways played on the real store\n", seen.size(), played);
}
