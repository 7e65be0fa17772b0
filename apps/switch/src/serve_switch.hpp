#pragma once

#include <weir/bus/client.hpp>
#include <weir/config/switch_file.hpp>

#include <cstdio>
#include <string>

namespace weir::switch_node {

constexpr int kStatusLost = 3;   // frames were dropped for lack of room
constexpr int kStatusUsage = 2;  // the switch file, rights

// Checks a switch file, and prints the memory of its switch. Returns the exit status.
[[nodiscard]] int check_switch(const config::SwitchFile& file, std::FILE* out, std::FILE* err);

// Runs a switch until SIGINT or SIGTERM, and prints its summary. Returns the exit status.
[[nodiscard]] int serve_switch(const config::SwitchFile& file, std::FILE* out, std::FILE* err);

// Likewise, with the table that run control has for the switch of this name: waits for it, and takes later
// ones.
[[nodiscard]] int serve_switch(const bus::ClientSettings& bus, const std::string& name, std::FILE* out,
                               std::FILE* err);

}  // namespace weir::switch_node
