#pragma once

#include <map>
#include <string>
#include <string_view>

namespace weir::config {

// The location of a key given on the command line.
inline constexpr std::string_view kSetOption = "--set";

// The location of each key of a configuration, so that a problem found later still names file and line.
class Locations {
 public:
  Locations() = default;
  // `file` is the location of keys that are not given.
  explicit Locations(std::string file) : file_(std::move(file)) {}

  // Notes the line (from 1) of a key in a file.
  void set_line(const std::string& file, const std::string& key, int line) {
    places_[key] = file + ":" + std::to_string(line);
  }
  // Notes that a key was given on the command line.
  void set_option(const std::string& key) { places_[key] = kSetOption; }

  // Returns the location of `key`, of the nearest section around it, or of the file.
  [[nodiscard]] std::string of(std::string_view key) const;
  // Returns the location of `key` itself; empty if it was not given.
  [[nodiscard]] std::string exactly(std::string_view key) const;

 private:
  std::string file_;
  std::map<std::string, std::string, std::less<>> places_;
};

}  // namespace weir::config
