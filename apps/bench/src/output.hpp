#pragma once

#include <weir/bench/figures.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace weir::bench {

// "2 cores, Linux 6.1.0": where something was measured.
[[nodiscard]] std::string machine();

// The file is `text` then; false: it could not be written.
[[nodiscard]] bool write(const std::string& path, const std::string& text);

// False, and a sentence to `err`: the folder is not there and cannot be made.
[[nodiscard]] bool make_folder(const std::string& folder, std::FILE* err);

// NAME.jsonl, NAME.md and of each figure data, script and, where gnuplot is installed, picture, into the
// folder. 0, or 1 and a sentence to `err`.
int write_output(const std::string& folder, const std::string& name, const std::string& lines,
                 const std::string& table, const std::vector<Figure>& figures, std::FILE* err);

}  // namespace weir::bench
