#pragma once

#include <weir/base/time.hpp>
#include <weir/control/farm_machine.hpp>
#include <weir/control/health.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::run_control {

// Records on their way to control.out: those that its disk does not take are kept, and written when there is
// room.
class RecordKeeper {
 public:
  static constexpr std::size_t kKeptMax = 100;  // beyond this, the oldest is dropped
  static constexpr DurationNs kInterval = kSecond;
  static constexpr std::uint64_t kRoomMin = 1 << 20;  // less is reported

  // Returns why the record could not be written; empty: it is on the disk.
  using Write = std::function<std::string()>;

  explicit RecordKeeper(std::string folder) : folder_(std::move(folder)) {}

  // Writes the record, or keeps it; it replaces a kept one of the same name. Returns as Write.
  std::string write(const std::string& name, Write write);
  // Retries the kept records, and judges the room, in bytes; nullopt: unknown. Returns the events to log.
  [[nodiscard]] std::vector<control::Event> look(TimeNs now, std::optional<std::uint64_t> room);
  [[nodiscard]] control::HealthView::Records state() const;

 private:
  struct Record {
    std::string name;
    Write write;
  };
  std::string folder_;
  std::deque<Record> kept_;
  std::vector<std::string> dropped_;
  std::string why_;
  std::optional<std::uint64_t> free_bytes_;  // set only if little is free
  TimeNs next_look_ns_ = 0;
};

}  // namespace weir::run_control
