#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace weir::run {

struct LabOptions {
  std::string lab_file;
  std::vector<std::string> sets;  // key=value, with or without lab. in front
};

// `weir lab up`, `down` and `status`. Return the exit status: 0; 1 it could not be done, or the lab is not
// there; 2 a wrong command line or lab file, or no rights.
[[nodiscard]] int lab_up(const LabOptions& options, std::FILE* out, std::FILE* err);
[[nodiscard]] int lab_down(const LabOptions& options, std::FILE* out, std::FILE* err);
[[nodiscard]] int lab_status(const LabOptions& options, std::FILE* out, std::FILE* err);

}  // namespace weir::run
