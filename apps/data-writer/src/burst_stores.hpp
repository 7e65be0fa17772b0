#pragma once

#include "settings.hpp"
#include <weir/base/hash.hpp>
#include <weir/burst/alert.hpp>
#include <weir/ports/disk.hpp>
#include <weir/storage/run_store.hpp>
#include <weir/writer/node.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace weir::writer {

// Receives the progress of the alerts' files.
class BurstEvents {
 public:
  virtual ~BurstEvents() = default;
  virtual void on_burst_stored(std::uint32_t alert, std::span<const storage::StoredSlice> slices) = 0;
  virtual void on_burst_file(std::uint32_t alert, const storage::ClosedFile& file) = 0;
  virtual void on_burst_blocked(std::uint32_t alert, const std::string& detail) = 0;
};

// The run files of alerts: a store for each, in a separate folder, so that a slice that the run also stores
// is not mistaken for a second copy. A store begins when a DCM asks for space for the alert's first record.
class BurstStores final : public ports::DiskHandler {
 public:
  // Distinguishes the stores' files at the disk: the run's own files have lower ids.
  static constexpr unsigned kFileIdShift = 20;

  // Keeps `settings`.
  BurstStores(const WriterNodeSettings& settings, WriterEnvironment& environment, BurstEvents& events);
  ~BurstStores() override;

  // Requires: called before anything else. The copies of an earlier process count.
  void recall(std::uint32_t alert, const storage::EarlierLife& earlier);
  [[nodiscard]] storage::StoreResult store(std::uint32_t alert, ConstBytes record,
                                           const std::shared_ptr<const void>& owner, std::uint32_t origin,
                                           TimeNs now);
  // Opens the alert's file ahead of its first record.
  void prepare(std::uint32_t alert, TimeNs now);
  // True while a file is being opened, by a disk that works: its records would be refused as `not_open`.
  [[nodiscard]] bool is_opening() const;
  void pass(TimeNs now);
  // Closes the alert's file: no further records belong to it.
  void end(std::uint32_t alert, TimeNs now);
  // Closes all files, and opens none any more: further records are refused as `not_open`. Files that were
  // closed earlier are checked once more.
  void end_all(TimeNs now);
  [[nodiscard]] bool ended() const { return ended_; }
  // An alert with records has not ended.
  [[nodiscard]] bool has_open() const;
  // Every file is closed, or the disk refuses to.
  [[nodiscard]] bool at_rest() const;
  // Live copies on disk, of all alerts.
  [[nodiscard]] SliceSum stored() const;
  void on_disk_event(const ports::DiskEvent& event) override;

 private:
  struct One;
  [[nodiscard]] One* started(std::uint32_t alert, TimeNs now);
  [[nodiscard]] One& make(std::uint32_t alert, std::uint32_t first_sequence);

  const WriterNodeSettings& settings_;
  WriterEnvironment& environment_;
  BurstEvents& events_;
  std::map<std::uint32_t, std::unique_ptr<One>> stores_;
  bool ended_ = false;
};

}  // namespace weir::writer
