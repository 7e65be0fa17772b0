#include "burst_stores.hpp"

#include <weir/base/assert.hpp>
#include <weir/base/figures.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace weir::writer {
namespace {

std::vector<std::byte> bytes_of_text(const std::string& text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

bool is_number(std::uint32_t alert) { return alert > 0 && alert <= burst::kAlertsMax; }

}  // namespace

struct BurstStores::One final : storage::StoreHandler {
  One(BurstEvents& events_, std::uint32_t alert_, storage::RunStoreConfig config, ports::Disk& disk)
      : events(events_),
        alert(alert_),
        store(std::move(config), disk, *this, ports::FileId(alert_ << kFileIdShift)) {}

  void on_ready() override { ready = true; }
  void on_stored(std::span<const storage::StoredSlice> slices) override {
    for (const storage::StoredSlice& slice : slices) settled.push_back(slice.slice);
    events.on_burst_stored(alert, slices);
  }
  void on_file_closed(const storage::ClosedFile& file) override { events.on_burst_file(alert, file); }
  void on_lost(const storage::LostCopies& lost) override {
    events.on_burst_blocked(
        alert, lost.path + ": " + lost.why + ": " + counted(lost.count, "slice") + " vanished from disk");
  }
  void on_blocked(ports::DiskError, const std::string& detail) override {
    events.on_burst_blocked(alert, detail);
  }
  void on_resumed() override {}
  void on_failed(ports::DiskError, const std::string& detail) override {
    failed = true;
    events.on_burst_blocked(alert, detail);
  }
  void on_finished() override {}

  BurstEvents& events;
  std::uint32_t alert;
  bool started = false;
  bool ready = false;
  bool ended = false;
  bool failed = false;
  std::vector<SliceId> settled;  // since the last pass: the store must not be called from its handler
  storage::RunStore store;
};

BurstStores::BurstStores(const WriterNodeSettings& settings, WriterEnvironment& environment,
                         BurstEvents& events)
    : settings_(settings), environment_(environment), events_(events) {}

BurstStores::~BurstStores() = default;

std::string burst_folder_name(RunNumber run, std::uint32_t alert) {
  return fmt::format("run-{:06}-burst-{}", run.value, alert);
}

BurstStores::One& BurstStores::make(std::uint32_t alert, std::uint32_t first_sequence) {
  storage::RunStoreConfig config = settings_.store;
  config.first_sequence = first_sequence;
  config.directory += "/" + burst_folder_name(config.run, alert);
  config.queue_bytes_max = 2 * settings_.burst_grant_bytes;
  WEIR_ASSERT(!stores_.contains(alert));
  auto& one = stores_[alert];
  one = std::make_unique<One>(events_, alert, std::move(config), environment_.disk);
  return *one;
}

void BurstStores::recall(std::uint32_t alert, const storage::EarlierLife& earlier) {
  One& one = make(alert, earlier.next_sequence);
  for (auto copy = earlier.copies.rbegin(); copy != earlier.copies.rend(); ++copy)
    one.store.remember(copy->slice, copy->attempt, copy->epoch, copy->sequence);
  for (const storage::EarlierLife::File& file : earlier.files)
    one.store.remember({file.path, file.sequence, file.bytes, file.live});
}

storage::StoreResult BurstStores::store(std::uint32_t alert, ConstBytes record,
                                        const std::shared_ptr<const void>& owner, std::uint32_t origin,
                                        TimeNs now) {
  if (!is_number(alert)) return storage::StoreResult::malformed;
  if (ended_) return storage::StoreResult::not_open;
  One* one = started(alert, now);
  if (one == nullptr) return storage::StoreResult::stale_epoch;
  return one->store.store(record, owner, origin, now);
}

void BurstStores::prepare(std::uint32_t alert, TimeNs now) {
  if (is_number(alert) && !ended_) (void)started(alert, now);
}

bool BurstStores::is_opening() const {
  return std::any_of(stores_.begin(), stores_.end(), [](const auto& found) {
    const One& one = *found.second;
    return one.started && !one.ready && !one.ended && !one.failed && !one.store.blocked();
  });
}

// Null if no record of the alert is taken any more.
BurstStores::One* BurstStores::started(std::uint32_t alert, TimeNs now) {
  const auto found = stores_.find(alert);
  One& one = found == stores_.end() ? make(alert, 0) : *found->second;
  if (one.ended || one.failed) return nullptr;
  if (!std::exchange(one.started, true)) {
    const std::string folder =
        settings_.store.directory + "/" + burst_folder_name(settings_.store.run, alert);
    if (environment_.make_folder) {
      if (const std::string why = environment_.make_folder(folder); !why.empty()) {
        one.failed = true;
        events_.on_burst_blocked(alert, why);
        return nullptr;
      }
    }
    spdlog::info("burst alert stored number={} folder={}", alert, folder);
    one.store.start(now, environment_.clock.utc_ns(), bytes_of_text(settings_.begin_of_run));
  }
  return &one;
}

void BurstStores::pass(TimeNs now) {
  for (auto& [alert, one] : stores_) {
    if (!one->started || one->store.finished()) continue;
    one->store.flush(now);
    one->store.tick(now);
    if (one->settled.empty()) continue;
    one->store.settle(one->settled);
    one->settled.clear();
  }
}

void BurstStores::end(std::uint32_t alert, TimeNs now) {
  const auto found = stores_.find(alert);
  if (found == stores_.end() || std::exchange(found->second->ended, true)) return;
  One& one = *found->second;
  if (!one.started || one.failed) return;
  const std::string record =
      "run: " + std::to_string(settings_.store.run.value) + "\nwriter: " + settings_.member.identity.name +
      "\nburst: " + std::to_string(alert) + "\nslices: " + std::to_string(one.store.stored().count) + "\n";
  one.store.close(now, bytes_of_text(record));
}

void BurstStores::end_all(TimeNs now) {
  ended_ = true;
  for (auto& [alert, one] : stores_) {
    if (one->started && !one->failed && one->store.finished()) one->store.check_again(now);
    end(alert, now);
  }
}

bool BurstStores::has_open() const {
  return std::any_of(stores_.begin(), stores_.end(), [](const auto& one) { return !one.second->ended; });
}

bool BurstStores::at_rest() const {
  for (const auto& [alert, one] : stores_) {
    if (one->started && !one->failed && !one->store.finished() && !one->store.blocked()) return false;
  }
  return true;
}

SliceSum BurstStores::stored() const {
  SliceSum sum;
  for (const auto& [alert, one] : stores_) sum += one->store.stored();
  return sum;
}

void BurstStores::on_disk_event(const ports::DiskEvent& event) {
  const auto found = stores_.find(event.file.value >> kFileIdShift);
  if (found != stores_.end()) found->second->store.on_disk_event(event);
}

}  // namespace weir::writer
