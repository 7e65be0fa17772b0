// Folders on disks that are not mounted.
#include "healthy_farm.hpp"
#include "weir_catch.hpp"
#include <weir/control/disk_memory.hpp>

#include <string>

namespace weir::control {
namespace {

using Catch::Matchers::ContainsSubstring;

FolderPlace place(const std::string& folder, const std::string& mount, const std::string& unmounted = {}) {
  return {"run.out", folder, mount, mount == "/" ? "/dev/sda1 (ext4)" : "/dev/sdb1 (ext4)", unmounted};
}

// The memory after a run with this place.
DiskMemory after(const FolderPlace& noted) {
  DiskMemory memory;
  memory.note("writer-0", noted, RunNumber(12));
  return memory;
}

struct DiskCase {
  const char* what;
  FolderPlace before;
  FolderPlace now;
  const char* missing;  // the mount point; empty: none
};

const DiskCase kCases[] = {
    {"the disk is there", place("/data/out", "/data"), place("/data/out", "/data"), ""},
    {"the disk is absent", place("/data/out", "/data"), place("/data/out", "/"), "/data"},
    {"it is absent, and each run has a folder of its own", place("/data/r12", "/data"),
     place("/data/r13", "/"), "/data"},
    {"the folder is the mount point", place("/data", "/data"), place("/data", "/"), "/data"},
    {"a disk in a disk is absent", place("/data/fast/out", "/data/fast"), place("/data/fast/out", "/data"),
     "/data/fast"},
    {"another folder, on purpose", place("/data/out", "/data"), place("/home/out", "/"), ""},
    {"a name that begins alike", place("/data/out", "/data"), place("/data2/out", "/"), ""},
    {"a disk is new", place("/data/out", "/"), place("/data/out", "/data"), ""},
    {"a bind mount below it is new", place("/data/out", "/data"), place("/data/out", "/data/out"), ""},
    {"/etc/fstab names a disk", {}, place("/data/out", "/", "/data"), "/data"},
    {"/etc/fstab names one, and it was accepted", place("/data/out", "/", "/data"),
     place("/data/out", "/", "/data"), ""},
    {"it was accepted for another folder", place("/data/old", "/", "/data"), place("/data/out", "/", "/data"),
     "/data"},
    {"both know it", place("/data/out", "/data"), place("/data/out", "/", "/data"), "/data"},
};

TEST_CASE("a folder below the mount point of an earlier run misses its disk") {
  for (const DiskCase& one : kCases) {
    CAPTURE(one.what);
    const DiskMemory memory = one.before.mount.empty() ? DiskMemory() : after(one.before);
    const auto missing = memory.missing("writer-0", one.now);
    CHECK((missing ? missing->mount : "") == one.missing);
    const bool by_fstab = one.now.unmounted == one.missing;
    CHECK((memory.missing("writer-1", one.now).has_value()) == !one.now.unmounted.empty());
    if (missing) CHECK((missing->run.value == 0) == (by_fstab && one.before.mount != "/data"));
  }
}

TEST_CASE("a start that accepts the place is the new memory, until the disk is back") {
  DiskMemory memory = after(place("/data/out", "/data"));
  memory.note("writer-0", place("/data/out", "/"), RunNumber(13));
  CHECK_FALSE(memory.missing("writer-0", place("/data/out", "/")));
  memory.note("writer-0", place("/data/out", "/data"), RunNumber(14));
  CHECK(memory.missing("writer-0", place("/data/out", "/"))->run == RunNumber(14));
}

TEST_CASE("the memory is bounded, and the oldest disk is forgotten") {
  DiskMemory memory;
  for (std::uint32_t i = 1; i <= DiskMemory::kDisksMax + 1; ++i) {
    const std::string mount = "/disk" + std::to_string(i);
    memory.note("writer-0", place(mount + "/out", mount), RunNumber(i));
  }
  CHECK(memory.disks().size() == DiskMemory::kDisksMax);
  CHECK_FALSE(memory.missing("writer-0", place("/disk1/out", "/")));
  CHECK(memory.missing("writer-0", place("/disk2/out", "/")));
}

TEST_CASE("the sentence names processes with one folder together, and each mount point once") {
  DiskMemory memory;
  for (const char* writer : {"writer-0", "writer-1"})
    memory.note(writer, place("/data/out", "/data"), RunNumber(7));
  std::vector<MissingDisk> missing;
  for (const char* writer : {"writer-0", "writer-1"})
    missing.push_back(*memory.missing(writer, place("/data/out", "/")));
  missing.push_back(*memory.missing("run control", place("/data/control", "/", "/data")));
  CHECK(sentence(missing, ", or not") ==
        "writer-0, writer-1: run.out '/data/out' was on /data, /dev/sdb1 (ext4), in run 7, and is on / now, "
        "/dev/sda1 (ext4); run control: run.out '/data/control' belongs on /data by /etc/fstab, and is on / "
        "now, /dev/sda1 (ext4): mount /data, or not");
}

TEST_CASE("a missing disk leads, in a run and before it") {
  using namespace test;
  const MissingDisk missing =
      *after(place("/data/out", "/data")).missing("writer-0", place("/data/out", "/"));
  HealthView run = running();
  run.missing_disks = {missing};
  lose(run, "dcm-0");
  lose(run, "dcm-1");
  lose(run, "dcm-2");
  hold(run, "writer-0", Hold::blocked, "WRITER_DISK_GONE", "writer-0");
  const auto in_run = health_of(run);
  CHECK(in_run[0].word == "disk missing");
  CHECK(in_run[0].gravity == Gravity::error);
  CHECK_THAT(in_run[0].reason, ContainsSubstring("mount /data again: the writers resume by themselves"));
  HealthView ready = in_state(State::ready);
  ready.missing_disks = {missing};
  const auto before_run = health_of(ready);
  CHECK(before_run[0].word == "disk missing");
  CHECK_THAT(before_run[0].reason, ContainsSubstring("weir ctl start --accept-disks"));
}

}  // namespace
}  // namespace weir::control
