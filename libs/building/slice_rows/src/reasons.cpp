#include <weir/slice_rows/reasons.hpp>

#include <array>

namespace weir::slice_rows {
namespace {

struct Words {
  std::string_view name;
  std::string_view sentence;
};

constexpr std::array<Words, kReasons> kWords = {{
    {"NONE", "no throttle is active"},
    {"READOUT_BUFFER_BYTES",
     "a readout's fragments fill readout.buffer_bytes: slices are settled more slowly than they are "
     "triggered"},
    {"READOUT_BUFFER_SLICES",
     "a readout holds nearly readout.buffer_slices slices: they are settled more slowly than they are "
     "triggered"},
    {"READOUT_BACKLOG", "a readout makes or receives its fragments more slowly than slices are triggered"},
    {"FILTER_TOO_SLOW",
     "slices wait for the filter: more dcm.processing_units or DCMs, or a faster algorithm"},
    {"DCM_BUFFER_FULL",
     "no memory to request more slices into: a larger dcm.buffer_bytes, or fewer dcm.credits"},
    {"WRITER_TOO_SLOW", "accepted slices wait for a writer and fill half of dcm.buffer_bytes"},
    {"WRITER_BUFFER", "data not yet on disk fills writer.buffer_bytes: the writer's disk is slow"},
    {"WRITER_DISK_FULL", "a writer's disk is full: free some space, the writer resumes by itself"},
    {"WRITER_DISK_NOT_WRITABLE", "a writer has lost write access to its folder"},
    {"WRITER_DISK_ERROR", "a writer's disk reports errors; the writer retries"},
    {"WRITER_DISK_STALLS", "a writer's disk does not respond"},
    {"SLICES_PENDING", "slices wait for a DCM with a credit free: supervisor.pending_max"},
    {"RUN_PAUSED", "run control has paused the run"},
    {"SUPERVISOR_JOURNAL_FULL",
     "the disk of the supervisor's journal is full: free some space, the supervisor resumes by itself"},
    {"GROUP_FULL",
     "forwarded slices wait for a DCM of this group with a credit free: more DCMs or credits in it, or a "
     "faster filter"},
    {"WRITER_DISK_GONE",
     "a writer's folder was renamed or removed, or its disk was unmounted: bring it back, the writer resumes "
     "by itself"},
}};

}  // namespace

std::string_view name(HoldReason reason) { return kWords[static_cast<std::size_t>(reason)].name; }
std::string_view sentence(HoldReason reason) { return kWords[static_cast<std::size_t>(reason)].sentence; }
std::string_view sentence_of(std::string_view name) {
  for (const Words& words : kWords) {
    if (words.name == name) return words.sentence;
  }
  return {};
}

}  // namespace weir::slice_rows
