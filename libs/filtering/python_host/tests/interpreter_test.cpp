#include "weir_catch.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/python_host/interpreter.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <vector>

using namespace weir::python_host;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("an interpreter that is not there is named, with what to install") {
  const auto found = find_interpreter("/nowhere/python3", "/nowhere");
  REQUIRE_FALSE(found);
  CHECK_THAT(found.error(), ContainsSubstring("/nowhere/python3"));
  CHECK_THAT(found.error(), ContainsSubstring("apt install python3-numpy"));
  CHECK_THAT(found.error(), ContainsSubstring("filter.python"));
}

TEST_CASE("an interpreter without the package is refused with Python's own words") {
  const auto found = find_interpreter("python3", "/nowhere");
  REQUIRE_FALSE(found);
  CHECK_THAT(found.error(), ContainsSubstring("python3: "));
}

TEST_CASE("the interpreter of a source is looked for under its own key") {
  const auto found = find_interpreter("/usr/bin/env", "/nowhere", "source");
  REQUIRE_FALSE(found);
  CHECK_THAT(found.error(), ContainsSubstring("no interpreter for a source in Python"));
  CHECK_THAT(found.error(), ContainsSubstring("source.python"));
}

TEST_CASE("a child's output and exit status come back") {
  const auto child = run_child({"/bin/sh", "-c", "echo out; echo err >&2; exit 3"});
  REQUIRE(child);
  CHECK(child->status == 3);
  CHECK(child->text == "out\nerr\n");
  CHECK(run_child({"/bin/sh", "-c", "kill -9 $$"})->status == 128 + 9);
  CHECK_FALSE(run_child({"/nowhere/program"}));
}

TEST_CASE("a helper that keeps a child's output open does not delay its end") {
  const auto start = std::chrono::steady_clock::now();
  const auto child = run_child({"/bin/sh", "-c", "sleep 20 & echo out"});
  REQUIRE(child);
  CHECK(child->status == 0);
  CHECK(child->text == "out\n");
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(15));
}

TEST_CASE("a command line has the verb, the library and the arguments in order") {
  const std::vector<std::string> words =
      filter_host_command({"python3", "/p/lib/weir/python", "/p/lib/weir"}, "worker", {"one", "two"});
  const auto at = std::find(words.begin(), words.end(), "python3");
  REQUIRE(words.end() - at == 7);
  CHECK(at[1] == "-c");
  CHECK_THAT(at[2], ContainsSubstring("weir_daq.filter_host"));
  CHECK(std::vector<std::string>(at + 3, words.end()) ==
        std::vector<std::string>{"worker", "/p/lib/weir/weir-filter-host.so", "one", "two"});
  CHECK(words.front() == "/usr/bin/env");
}

TEST_CASE("the working folder is not in sys.path, and PYTHONPATH is") {
  const weir::ScratchFolder folder;
  std::ofstream(folder.path().string() + "/random.py") << "print('of the working folder')\n";
  std::ofstream(folder.path().string() + "/mine.py") << "name = 'mine'\n";
  const std::string program = program_text("import random, mine; print(mine.name, '' in sys.path)");
  const auto child =
      run_child({"/bin/sh", "-c",
                 "cd " + folder.path().string() + " && mkdir own && mv mine.py own && PYTHONPATH=" +
                     python_path(":" + folder.path().string() + "/own::", "/nowhere") + " python3 -c \"" +
                     program + "\""});
  REQUIRE(child);
  CHECK(child->text == "mine False\n");
  CHECK(python_path("", "/a") == "/a");
  CHECK(python_path("::/b:", "/a") == "/b:/a");
}
