#pragma once

#include <cstdio>
#include <string>

namespace weir::bench {

// Returns the text that was written into a temporary file, and closes the file.
inline std::string written_text(std::FILE* file) {
  std::string text(static_cast<std::size_t>(std::ftell(file)), '\0');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

}  // namespace weir::bench
