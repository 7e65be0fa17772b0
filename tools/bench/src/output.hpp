#pragma once

#include <cstdio>
#include <string>

namespace weir::bench {

// "2 cores, Linux 6.1.0": where something was measured.
[[nodiscard]] std::string machine();

// Writes `text` to the file; returns false on errors.
[[nodiscard]] bool write(const std::string& path, const std::string& text);

// Returns the file's text; empty if it cannot be read.
[[nodiscard]] std::string read(const std::string& path);

// Returns false, with a message to `err`, if the folder does not exist and cannot be made.
[[nodiscard]] bool make_folder(const std::string& folder, std::FILE* err);

// Writes NAME.jsonl and NAME.md into the folder; python/weir_daq/plots.py draws the former. Returns 0, or 1
// with a message to `err`.
int write_output(const std::string& folder, const std::string& name, const std::string& lines,
                 const std::string& table, std::FILE* err);

}  // namespace weir::bench
