#include <weir/base/assert.hpp>
#include <weir/base/crc32c.hpp>
#include <weir/base/plugin_file.hpp>
#include <weir/config/farm_file.hpp>
#include <weir/config/node_farm.hpp>
#include <weir/ingest/fingerprint.hpp>
#include <weir/node/identity.hpp>
#include <weir/node/paths.hpp>
#include <weir/plugin_loader/plugin_copy.hpp>

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <sys/stat.h>

namespace weir::node {
namespace {

namespace fs = std::filesystem;
using Part = v1::RunIdentity::Part;

constexpr int kFilesListed = 1000;

ConstBytes text_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

std::uint64_t size_of(const std::string& path) {
  std::error_code none;
  const auto size = fs::file_size(path, none);
  return none ? 0 : size;
}

template <class Folders>
std::string joined(const Folders& folders) {
  std::string text;
  for (const std::string& folder : folders) text += (text.empty() ? "" : ":") + folder;
  return text;
}

template <class Folders>
std::string plugin_file(const std::string& name, const Folders& search_path) {
  std::vector<std::string> folders(search_path.begin(), search_path.end());
  folders.push_back(plugin_folder());
  return locate_plugin(name, folders);
}

Part named(std::string_view kind, const std::string& name, const std::string& search_path = {}) {
  Part part;
  part.set_kind(std::string(kind));
  part.set_name(name);
  part.set_search_path(search_path);
  return part;
}

std::string filter_file(const v1::Farm& farm) {
  return plugin_file(farm.filter().plugin(), farm.filter().search_path());
}

std::string source_file(const v1::Farm& farm) {
  return plugin_file(source_plugin(farm), farm.source().search_path());
}

Part filter_name(const v1::Farm& farm) {
  return named(kFilterPart, farm.filter().plugin(), joined(farm.filter().search_path()));
}

Part source_name(const v1::Farm& farm) {
  return named(kSourcePart, source_plugin(farm), joined(farm.source().search_path()));
}

Part recording_name(const v1::Farm& farm) { return named(kRecordingPart, farm.replay().path()); }

// Returns the node's farm with the run's own folders, which may differ from those of this host.
v1::Farm shared_farm(const Setup& setup) {
  return setup.whole_farm ? config::NodeFarms(*setup.whole_farm).of(setup.self).farm : setup.farm;
}

// `farm` is the run's; `here` has this host's folders.
void add_filter(const v1::Farm& farm, const v1::Farm& here, v1::RunIdentity& identity) {
  const std::string path = filter_file(here);
  if (const auto copy = plugin_loader::copy_plugin(path))
    *identity.add_parts() = plugin_part(filter_name(farm), path, copy->crc32c);
}

void add_source(const v1::Farm& farm, const v1::Farm& here, v1::RunIdentity& identity) {
  if (here.source().kind() == v1::SourceSettings::KIND_REPLAY) {
    const auto files = ingest::fingerprint(here.replay().path());
    if (files) *identity.add_parts() = recording_part(recording_name(farm), *files);
  } else if (!source_plugin(here).empty()) {
    const std::string path = source_file(here);
    if (const auto copy = plugin_loader::copy_plugin(path))
      *identity.add_parts() = plugin_part(source_name(farm), path, copy->crc32c);
  }
}

// Returns the paths of the node's plugin files; an empty path is a file not found.
std::vector<std::string> plugin_files(const Setup& setup) {
  if (setup.self.role == Role::dcm) return {filter_file(setup.farm)};
  if (setup.self.role == Role::readout && !source_plugin(setup.farm).empty())
    return {source_file(setup.farm)};
  return {};
}

std::string stamps_of(const std::vector<std::string>& paths) {
  std::string text;
  for (const std::string& path : paths) {
    struct stat now {};
    if (::stat(path.c_str(), &now) != 0) now = {};
    text += fmt::format("{} {} {} {} {}.{:09}\n", path, now.st_dev, now.st_ino, now.st_size,
                        now.st_mtim.tv_sec, now.st_mtim.tv_nsec);
  }
  return text;
}

bool is_same(const Part& one, const Part& other) {
  return one.kind() == other.kind() && one.name() == other.name() && one.search_path() == other.search_path();
}

// Returns the part's index, or -1 if it does not exist.
int find(const v1::RunIdentity& identity, const Part& wanted) {
  for (int i = 0; i < identity.parts_size(); ++i) {
    if (is_same(identity.parts(i), wanted)) return i;
  }
  return -1;
}

std::string advice(const Part& part) {
  if (part.kind() == kFarmPart) return "run control and the process must have the same version of Weir";
  return "restore the file that the run began with, or end the run";
}

}  // namespace

std::string source_plugin(const v1::Farm& farm) {
  if (farm.source().kind() == v1::SourceSettings::KIND_UDP) return "udp";
  return farm.source().kind() == v1::SourceSettings::KIND_PLUGIN ? farm.source().plugin() : std::string();
}

std::string locate_plugin(const std::string& name_or_path, const std::vector<std::string>& folders) {
  std::error_code none;
  const bool python = is_python_plugin(name_or_path);
  const bool is_path = name_or_path.find('/') != name_or_path.npos;
  if ((is_path || python) && fs::is_regular_file(name_or_path, none))
    return fs::absolute(name_or_path, none).string();
  if (is_path) return {};
  if (name_or_path.ends_with(".so")) {
    return fs::is_regular_file(name_or_path, none) ? fs::absolute(name_or_path, none).string()
                                                   : std::string();
  }
  for (const std::string& folder : folders) {
    const fs::path path = fs::path(folder) / (python ? name_or_path : name_or_path + ".so");
    if (fs::is_regular_file(path, none)) return fs::absolute(path, none).string();
  }
  return {};
}

Part farm_part(const v1::Farm& farm) {
  const std::string text = config::to_yaml(farm);
  Part part;
  part.set_kind(std::string(kFarmPart));
  part.set_name(farm.farm());
  part.set_bytes(text.size());
  part.set_crc32c(crc32c(text_bytes(text)));
  return part;
}

std::string farm_digest(const v1::Farm& farm) { return fmt::format("{:08x}", farm_part(farm).crc32c()); }

Part filter_name(const Setup& setup) { return filter_name(shared_farm(setup)); }
Part source_name(const Setup& setup) { return source_name(shared_farm(setup)); }
Part recording_name(const Setup& setup) { return recording_name(shared_farm(setup)); }

Part plugin_part(Part name, const std::string& path, std::uint32_t crc32c) {
  name.set_path(path);
  name.set_bytes(size_of(path));
  name.set_crc32c(crc32c);
  return name;
}

Part recording_part(Part name, const std::vector<ingest::RecordedFile>& files) {
  std::string index;
  for (const ingest::RecordedFile& file : files) {
    index += fmt::format("{} {} {:08x}\n", file.name, file.bytes, file.crc32c);
    name.set_bytes(name.bytes() + file.bytes);
    if (name.files_size() == kFilesListed) continue;
    v1::RunIdentity::File& listed = *name.add_files();
    listed.set_name(file.name);
    listed.set_bytes(file.bytes);
    listed.set_mtime_ns(file.modified);
    listed.set_crc32c(file.crc32c);
  }
  WEIR_ASSERT(name.files_size() <= kFilesListed);
  name.set_crc32c(crc32c(text_bytes(index)));
  return name;
}

v1::RunIdentity loadable_parts(const Setup& setup) {
  v1::RunIdentity identity;
  if (setup.self.role == Role::dcm) add_filter(shared_farm(setup), setup.farm, identity);
  if (setup.self.role == Role::readout) add_source(shared_farm(setup), setup.farm, identity);
  return identity;
}

v1::RunIdentity loadable_parts(const config::PlannedFarm& planned) {
  const config::NodeFarms farms(planned.farm);
  v1::RunIdentity identity;
  for (const config::NodeFarms::Kind& kind : farms.kinds(planned.plan, Role::readout)) {
    v1::RunIdentity one;
    add_source(kind.shared.farm, kind.shared.farm, one);
    (void)merge(one, identity);
  }
  for (const config::NodeFarms::Kind& kind : farms.kinds(planned.plan, Role::dcm)) {
    v1::RunIdentity one;
    add_filter(kind.shared.farm, kind.shared.farm, one);
    (void)merge(one, identity);
  }
  return identity;
}

std::optional<PartConflict> merge(const v1::RunIdentity& more, v1::RunIdentity& all) {
  std::optional<PartConflict> conflict;
  for (const Part& part : more.parts()) {
    const int known = find(all, part);
    if (known < 0) {
      *all.add_parts() = part;
    } else if (all.parts(known).crc32c() != part.crc32c() && !conflict) {
      conflict = PartConflict{part, known};
    }
  }
  return conflict;
}

std::string text_of(const Part& part) {
  return part.kind() + " '" + part.name() + "'" +
         (part.path().empty() || part.path() == part.name() ? "" : " at " + part.path());
}

void require(const v1::RunIdentity& run, const Part& part) {
  const int index = find(run, part);
  if (index < 0 || run.parts(index).crc32c() == part.crc32c()) return;
  const Part& expected = run.parts(index);
  WEIR_ASSERT(is_same(expected, part));
  throw std::runtime_error(fmt::format(
      "{} has checksum {:08x}, and the run began with {:08x}{}: {}", text_of(part), part.crc32c(),
      expected.crc32c(), expected.path() == part.path() ? "" : " (" + expected.path() + ")", advice(part)));
}

void take_files(const v1::RunIdentity& from, v1::RunIdentity& to) {
  for (Part& part : *to.mutable_parts()) {
    const int same = find(from, part);
    if (part.files_size() == 0 && same >= 0 && from.parts(same).crc32c() == part.crc32c())
      *part.mutable_files() = from.parts(same).files();
  }
}

v1::RunIdentity without_files(const v1::RunIdentity& identity) {
  v1::RunIdentity bare = identity;
  for (Part& part : *bare.mutable_parts()) part.clear_files();
  return bare;
}

void PluginWatch::note(const Setup& setup) {
  modules_.clear();
  const std::vector<std::string> files = plugin_files(setup);
  for (const std::string& path : files) {
    if (!is_python_plugin(path)) continue;
    const auto copy = plugin_loader::copy_plugin(path);
    for (std::size_t i = 1; copy && i < copy->files.size(); ++i) modules_.push_back(copy->files[i].path);
  }
  noted_ = stamps_of(files) + stamps_of(modules_);
}

bool PluginWatch::has_changed(const Setup& setup) const {
  return stamps_of(plugin_files(setup)) + stamps_of(modules_) != noted_;
}

}  // namespace weir::node
