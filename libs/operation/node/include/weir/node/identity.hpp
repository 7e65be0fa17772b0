#pragma once

#include <weir/config/planned_farm.hpp>
#include <weir/ingest/recorded_run.hpp>
#include <weir/node/setup.hpp>
#include <weir/v1/control.pb.h>
#include <weir/v1/farm.pb.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The parts of a run with their checksums (v1::RunIdentity). A process computes its parts when it is
// configured, and again from the files that it has loaded; the order that begins a run carries the parts of
// the whole run.
namespace weir::node {

inline constexpr std::string_view kFarmPart = "farm";
inline constexpr std::string_view kFilterPart = "filter plugin";
inline constexpr std::string_view kSourcePart = "source plugin";
inline constexpr std::string_view kRecordingPart = "recording";

// Returns the name of the source plugin of a farm, or of a readout's part of it (config::NodeFarm); empty if
// the sources are built in.
[[nodiscard]] std::string source_plugin(const v1::Farm& farm);
// Returns the file that a plugin of this name or path is loaded from; empty if no such file exists.
[[nodiscard]] std::string locate_plugin(const std::string& name_or_path,
                                        const std::vector<std::string>& folders);

// Returns the part for a whole farm: the checksum of its YAML with every key.
[[nodiscard]] v1::RunIdentity::Part farm_part(const v1::Farm& farm);
// Returns that checksum as 8 hex digits.
[[nodiscard]] std::string farm_digest(const v1::Farm& farm);
// Return the name of this node's plugin or recording as a part without checksum. Name and search path are
// those of the whole farm, which may differ from this host's.
[[nodiscard]] v1::RunIdentity::Part filter_name(const Setup& setup);
[[nodiscard]] v1::RunIdentity::Part source_name(const Setup& setup);
[[nodiscard]] v1::RunIdentity::Part recording_name(const Setup& setup);
// Return the part of this name: a plugin loaded from `path` with this checksum, or a recording with the files
// that were read.
[[nodiscard]] v1::RunIdentity::Part plugin_part(v1::RunIdentity::Part name, const std::string& path,
                                                std::uint32_t crc32c);
[[nodiscard]] v1::RunIdentity::Part recording_part(v1::RunIdentity::Part name,
                                                   const std::vector<ingest::RecordedFile>& files);

// Reads the plugins and the recording that this node would load, and returns their parts. Files that cannot
// be read have no part: loading them gives the error.
[[nodiscard]] v1::RunIdentity loadable_parts(const Setup& setup);
// The same for every node of the farm, on this host.
[[nodiscard]] v1::RunIdentity loadable_parts(const config::PlannedFarm& planned);

// A part for which two processes have different checksums.
struct PartConflict {
  v1::RunIdentity::Part part;  // the part to be added
  int known = 0;               // index of the known one
};
// Adds the parts of `more` that `all` does not have yet. Returns the first one that differs; `all` keeps its
// own.
[[nodiscard]] std::optional<PartConflict> merge(const v1::RunIdentity& more, v1::RunIdentity& all);
// "filter plugin 'x' at /p/x.so"
[[nodiscard]] std::string text_of(const v1::RunIdentity::Part& part);
// Throws std::runtime_error that names both checksums if the run has another version of `part`.
void require(const v1::RunIdentity& run, const v1::RunIdentity::Part& part);
// Copies the list of files from `from` to parts in `to` that lack it and have the same checksum.
void take_files(const v1::RunIdentity& from, v1::RunIdentity& to);
// Returns the identity without the lists of a recording's files.
[[nodiscard]] v1::RunIdentity without_files(const v1::RunIdentity& identity);

// Detects changes of a node's plugins on disk, without reading them.
class PluginWatch {
 public:
  // Remembers the state of the plugin files that this node would load.
  void note(const Setup& setup);
  // Returns whether one of them is another file now, or has another size or time.
  [[nodiscard]] bool has_changed(const Setup& setup) const;

 private:
  std::string noted_;
  std::vector<std::string> modules_;  // paths of those that a filter in Python imports from beside it
};

}  // namespace weir::node
