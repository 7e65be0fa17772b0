#include "weir_catch.hpp"
#include <weir/base/crc32c.hpp>
#include <weir/base/scratch_folder.hpp>
#include <weir/plugin_loader/plugin_copy.hpp>

#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

using namespace weir;
using namespace weir::plugin_loader;
using Catch::Matchers::ContainsSubstring;

namespace {

using Names = std::vector<std::string>;

class Folder : public ScratchFolder {
 public:
  std::string write(const std::string& name, const std::string& content) const {
    const std::filesystem::path file = path() / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << content;
    return file.string();
  }
  // Names of the copy's files, without the folder.
  [[nodiscard]] Names names(const PluginCopy& copy) const {
    Names all;
    for (const PluginFile& file : copy.files)
      all.push_back(std::filesystem::relative(file.path, path()).string());
    return all;
  }
};

}  // namespace

TEST_CASE("a filter in Python is copied with the modules that it imports from beside it, and theirs") {
  const Folder folder;
  const std::string filter = folder.write("mine.py",
                                          "import numpy as np, cuts\n"
                                          "def later():\n  from geometry.strings import x\n"
                                          "  import importlib; importlib.import_module('named')\n"
                                          "import first, \\\n   second\n# import in_a_comment\n"
                                          "text = 'unrelated'\n");
  for (const char* name : {"named.py", "second.py", "in_a_comment.py", "unrelated.py", "x.txt"})
    folder.write(name, "");
  folder.write("cuts.py", "from deeper import y\n");
  folder.write("deeper.py", "import mine, cuts\n");
  folder.write("fast.cpython-311-x86_64-linux-gnu.so", "compiled");
  folder.write("first.py", "import fast\n");
  folder.write("geometry/__init__.py", "");
  folder.write("geometry/strings.py", "x = 1\n");
  folder.write("geometry/deep/other.py", "");
  folder.write("geometry/table.csv", "1");
  const auto copy = copy_plugin(filter);
  REQUIRE(copy);
  CHECK(folder.names(*copy) == Names{"mine.py", "cuts.py", "deeper.py",
                                     "fast.cpython-311-x86_64-linux-gnu.so", "first.py",
                                     "geometry/__init__.py", "geometry/deep/other.py", "geometry/strings.py",
                                     "in_a_comment.py", "named.py", "second.py"});
  CHECK(copy->files[1].content == "from deeper import y\n");
}

TEST_CASE("the checksum is that of the file, and with modules changes with each of them") {
  const Folder folder;
  const std::string text = "x = 1\n";
  const std::string filter = folder.write("mine.py", text);
  folder.write("cuts.py", "a = 1\n");
  CHECK(copy_plugin(filter)->crc32c == crc32c(std::as_bytes(std::span(text))));
  folder.write("mine.py", "import cuts\n");
  const std::uint32_t before = copy_plugin(filter)->crc32c;
  CHECK(copy_plugin(filter)->crc32c == before);
  folder.write("cuts.py", "a = 2\n");
  CHECK(copy_plugin(filter)->crc32c != before);
  const std::string library = folder.write("mine.so", "import cuts\n");
  CHECK(copy_plugin(library)->files.size() == 1);
}

TEST_CASE("a plugin that cannot be read, or with too many modules, is refused with a sentence") {
  const Folder folder;
  CHECK(copy_plugin((folder.path() / "none.py").string()).error() == "cannot be read");
  CHECK(copy_plugin(folder.path().string()).error() == "cannot be read");
  const std::string filter = folder.write("mine.py", "import many\n");
  folder.write("many/large.py", std::string(kPythonCopyBytesMax, '#'));
  CHECK(copy_plugin(filter));
  folder.write("many/one.py", "x");
  CHECK_THAT(copy_plugin(filter).error(), ContainsSubstring("48 MiB") && ContainsSubstring("many/"));
}
