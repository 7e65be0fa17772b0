#pragma once

#include <weir/base/bytes.hpp>
#include <weir/burst/ring.hpp>
#include <weir/ports/scratch_disk.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

namespace weir::v1 {
class Report;
}  // namespace weir::v1

namespace weir::dcm {

// The part of the burst ring on local disk: copies records there behind the data path, and reads those of an
// alert back. A disk that is slow, full or fails costs slices, which burst::Ring counts, and never a pass.
class BurstDisk {
 public:
  using Arrived =
      std::function<void(const burst::Ring::Record&, ConstBytes bytes, std::shared_ptr<const void> owner)>;

  // Requires: both outlive the disk. `memory`: the ring's region.
  BurstDisk(std::unique_ptr<ports::ScratchDisk> disk, burst::Ring& ring, const std::byte* memory)
      : disk_(std::move(disk)), ring_(ring), memory_(memory) {}

  // Takes results, then starts writes. Calls arrived() for each record that was read and is sound.
  void pass(TimeNs now_ns, const Arrived& arrived);
  // Requires: record.from_disk. It stays in flight until it has arrived, or has failed.
  void read(const burst::Ring::Record& record);
  void add_to(v1::Report& report) const;

 private:
  void take_write(const ports::ScratchResult& result, const burst::Ring::Write& write, TimeNs now_ns);
  void take_read(const ports::ScratchResult& result, const burst::Ring::Record& record,
                 const Arrived& arrived);

  std::unique_ptr<ports::ScratchDisk> disk_;
  burst::Ring& ring_;
  const std::byte* memory_;
  std::unordered_map<std::uint64_t, burst::Ring::Write> writes_;  // in progress, by token
  std::unordered_map<std::uint64_t, burst::Ring::Record> reads_;
  std::uint64_t tokens_ = 0;
  TimeNs pause_until_ns_ = 0;  // the last write has failed
  bool failing_ = false;
  std::uint64_t bytes_written_ = 0;
  std::uint64_t errors_ = 0;
};

}  // namespace weir::dcm
