#include "weir_catch.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/config/farm_file.hpp>
#include <weir/node/identity.hpp>

#include <filesystem>
#include <fstream>
#include <string>

namespace weir::node {
namespace {

using Catch::Matchers::ContainsSubstring;

struct Folder {
  void write(const std::string& name, const std::string& content) const {
    const std::filesystem::path beside = folder.path() / (name + ".new");
    std::ofstream(beside) << content;
    std::filesystem::rename(beside, folder.path() / name);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder.path() / name).string(); }
  ScratchFolder folder;
};

Setup setup_of(const std::string& text, const std::string& name) {
  const auto file = config::read_farm(text, "farm.yaml");
  REQUIRE(file);
  const auto plan = config::expand(file->farm);
  REQUIRE(plan);
  return make_setup(file->farm, *plan, name, {"127.0.0.1", 7000});
}

v1::RunIdentity::Part part_of(const std::string& kind, const std::string& name, std::uint32_t crc32c) {
  v1::RunIdentity::Part part;
  part.set_kind(kind);
  part.set_name(name);
  part.set_crc32c(crc32c);
  return part;
}

v1::RunIdentity identity_of(const v1::RunIdentity::Part& part) {
  v1::RunIdentity identity;
  *identity.add_parts() = part;
  return identity;
}

}  // namespace

TEST_CASE("a DCM has its filter's part and a readout its source's, by the content of the file") {
  const Folder folder;
  folder.write("filter.so", "one");
  folder.write("source.so", "two");
  const std::string farm = "filter: {plugin: '" + folder.path("filter.so") +
                           "'}\nsource: {kind: plugin, plugin: '" + folder.path("source.so") + "'}\n";
  const v1::RunIdentity dcm = loadable_parts(setup_of(farm, "dcm-0"));
  REQUIRE(dcm.parts_size() == 1);
  CHECK(dcm.parts(0).kind() == kFilterPart);
  CHECK(dcm.parts(0).name() == folder.path("filter.so"));
  CHECK(dcm.parts(0).bytes() == 3);
  const v1::RunIdentity readout = loadable_parts(setup_of(farm, "readout-0"));
  REQUIRE(readout.parts_size() == 1);
  CHECK(readout.parts(0).kind() == kSourcePart);
  CHECK(loadable_parts(setup_of(farm, "writer-0")).parts_size() == 0);
  CHECK(loadable_parts(setup_of(farm, "supervisor")).parts_size() == 0);

  const Setup setup = setup_of(farm, "dcm-0");
  PluginWatch watch;
  watch.note(setup);
  CHECK_FALSE(watch.has_changed(setup));
  folder.write("filter.so", "tri");
  CHECK(watch.has_changed(setup));
  CHECK(loadable_parts(setup).parts(0).crc32c() != dcm.parts(0).crc32c());
  std::filesystem::remove(folder.path("filter.so"));
  CHECK(watch.has_changed(setup));
  CHECK(loadable_parts(setup).parts_size() == 0);
}

TEST_CASE("a plugin is found by name in the farm's folders before those of the installation, or by path") {
  const Folder folder;
  folder.write("mine.so", "one");
  CHECK(locate_plugin("mine", {"/nonexistent", folder.folder.path().string()}) == folder.path("mine.so"));
  CHECK(locate_plugin(folder.path("mine.so"), {}) == folder.path("mine.so"));
  CHECK(locate_plugin("nothing-of-the-kind", {folder.folder.path().string()}).empty());
  CHECK(locate_plugin("/nonexistent/plugin.so", {}).empty());
}

TEST_CASE("a farm's part is the same after the farm was written and read, and another with any other value") {
  const auto file =
      config::read_farm("dcm: {credits: 5}\nreadout: {nodes: [{name: a}, {name: b}]}\n", "farm.yaml");
  REQUIRE(file);
  const auto again = config::read_farm(config::to_yaml(file->farm), "again.yaml");
  REQUIRE(again);
  CHECK(farm_part(again->farm).crc32c() == farm_part(file->farm).crc32c());
  v1::Farm other = file->farm;
  REQUIRE(config::apply_override(other, "dcm.credits=6").empty());
  CHECK(farm_part(other).crc32c() != farm_part(file->farm).crc32c());
}

TEST_CASE(
    "a part that differs from the run's is refused with both checksums, and one that it has not is not") {
  const v1::RunIdentity run = identity_of(part_of("filter plugin", "mine", 0xaaaa));
  CHECK_NOTHROW(require(run, part_of("filter plugin", "mine", 0xaaaa)));
  CHECK_NOTHROW(require(run, part_of("source plugin", "mine", 0xbbbb)));
  CHECK_NOTHROW(require({}, part_of("filter plugin", "mine", 0xbbbb)));
  CHECK_THROWS_WITH(
      require(run, part_of("filter plugin", "mine", 0xbbbb)),
      ContainsSubstring("filter plugin 'mine' has checksum 0000bbbb, and the run began with 0000aaaa"));
}

TEST_CASE("merging keeps the first identity, and names the part that differs") {
  v1::RunIdentity all = identity_of(part_of("filter plugin", "mine", 1));
  CHECK_FALSE(merge(identity_of(part_of("source plugin", "udp", 2)), all));
  const auto conflict = merge(identity_of(part_of("source plugin", "udp", 3)), all);
  REQUIRE(conflict);
  CHECK(conflict->known == 1);
  CHECK(conflict->part.crc32c() == 3);
  CHECK(all.parts_size() == 2);
  CHECK(all.parts(1).crc32c() == 2);
}

TEST_CASE("plugins of one name from other search paths are other parts") {
  v1::RunIdentity all = identity_of(part_of("source plugin", "udp", 2));
  v1::RunIdentity own = identity_of(part_of("source plugin", "udp", 3));
  own.mutable_parts(0)->set_search_path("/own");
  CHECK_FALSE(merge(own, all));
  CHECK(all.parts_size() == 2);
}

TEST_CASE("a list of files omitted from a heartbeat stays known while the checksum is the same") {
  v1::RunIdentity before = identity_of(part_of("recording", "/data", 7));
  before.mutable_parts(0)->add_files()->set_name("index.json");
  v1::RunIdentity same = without_files(before);
  CHECK(same.parts(0).files_size() == 0);
  take_files(before, same);
  CHECK(same.parts(0).files_size() == 1);
  v1::RunIdentity other = identity_of(part_of("recording", "/data", 8));
  take_files(before, other);
  CHECK(other.parts(0).files_size() == 0);
}

TEST_CASE("under run control a process' own keys give paths on its host, and nothing else") {
  const Folder folder;
  folder.write("farm.yaml", "dcm: {credits: 1}\n");
  CommandLine line;
  line.farm_file = folder.path("farm.yaml");
  line.name = "writer-0";
  line.sets = {"writer.host=127.0.0.9", "run.out=/here", "dcm.credits=3"};
  v1::Farm sent;
  sent.mutable_dcm()->set_credits(8);
  const Setup setup = make_setup(line, sent, {}, Role::writer);
  CHECK(setup.farm.dcm().credits() == 8);
  CHECK(setup.farm.run().out() == "/here");
  CHECK(setup.listen.host == "127.0.0.9");
  CHECK(setup.whole_farm->run().out() == "run");
  CHECK(make_setup(line, sent, {"run.out"}, Role::writer).farm.run().out() == "run");
  CHECK(is_local_key("security.key_file"));
  CHECK_FALSE(is_local_key("filter.parameters.minimum"));
}

}  // namespace weir::node
