#include "weir_catch.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/run/costs.hpp>
#include <weir/run/host_size.hpp>

#include <cstdlib>
#include <fstream>
#include <string>

using namespace weir;
using namespace weir::run;
using Catch::ContainsSubstring;

namespace {

// A readout takes 2 us a block, 0.5 us a fragment and 1 ns a byte; a DCM 3, 1, 0.25 and 2, the supervisor 1
// us a slice and 0.1 a readout. A stored byte costs a DCM 3 ns, a writer 4 ns and 10 us a record, a disk 5
// ns.
MeasuredFarm made_up(MeasuredFarm farm) {
  const double fragments = farm.readouts * farm.sources;
  const double bytes = fragments * farm.fragment_bytes;
  farm.readout = 2.0 * farm.readouts + 0.5 * fragments + (farm.stored ? 0.002 : 0.001) * bytes;
  farm.dcm = 3 + farm.readouts + 0.25 * fragments + 0.002 * bytes + (farm.stored ? 0.003 * bytes : 0);
  farm.supervisor = 1 + 0.1 * farm.readouts + (farm.stored ? 0.4 : 0);
  farm.writer = farm.stored ? 10 + 0.004 * bytes : 0;
  farm.disk = farm.stored ? 0.005 * bytes : 0;
  return farm;
}

CostTable made_up_table() {
  CostTable table{"made up", farms_to_measure()};
  for (MeasuredFarm& farm : table.farms) farm = made_up(farm);
  return table;
}

std::string line(const MeasuredFarm& farm) {
  return "{\"readouts\": " + std::to_string(farm.readouts) +
         ", \"sources_per_readout\": " + std::to_string(farm.sources) +
         ", \"fragment_bytes\": " + std::to_string(farm.fragment_bytes) +
         ", \"stored\": " + (farm.stored ? "true" : "false") +
         ", \"readout_us\": " + std::to_string(farm.readout) + ", \"dcm_us\": " + std::to_string(farm.dcm) +
         ", \"supervisor_us\": " + std::to_string(farm.supervisor) +
         ", \"writer_us\": " + std::to_string(farm.writer) + ", \"disk_us\": " + std::to_string(farm.disk) +
         ", \"machine\": \"a machine\"}\n";
}

}  // namespace

TEST_CASE("the model finds the costs of slice, block, fragment and byte, and applies them to any farm") {
  const CostModel model(made_up_table());
  const FarmProcesses shape{6, 3, 2, 60, 12, 3000};
  const SliceCosts times = model.of(shape);
  CHECK(times.readout == Approx(2 + 12 * 6.5));
  CHECK(times.readouts == Approx(6 * 2 + 60 * 6.5));
  CHECK(times.dcm == Approx(3 + 6 + 60 * 6.25 + 540));
  CHECK(times.supervisor == Approx(1 + 0.6 + 0.4));
  CHECK(times.writer == Approx(10 + 720));
  CHECK(times.disk == Approx(900));
  const SliceCosts large = model.of({1, 1, 0, 2, 2, 1e6});
  CHECK(large.readout == Approx(2 + 2 * 1000.5));
  CHECK(large.writer == 0);
  const SliceCosts tiny = model.of({1, 1, 1, 1, 1, 0});
  CHECK(tiny.readout == Approx(2.5));
  CHECK(tiny.writer == Approx(10));
}

TEST_CASE(
    "a whole table is read from the lines of the bench, and a partial or foreign one refused with the "
    "remedy") {
  const ScratchFolder folder;
  const std::string path = folder.path() / "costs.jsonl";
  const auto write = [&](const std::string& text) { std::ofstream(path) << text; };
  std::string all;
  for (const MeasuredFarm& farm : made_up_table().farms) all += line(farm);
  write(all);
  const auto table = read_costs(path);
  REQUIRE(table);
  CHECK(table->origin == "a machine");
  CHECK(CostModel(*table).of({4, 1, 0, 16, 4, 64}).dcm == Approx(3 + 4 + 4 + 2.048));
  write(all.substr(all.find('\n') + 1));
  CHECK_THAT(read_costs(path).error(),
             ContainsSubstring("no line for 4 readouts with 4 sources of 64 bytes; `weir bench costs > "));
  write("{\"bench\": \"scale\"}\n");
  CHECK_THAT(read_costs(path).error(), ContainsSubstring("line 1 is none of `weir bench costs`"));
  write("no JSON\n");
  CHECK_THAT(read_costs(path).error(), ContainsSubstring("line 1 is none of `weir bench costs`"));
  CHECK_THAT(read_costs(folder.path() / "none").error(), ContainsSubstring("cannot be read"));
}

TEST_CASE("the built-in table is whole, and every part of it takes time") {
  CHECK(incomplete(built_in_costs()).empty());
  const SliceCosts times = CostModel(built_in_costs()).of({4, 1, 1, 16, 4, 1024});
  CHECK(times.readout > 0);
  CHECK(times.dcm > times.readout);
  CHECK(times.supervisor > 0);
  CHECK(times.writer > 0);
  CHECK(times.disk > 0);
}

TEST_CASE("the fullest process limits a farm, or the cores of its host") {
  const FarmProcesses shape{2, 2, 1, 8, 4, 1000};
  SliceCosts times{4, 8, 10, 1, 3, 2};
  CHECK(capacity_of(shape, times, 100).limit == Limit::dcms);
  CHECK(capacity_of(shape, times, 100).slices_per_s == Approx(200'000));
  CHECK(capacity_of(shape, times, 2).limit == Limit::cores);
  CHECK(capacity_of(shape, times, 2).slices_per_s == Approx(2e6 / 24));
  times.disk = 7;
  CHECK(capacity_of(shape, times, 100).limit == Limit::writers);
  CHECK(capacity_of(shape, {4, 8, 6, 5, 3, 2}, 100).limit == Limit::supervisor);
  CHECK(capacity_of(shape, {6, 8, 6, 5, 3, 2}, 100).limit == Limit::readouts);
}

TEST_CASE("a farm gets processes until its host is full, the rate is reached, or no role can have more") {
  const CostModel model(made_up_table());
  const FarmProcesses shape{4, 1, 1, 16, 4, 1024};
  const Choices all{{1, 2, 4, 8, 16}, true, true};
  const HostSize large = fit_to_host(model, shape, all, 32, 0);
  CHECK(large.capacity.limit == Limit::cores);
  CHECK(large.shape.dcms > large.shape.readouts);
  CHECK(large.shape.readouts * large.shape.busiest_sources >= 16);
  CHECK(large.shape.readouts + large.shape.dcms + large.shape.writers <= 40);
  const HostSize small = fit_to_host(model, shape, all, 1, 0);
  CHECK(small.shape.readouts == 1);
  CHECK(small.shape.dcms == 1);
  CHECK(small.shape.writers == 1);
  const HostSize modest = fit_to_host(model, shape, all, 32, 20'000);
  CHECK(modest.capacity.slices_per_s >= 20'000);
  CHECK(modest.shape.dcms < large.shape.dcms);
  const HostSize fixed = fit_to_host(model, shape, {{}, false, false}, 32, 0);
  CHECK(fixed.shape.readouts == 4);
  CHECK(fixed.shape.dcms == 1);
  CHECK(fixed.capacity.limit == Limit::dcms);
}

TEST_CASE("work is shared by as many processes as keep a tenth of each core free") {
  CHECK(processes_for(10, 0) == 1);
  CHECK(processes_for(10, 89'000) == 1);
  CHECK(processes_for(10, 91'000) == 2);
  CHECK(processes_for(10, 181'000) == 3);
}
