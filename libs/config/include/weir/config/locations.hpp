#pragma once

#include <map>
#include <string>
#include <string_view>

namespace weir::config {

// The place of a problem with a key that came from the command line.
inline constexpr std::string_view kSetOption = "--set";

// Where each key of a configuration was given, so that a problem found later still names file and line.
class Locations {
 public:
  Locations() = default;
  // `file` is the place of what was given nowhere.
  explicit Locations(std::string file) : file_(std::move(file)) {}

  // A key of a file, by its line (from 1).
  void set_line(const std::string& file, const std::string& key, int line) {
    places_[key] = file + ":" + std::to_string(line);
  }
  // A key of the command line.
  void set_option(const std::string& key) { places_[key] = kSetOption; }

  // The place of `key`, or of the nearest section around it, or the file.
  [[nodiscard]] std::string of(std::string_view key) const;
  // The place of `key` itself; empty where it was not given.
  [[nodiscard]] std::string exactly(std::string_view key) const;

 private:
  std::string file_;
  std::map<std::string, std::string, std::less<>> places_;
};

}  // namespace weir::config
