#include "source_process.hpp"

#include <weir/child_process/child_parts.hpp>

#include <cstring>
#include <poll.h>

namespace weir::source_host {
namespace {

constexpr const char* kPurpose = "a source host";
constexpr int kLooks = 50;  // at a process that was killed
constexpr int kLookMs = 100;
constexpr const char* kMark = "WEIR_SOURCE_HOST";

void add_text(std::string& out, const std::string& text) {
  const std::uint64_t size = text.size();
  char bytes[sizeof size];
  std::memcpy(bytes, &size, sizeof size);
  out.append(bytes, sizeof size);
  out += text;
}

void add_pair(std::string& out, const std::string& name, const std::string& value) {
  add_text(out, name);
  add_text(out, value);
}

}  // namespace

std::string setup_text(const HostSetup& setup, const plugin_loader::PluginCopy& copy) {
  std::string out;
  add_pair(out, "readout", setup.readout);
  add_pair(out, "index", std::to_string(setup.index));
  add_pair(out, "fragment_bytes_max", std::to_string(setup.fragment_bytes_max));
  add_pair(out, "memory_bytes", std::to_string(setup.memory_bytes));
  for (const std::uint32_t source : setup.sources) add_pair(out, "source", std::to_string(source));
  for (const auto& [name, value] : setup.parameters) {
    add_pair(out, "parameter", name);
    add_pair(out, "value", value);
  }
  for (const plugin_loader::PluginFile& file : copy.files) {
    add_pair(out, "file", file.path);
    add_pair(out, "content", file.content);
  }
  return out;
}

SourceProcess::~SourceProcess() {
  if (child_.pid() == 0) return;
  child_.kill(true);
  for (int looks = 0; !child_.end() && looks < kLooks; ++looks) {
    pollfd ended{child_.pidfd(), POLLIN, 0};
    (void)::poll(&ended, 1, kLookMs);
  }
}

std::string SourceProcess::start(const PythonSource& source, const std::string& setup, int wake) {
  using child_process::start_error;
  if (!lane_file_.open("weir-source-lane", lane_bytes(source.settings.lane_bytes / 8 * 8)))
    return start_error(kPurpose, "memfd_create");
  lane_ = LaneReader(lane_file_.bytes());
  const OwnedDescriptor file = child_process::sealed_file("weir-source-setup", setup);
  if (!file.is_open()) return start_error(kPurpose, "memfd_create");
  return child_.start(
      {kPurpose,
       source.command,
       kMark,
       {{file.get(), kSetupDescriptor}, {lane_file_.descriptor(), kLaneDescriptor}, {wake, kWakeDescriptor}},
       kNoteDescriptor});
}

}  // namespace weir::source_host
