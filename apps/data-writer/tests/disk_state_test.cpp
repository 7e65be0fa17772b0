#include "../src/disk_state.hpp"

#include "weir_catch.hpp"

using namespace weir;
using namespace weir::writer;
using ports::DiskError;
using slice_rows::HoldReason;

TEST_CASE("a disk that accepts data holds triggers up by a full buffer only") {
  DiskState disk;
  disk.look(true, 100, kSecond);
  CHECK_FALSE(disk.is_blocked());
  CHECK(disk.reason() == HoldReason::writer_buffer);
  CHECK(disk.text("writer-0") == "running");
}

TEST_CASE("the system's error gives the reason for which triggers wait") {
  const auto reason_of = [](DiskError error) {
    DiskState disk;
    disk.set_blocked(error, "/data: error");
    CHECK(disk.is_blocked());
    CHECK(disk.detail() == "/data: error");
    return disk.reason();
  };
  CHECK(reason_of(DiskError::no_space) == HoldReason::writer_disk_full);
  CHECK(reason_of(DiskError::not_writable) == HoldReason::writer_disk_not_writable);
  CHECK(reason_of(DiskError::changed) == HoldReason::writer_disk_gone);
  CHECK(reason_of(DiskError::not_found) == HoldReason::writer_disk_gone);
  CHECK(reason_of(DiskError::io) == HoldReason::writer_disk_error);
}

TEST_CASE("a disk without progress and without an error stalls, and a block hides the stall") {
  DiskState disk;
  disk.look(true, 100, kSecond);
  disk.look(true, 100, 4 * kSecond);
  CHECK_FALSE(disk.is_blocked());
  CHECK(disk.reason() == HoldReason::writer_disk_stalls);
  CHECK(disk.text("writer-0") == "blocked: WRITER_DISK_STALLS writer-0 for 3 s");
  disk.set_blocked(DiskError::no_space, "full");
  CHECK(disk.text("writer-0") == "blocked: WRITER_DISK_FULL writer-0");
  disk.set_accepting();
  disk.look(true, 200, 5 * kSecond);
  CHECK(disk.text("writer-0") == "running");
}

TEST_CASE("changes by others are kept for the end of the run, the first ones with their text") {
  DiskState disk;
  CHECK(disk.disturbances().empty());
  disk.set_blocked(DiskError::io, "not by others");
  CHECK(disk.disturbances().empty());
  disk.set_blocked(DiskError::changed, "file 1 vanished");
  disk.note_disturbance("file 2 vanished");
  CHECK(disk.disturbances() == "file 1 vanished; file 2 vanished");
  for (int i = 0; i < 40; ++i) disk.note_disturbance("x");
  CHECK(disk.disturbances().size() < 120);
}

TEST_CASE("lost copies are named in ranges, the first ones") {
  storage::LostCopies lost{"run.weir", "gone", 4, {SliceId(1), SliceId(2), SliceId(3), SliceId(9)}};
  CHECK(text_of(lost) == "run.weir: gone: 4 slices vanished from disk: 1..3, 9");
  lost.slices.clear();
  for (std::uint64_t id = 0; id < 30; ++id) lost.slices.emplace_back(2 * id);
  CHECK(text_of(lost).ends_with(", 38, ..."));
}
