#pragma once

#include <weir/config/switch_file.hpp>

#include <cstdio>

namespace weir::switch_node {

constexpr int kStatusLost = 3;   // frames were dropped for lack of room
constexpr int kStatusUsage = 2;  // the switch file, rights

// Checks a switch file, and prints the memory of its switch. Returns the exit status.
[[nodiscard]] int check_switch(const config::SwitchFile& file, std::FILE* out, std::FILE* err);

// Runs a switch until SIGINT or SIGTERM, and prints its summary. Returns the exit status.
[[nodiscard]] int serve_switch(const config::SwitchFile& file, std::FILE* out, std::FILE* err);

}  // namespace weir::switch_node
