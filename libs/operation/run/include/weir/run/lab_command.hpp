#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace weir::run {

struct LabOptions {
  std::string lab_file;
  std::vector<std::string> sets;  // key=value, with or without the prefix lab.
};

// Carry out `weir lab up`, `down` and `status`. Return the exit status: 0; 1: failed, or the lab does not
// exist; 2: a wrong command line or lab file, or missing rights.
[[nodiscard]] int lab_up(const LabOptions& options, std::FILE* out, std::FILE* err);
[[nodiscard]] int lab_down(const LabOptions& options, std::FILE* out, std::FILE* err);
[[nodiscard]] int lab_status(const LabOptions& options, std::FILE* out, std::FILE* err);

}  // namespace weir::run
