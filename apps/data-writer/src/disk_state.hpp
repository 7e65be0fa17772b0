#pragma once

#include <weir/ports/disk.hpp>
#include <weir/slice_rows/reasons.hpp>
#include <weir/storage/disk_watch.hpp>
#include <weir/storage/run_store.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::writer {

// The state of a writer's disk for operators and the supervisor: whether it accepts data, why not, and which
// changes by others were noticed. Pure.
class DiskState {
 public:
  // Call once per pass. `waiting`: some bytes are not on disk yet; `stored`: bytes on disk so far.
  void look(bool waiting, std::uint64_t stored, TimeNs now_ns) { watch_.look(waiting, stored, now_ns); }
  void set_blocked(ports::DiskError error, const std::string& detail);
  void set_accepting() { error_.reset(); }
  // Records a change to run files by others; the text has only the first ones.
  void note_disturbance(const std::string& what);

  [[nodiscard]] bool is_blocked() const { return error_.has_value(); }
  // Returns the system's error of the last block.
  [[nodiscard]] const std::string& detail() const { return detail_; }
  // Returns the reason for which triggers wait: the cause of a block or stall, or else a full buffer.
  [[nodiscard]] slice_rows::HoldReason reason() const;
  // Returns the state of the writer with this name, as members report it.
  [[nodiscard]] std::string text(std::string_view writer) const;
  // Returns an empty text if there were none.
  [[nodiscard]] const std::string& disturbances() const { return disturbances_text_; }

 private:
  [[nodiscard]] bool stalls() const { return !is_blocked() && watch_.stalled() > 0; }

  storage::DiskWatch watch_;
  std::optional<ports::DiskError> error_;  // none: the disk accepts data
  std::string detail_;
  std::size_t disturbances_ = 0;
  std::string disturbances_text_;  // the first of them
};

// Returns a sentence about copies that vanished from disk, with the first ones' ids.
[[nodiscard]] std::string text_of(const storage::LostCopies& lost);

}  // namespace weir::writer
