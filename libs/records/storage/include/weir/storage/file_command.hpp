#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::storage {

enum class FileVerb : std::uint8_t {
  info,     // summary of a file's contents
  ls,       // a line for each slice
  dump,     // one slice in full
  verify,   // every checksum, the index against the records, the sums
  recover,  // makes a closed file from one that is damaged or was not closed
};

struct FileCommand {
  FileVerb verb = FileVerb::info;
  std::vector<std::string> paths;       // run files; but for recover, also folders of them
  bool json = false;                    // info, ls, verify, recover: one JSON object a line
  bool all = false;                     // ls, dump: dead copies too; dump: every byte of a fragment
  std::uint64_t lines_max = 0;          // ls: of each file; 0: all
  std::optional<std::uint64_t> slice;   // dump (required), ls
  std::optional<std::uint32_t> source;  // dump: this fragment only
  std::optional<std::uint64_t> event;   // dump: this output event only
  bool raw = false;                     // dump: only the raw bytes of --source or --event
  std::string out;                      // recover: the new file; empty: the name without .part
};

constexpr int kFileCommandFine = 0;
// verify: damage found; dump: slice not found; recover: cut out damage that had whole records behind it.
constexpr int kFileCommandFaults = 1;
// A file cannot be read or recovered, or the options contradict each other.
constexpr int kFileCommandUnable = 2;
constexpr int kFileCommandUnclosed = 3;  // verify: no damage, but a file was not closed

// Carries out `weir file VERB PATH...`: results go to `out`, errors to `err`. Returns the exit status.
[[nodiscard]] int run_file_command(const FileCommand& command, std::ostream& out, std::ostream& err);

}  // namespace weir::storage
