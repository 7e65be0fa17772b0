#include "../src/disks.hpp"

#include "../src/farm_disks.hpp"
#include "small_farm.hpp"
#include "weir_catch.hpp"

using namespace weir;
using namespace weir::run_control;
using Catch::ContainsSubstring;

namespace {

// The writer's report of the mount point on which its folder lies.
v1::MemberState lies_on(const std::string& mount, const std::string& unmounted = {}) {
  v1::MemberState state;
  v1::FolderPlace& place = *state.add_places();
  place.set_key("run.out");
  place.set_folder("/data/out");
  place.set_mount(mount);
  place.set_device("/dev/sd (ext4)");
  place.set_unmounted(unmounted);
  return state;
}

struct DiskDesk {
  explicit DiskDesk(RunBook::Keeper keeper = RunBook::Keeper::self) : farm(keeper) { farm.join_all(); }
  void writer_lies_on(const std::string& mount, const std::string& unmounted = {}) {
    farm.members.writes_to(farm.member("writer-0"), lies_on(mount, unmounted));
  }
  std::string start(bool accept = false) {
    v1::Request request;
    request.set_command("start");
    request.set_accept_disks(accept);
    return commands.carry_out(request);
  }
  test::SmallFarm farm;
  Commands commands{farm.parts};
};

}  // namespace

TEST_CASE("a start is refused while a disk of an earlier run is not mounted, unless it accepts that") {
  DiskDesk desk;
  desk.writer_lies_on("/data");
  note_disks(desk.farm.parts, RunNumber(4));
  CHECK(desk.start().find("mount") == std::string::npos);  // refused because the farm is idle
  desk.writer_lies_on("/");
  CHECK_THAT(desk.start(), ContainsSubstring("writer-0: run.out '/data/out' was on /data, /dev/sd (ext4), in "
                                             "run 4, and is on / now") &&
                               ContainsSubstring("mount /data, or accept it with `weir ctl start "
                                                 "--accept-disks`"));
  CHECK(desk.farm.book.claim_of(RunNumber(1)) == 0);
  CHECK(desk.start(true).find("mount") == std::string::npos);
  // An impossible start changes no memory.
  CHECK_FALSE(missing_disks(desk.farm.parts).empty());
  note_disks(desk.farm.parts, RunNumber(5));
  CHECK(missing_disks(desk.farm.parts).empty());
}

TEST_CASE("removed processes, and those that do not know their place, hold up no start") {
  DiskDesk desk;
  desk.writer_lies_on("/data");
  desk.farm.parts.own_places = {{"control.out", "/data/control", "/data", "/dev/sd (ext4)", ""}};
  note_disks(desk.farm.parts, RunNumber(4));
  desk.farm.parts.own_places.clear();
  desk.farm.members.writes_to(desk.farm.member("writer-0"), {});
  CHECK(missing_disks(desk.farm.parts).empty());
  desk.writer_lies_on("/");
  CHECK(missing_disks(desk.farm.parts).size() == 1);
  desk.farm.parts.own_places = {{"control.out", "/data/control", "/", "/dev/sd (ext4)", ""}};
  CHECK(missing_disks(desk.farm.parts).size() == 2);
  CHECK(desk.farm.machine
            .set_removed(desk.farm.member("writer-0"), true, kSecond, desk.farm.parts.actions, "me")
            .has_value());
  CHECK(missing_disks(desk.farm.parts).size() == 1);
}

TEST_CASE("a farm for one run reports a missing disk and starts") {
  DiskDesk desk(RunBook::Keeper::starter);
  desk.writer_lies_on("/", "/data");
  CHECK(missing_disks(desk.farm.parts).size() == 1);
  CHECK(desk.start().find("mount") == std::string::npos);
}

TEST_CASE("a disk unmounted in a run is a fault of that run, and between runs of none") {
  const bool in_run = GENERATE(false, true);
  test::SmallFarm farm;
  control::Remembered before;
  before.run = RunNumber(4);
  before.run_open = in_run;
  farm.machine.recall(before, farm.parts.now_ns);
  farm.join("writer-0");
  const std::size_t writer = farm.member("writer-0");
  farm.members.writes_to(writer, lies_on("/data"));
  note_disks(farm.parts, RunNumber(4));
  note_unmounted(farm.parts, missing_disks(farm.parts));
  CHECK_FALSE(farm.book.has_fault("the disk"));
  farm.members.writes_to(writer, lies_on("/"));
  note_unmounted(farm.parts, missing_disks(farm.parts));
  CHECK(farm.book.has_fault("the disk of run.out was unmounted in the run: /data, /dev/sd (ext4)") == in_run);
}

TEST_CASE("processes on one disk of one host are shown together, while they live and it answers") {
  test::SmallFarm farm;
  farm.join_all();
  FarmDisks disks({0.1, 7200 * kSecond});
  const auto report = [&](const std::string& process, std::uint64_t free_bytes) {
    v1::MemberState state = lies_on("/data");
    state.mutable_places(0)->set_free_bytes(free_bytes);
    state.mutable_places(0)->set_total_bytes(1000);
    farm.members.writes_to(farm.member(process), state);
  };
  farm.parts.own_places = {{"control.out", "/data/control", "/data", "/dev/sd (ext4)", ""}};
  report("writer-0", 90);
  report("supervisor", 90);
  disks.look(farm.parts);
  REQUIRE(disks.uses().size() == 1);  // run control's own is not measured yet
  const control::DiskUse use = disks.uses().front();
  CHECK(use.processes == std::vector<std::string>{"supervisor", "writer-0"});
  CHECK(use.folder == "/data/out");
  CHECK(use.is_short);
  v1::FarmView view;
  add_disks(disks.uses(), view);
  CHECK(view.disks(0).free_bytes() == 90);
  CHECK(view.disks(0).is_short());

  farm.parts.own_spaces["/data/control"] = {90, 1000};
  farm.members.writes_to(farm.member("supervisor"), lies_on("/data"));
  farm.members.writes_to(farm.member("writer-0"), lies_on("/data"));
  farm.parts.now_ns += 10 * kSecond;
  disks.look(farm.parts);
  REQUIRE(disks.uses().size() == 1);
  CHECK(disks.uses().front().processes == std::vector<std::string>{kRunControl});
}

TEST_CASE("the disks outlive run control") {
  DiskDesk desk;
  desk.writer_lies_on("/data");
  note_disks(desk.farm.parts, RunNumber(4));
  v1::ControlMemory memory;
  add_disks(desk.farm.parts.disks, memory);
  CHECK(disks_of(memory) == desk.farm.parts.disks.disks());
  DiskDesk next;
  next.farm.parts.disks.recall(disks_of(memory));
  next.writer_lies_on("/");
  CHECK_THAT(next.start(), ContainsSubstring("in run 4"));
}
