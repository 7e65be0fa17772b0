#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::storage {

enum class FileVerb : std::uint8_t {
  info,     // what a file holds, in a screen
  ls,       // a line for each slice
  dump,     // one slice in full
  verify,   // every checksum, the index against the records, the sums
  recover,  // makes a closed file of one that is damaged or was not closed
};
[[nodiscard]] std::optional<FileVerb> parse_file_verb(std::string_view text);

struct FileCommand {
  FileVerb verb = FileVerb::info;
  std::vector<std::string> paths;
  bool json = false;                    // info, ls, verify, recover: one JSON object a line
  bool all = false;                     // ls, dump: dead copies too; dump: every byte of a fragment
  std::uint64_t lines_max = 0;          // ls: of each file; 0: all
  std::optional<std::uint64_t> slice;   // dump (needed), ls
  std::optional<std::uint32_t> source;  // dump: this fragment only
  std::optional<std::uint64_t> event;   // dump: this output event only
  bool raw = false;                     // dump: the bytes of --source or --event as they are, nothing else
  std::string out;                      // recover: the new file; empty: the name without .part
};

constexpr int kFileCommandFine = 0;
// verify found damage; dump: the slice is not there; recover: it cut out damage that had whole records
// behind it.
constexpr int kFileCommandFaults = 1;
// A file cannot be read or recovered, or the options make no sense.
constexpr int kFileCommandUnable = 2;
constexpr int kFileCommandUnclosed = 3;  // verify: no damage, but a writer did not come to close a file

// `weir file VERB PATH...`: results to `out`, complaints to `err`; the exit status.
[[nodiscard]] int run_file_command(const FileCommand& command, std::ostream& out, std::ostream& err);

}  // namespace weir::storage
