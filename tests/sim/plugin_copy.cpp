// sim_plugin_copy FROM TO: copies a plugin for the simulator, with a fixed size and checksum.
#include "fixed_checksum.hpp"

#include <cstdio>
#include <fstream>
#include <iterator>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::ifstream in(argv[1], std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const auto* bytes = reinterpret_cast<const std::byte*>(content.data());
  std::vector<std::byte> file(bytes, bytes + content.size());
  weir::sim::fix_checksum(file);
  std::ofstream out(argv[2], std::ios::binary);
  out.write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  if (in && !content.empty() && out.flush()) return 0;
  std::fprintf(stderr, "sim_plugin_copy: cannot copy '%s' to '%s'\n", argv[1], argv[2]);
  return 1;
}
