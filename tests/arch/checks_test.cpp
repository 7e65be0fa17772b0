// Each check finds its breach, and reports none in a tree that keeps the rules.
#include "checks.hpp"

#include "weir_catch.hpp"

#include <stdexcept>

namespace {

using namespace weir::arch;

// Two libraries that keep every rule: wire on base, and transport on both.
SourceTree good_tree() {
  return {
      {"libs/foundation/base/CMakeLists.txt", "weir_add_library(NAME base LAYER 0 SOURCES src/a.cpp)\n"},
      {"libs/foundation/base/README.md", "# base\n"},
      {"libs/foundation/base/include/weir/base/a.hpp", "// About a.\n#pragma once\n"},
      {"libs/foundation/base/src/a.cpp", "#include <weir/base/a.hpp>\n#include <vector>\n"},
      {"libs/network/wire/CMakeLists.txt",
       "weir_add_library(NAME wire LAYER 1 SOURCES src/w.cpp DEPENDS base)\n"},
      {"libs/network/wire/README.md", "# wire\n"},
      {"libs/network/wire/include/weir/wire/w.hpp", "#pragma once\n#include <weir/base/a.hpp>\n"},
      {"libs/network/wire/src/w.cpp", "#include <weir/wire/w.hpp>\n"},
      {"libs/network/transport/CMakeLists.txt",
       "weir_add_library(NAME transport LAYER 3 SOURCES src/t.cpp DEPENDS wire)"},
      {"libs/network/transport/README.md", "# transport\n"},
      {"libs/network/transport/include/weir/transport/t.hpp", "#pragma once\n"},
      {"libs/network/transport/src/t.cpp",
       "#include <boost/asio.hpp>\n#include <thread>\n#include <weir/base/a.hpp>\n"},
  };
}

Layers good_layers() {
  return {.pure_layer_max = 2,
          .sideways = {"ingest>storage"},
          .libraries = {
              {.name = "base",
               .layer = 0,
               .dir = "libs/foundation/base",
               .depends = {},
               .headers = {"weir/base/a.hpp"}},
              {.name = "wire",
               .layer = 1,
               .dir = "libs/network/wire",
               .depends = {"base"},
               .headers = {"weir/wire/w.hpp"}},
              {.name = "transport",
               .layer = 3,
               .dir = "libs/network/transport",
               .depends = {"wire"},
               .headers = {"weir/transport/t.hpp"}},
          }};
}

void require_one(const Breaches& breaches, const std::string& path, const std::string& what) {
  REQUIRE(breaches.size() == 1);
  CHECK_THAT(breaches.front(), Catch::Matchers::ContainsSubstring(path));
  CHECK_THAT(breaches.front(), Catch::Matchers::ContainsSubstring(what));
}

}  // namespace

TEST_CASE("a tree that keeps the rules has no breach") {
  const auto tree = good_tree();
  const auto layers = good_layers();
  CHECK(check_declared_layers(tree, layers).empty());
  CHECK(check_includes(tree, layers).empty());
  CHECK(check_pure_libraries(tree, layers).empty());
  CHECK(check_no_sleep(tree).empty());
  CHECK(check_no_orphans(tree).empty());
  CHECK(check_readmes(tree, layers).empty());
  CHECK(check_nothing_left(tree).empty());
  CHECK(check_header_guards(tree).empty());
}

TEST_CASE("a declared dependency that goes up is found") {
  auto layers = good_layers();
  layers.libraries[0].depends = {"transport"};
  require_one(check_declared_layers(good_tree(), layers), "libs/foundation/base",
              "layer 0 depends on 'transport' of layer 3");
}

TEST_CASE("a declared dependency on a neighbour is found unless the pair is allowed") {
  auto layers = good_layers();
  layers.libraries.push_back(
      {.name = "storage", .layer = 3, .dir = "libs/records/storage", .depends = {}, .headers = {}});
  layers.libraries.push_back(
      {.name = "ingest", .layer = 3, .dir = "libs/readout/ingest", .depends = {"storage"}, .headers = {}});
  CHECK(check_declared_layers(good_tree(), layers).empty());
  layers.libraries.back().depends = {"transport"};
  require_one(check_declared_layers(good_tree(), layers), "libs/readout/ingest", "'transport' of layer 3");
}

TEST_CASE("a folder of libs that is never built is found") {
  auto tree = good_tree();
  tree["libs/network/stray/src/s.hpp"] = "#pragma once\n";
  require_one(check_declared_layers(tree, good_layers()), "libs/network/stray", "does not build it");
}

TEST_CASE("an include of a library that is not depended on is found, with its line") {
  auto tree = good_tree();
  tree["libs/network/wire/src/w.cpp"] += "\n#  include <weir/transport/t.hpp>\n";
  require_one(check_includes(tree, good_layers()), "libs/network/wire/src/w.cpp:3",
              "belongs to 'transport', which 'wire' does not depend on");
}

TEST_CASE("a library's test may include any library") {
  auto tree = good_tree();
  tree["libs/network/wire/tests/w_test.cpp"] = "#include <weir/transport/t.hpp>\n";
  CHECK(check_includes(tree, good_layers()).empty());
}

TEST_CASE("an include that a comment holds does not count") {
  auto tree = good_tree();
  tree["libs/network/wire/src/w.cpp"] +=
      "// #include <weir/transport/t.hpp>\n/*\n#include <weir/no.hpp>\n*/\n";
  CHECK(check_includes(tree, good_layers()).empty());
}

TEST_CASE("an include of a header that no library has is found") {
  auto tree = good_tree();
  tree["libs/network/wire/src/w.cpp"] += "#include <weir/base/gone.hpp>\n";
  require_one(check_includes(tree, good_layers()), "libs/network/wire/src/w.cpp:2", "no library's header");
}

TEST_CASE("an include by a path through another folder is found") {
  auto tree = good_tree();
  tree["libs/network/wire/src/w.cpp"] += "#include \"../../transport/src/t.hpp\"\n";
  require_one(check_includes(tree, good_layers()), "libs/network/wire/src/w.cpp:2", "through other folders");
}

TEST_CASE("a type of a library that is not depended on is found by its declaration") {
  auto tree = good_tree();
  std::string& text = tree["libs/network/wire/include/weir/wire/w.hpp"];
  text = "#pragma once\nnamespace weir::base {\nclass Buffer;\n}\nnamespace weir::wire {\nclass Frame;\n}\n";
  CHECK(check_includes(tree, good_layers()).empty());
  text += "namespace weir::transport::detail {\nclass Stream;\n}\n";
  require_one(check_includes(tree, good_layers()), "libs/network/wire/include/weir/wire/w.hpp:9",
              "declares a type of 'transport', which 'wire'");
  text = "#pragma once\nnamespace weir::transport {\nstruct Own {};\n// class Stream;\n}\n";
  CHECK(check_includes(tree, good_layers()).empty());
}

TEST_CASE("each impure include is found in a pure library and allowed above") {
  const std::string include = GENERATE("boost/asio.hpp", "boost/asio/ip/tcp.hpp", "zmq.hpp", "zmq.h",
                                       "spdlog/spdlog.h", "google/protobuf/message.h", "thread", "mutex",
                                       "condition_variable", "future", "sys/socket.h");
  auto tree = good_tree();
  tree["libs/network/transport/src/t.cpp"] += "#include <" + include + ">\n";
  CHECK(check_pure_libraries(tree, good_layers()).empty());
  tree["libs/network/wire/src/w.cpp"] += "#include <" + include + ">\n";
  require_one(check_pure_libraries(tree, good_layers()), "libs/network/wire/src/w.cpp:2",
              "<" + include + ">");
}

TEST_CASE("an include that only begins like an impure one is allowed") {
  auto tree = good_tree();
  tree["libs/network/wire/src/w.cpp"] += "#include <thread_names.hpp>\n#include <sys/mman.h>\n";
  CHECK(check_pure_libraries(tree, good_layers()).empty());
}

TEST_CASE("each impure name is found in a pure library's code and not in its comments or strings") {
  const std::string name = GENERATE("sleep_for", "usleep", "system_clock", "steady_clock", "clock_gettime",
                                    "random_device", "getenv");
  auto tree = good_tree();
  tree["libs/network/wire/src/w.cpp"] +=
      "// " + name + "\nconst char* text = \"" + name + "\";\nint my_" + name + ";\n";
  CHECK(check_pure_libraries(tree, good_layers()).empty());
  tree["libs/network/wire/src/w.cpp"] += "auto x = " + name + "(1'000);\n";
  require_one(check_pure_libraries(tree, good_layers()), "libs/network/wire/src/w.cpp:5", name);
}

TEST_CASE("sleeping is found above the pure libraries too, and allowed in tests") {
  auto tree = good_tree();
  tree["libs/network/transport/tests/t_test.cpp"] = "std::this_thread::sleep_for(1ms);\n";
  CHECK(check_no_sleep(tree).empty());
  tree["apps/readout/main.cpp"] = "\nstd::this_thread::sleep_for(1ms);\n";
  require_one(check_no_sleep(tree), "apps/readout/main.cpp:2", "sleep_for");
}

TEST_CASE("a source that no list names is found") {
  auto tree = good_tree();
  tree["libs/network/wire/src/sub/lost.cpp"] = "\n";
  require_one(check_no_orphans(tree), "libs/network/wire/src/sub/lost.cpp", "never built");
  tree["libs/network/wire/CMakeLists.txt"] += "# src/sub/lost.cpp\n";
  CHECK(check_no_orphans(tree).size() == 1);
  tree["libs/network/wire/CMakeLists.txt"] += "weir_add_test(NAME x SOURCES src/sub/lost.cpp)\n";
  CHECK(check_no_orphans(tree).empty());
}

TEST_CASE("a source whose name ends another one's is not confused with it") {
  auto tree = good_tree();
  tree["libs/network/wire/rc/w.cpp"] = "\n";
  require_one(check_no_orphans(tree), "libs/network/wire/rc/w.cpp", "never built");
}

TEST_CASE("a library without a README is found") {
  auto tree = good_tree();
  tree.erase("libs/network/wire/README.md");
  require_one(check_readmes(tree, good_layers()), "libs/network/wire", "README.md");
}

TEST_CASE("a public header that a README's table of headers lacks is found") {
  auto tree = good_tree();
  tree["libs/network/wire/README.md"] += "\n| header | content |\n| --- | --- |\n| `v.hpp` | frames |\n";
  require_one(check_readmes(tree, good_layers()), "libs/network/wire/README.md", "w.hpp");
  tree["libs/network/wire/README.md"] += "| `w.hpp` | blocks |\n";
  CHECK(check_readmes(tree, good_layers()).empty());
}

TEST_CASE("work left for later is found, and words that contain its mark are not") {
  auto tree = good_tree();
  tree["libs/network/wire/README.md"] +=
      "see the "
      "TO"
      "DOs\n";
  CHECK(check_nothing_left(tree).empty());
  tree["libs/network/wire/README.md"] +=
      "// TO"
      "DO: more\n";
  require_one(check_nothing_left(tree), "libs/network/wire/README.md:3", "do it now");
}

TEST_CASE("a citation of a nonexistent page is found, and leading folders may be left out") {
  auto tree = good_tree();
  const std::vector<std::string> pages{"README.md", "libs/network/wire/FORMAT.md", "docs/lab.md"};
  tree["libs/network/wire/README.md"] +=
      "see [FORMAT.md](FORMAT.md), ../../docs/lab.md and https://example.org/other.md\n";
  CHECK(check_cited_pages(tree, pages).empty());
  tree["libs/network/wire/README.md"] += "(REFERENCE.md C)\n";
  require_one(check_cited_pages(tree, pages), "libs/network/wire/README.md:3", "REFERENCE.md");
}

TEST_CASE("tests that skip by a warning, or by words for ctest, are found") {
  auto tree = good_tree();
  tree["libs/network/wire/tests/frame_test.cpp"] += "void f() { weir::skip_test(\"nothing is here\"); }\n";
  CHECK(check_skips(tree).empty());
  tree["libs/network/wire/tests/frame_test.cpp"] += "void g() { WARN(\"Skipped: nothing is here\"); }\n";
  require_one(check_skips(tree), "libs/network/wire/tests/frame_test.cpp:", "weir::skip_test()");
  tree = good_tree();
  tree["libs/network/wire/CMakeLists.txt"] +=
      "set_tests_properties(a PROPERTIES SKIP_REGULAR_EXPRESSION b)\n";
  require_one(check_skips(tree), "libs/network/wire/CMakeLists.txt:", "weir::skip_test()");
}

TEST_CASE("a matcher that one version of Catch2 alone has is found") {
  auto tree = good_tree();
  tree["libs/network/wire/tests/frame_test.cpp"] +=
      "void f() { CHECK_THAT(a, Catch::ContainsSubstring(b)); }\n";
  CHECK(check_matchers(tree).empty());
  tree["libs/network/wire/tests/frame_test.cpp"] += "void g() { CHECK_THAT(a, Catch::Contains(b)); }\n";
  require_one(check_matchers(tree), "libs/network/wire/tests/frame_test.cpp:", "ContainsSubstring");
}

TEST_CASE("a function of the standard library without its header is found") {
  auto tree = good_tree();
  tree["libs/network/wire/src/frame.cpp"] +=
      "#include <utility>\nint f(int& a) { return std::exchange(a, 1); }\n";
  CHECK(check_standard_headers(tree).empty());
  tree["libs/network/wire/tests/frame_test.cpp"] += "int g(int& a) { return std::exchange(a, 1); }\n";
  require_one(check_standard_headers(tree), "libs/network/wire/tests/frame_test.cpp:", "<utility>");
}

TEST_CASE("a number of a report with its own text as key is found") {
  auto tree = good_tree();
  tree["libs/monitoring/reports/src/numbers.cpp"] = "void f() { report.gauges(); }\n";
  tree["libs/network/wire/tests/frame_test.cpp"] += "void f() { report.gauges(); }\n";
  CHECK(check_report_numbers(tree).empty());
  tree["libs/network/wire/src/frame.cpp"] += "void g() { (*report.mutable_counters())[\"stord\"] = 1; }\n";
  require_one(check_report_numbers(tree), "libs/network/wire/src/frame.cpp:", "weir/reports/numbers.hpp");
}

TEST_CASE("a public header that only tests include is found") {
  auto tree = good_tree();
  tree["libs/network/transport/src/t.cpp"] += "#include <weir/transport/t.hpp>\n";
  CHECK(check_header_users(tree).empty());
  tree["libs/network/wire/include/weir/wire/fake.hpp"] = "#pragma once\n";
  tree["libs/network/wire/tests/frame_test.cpp"] = "#include <weir/wire/fake.hpp>\n";
  require_one(check_header_users(tree), "libs/network/wire/include/weir/wire/fake.hpp", "tests/support");
}

TEST_CASE("a type name that two libraries define is found") {
  auto tree = good_tree();
  tree["libs/foundation/base/include/weir/base/a.hpp"] +=
      "struct Frame;\nstruct Reader {\n  struct Row {};\n};\n";
  tree["libs/network/wire/include/weir/wire/w.hpp"] +=
      "class Frame final : Reader {};\nenum class Row { a };\n";
  CHECK(check_type_names(tree).empty());
  tree["libs/network/transport/include/weir/transport/t.hpp"] += "// struct Reader {\nclass Frame {\n};\n";
  require_one(check_type_names(tree), "libs/network/wire/include/weir/wire/w.hpp", "'Frame'");
}

TEST_CASE("a header without a guard is found, and a C header may use the old one") {
  auto tree = good_tree();
  tree["libs/foundation/base/include/weir/c.h"] = "/* C */\n#ifndef WEIR_C_H\n#define WEIR_C_H\n#endif\n";
  CHECK(check_header_guards(tree).empty());
  tree["libs/network/wire/src/p.hpp"] = "// #pragma once\nint x;\n";
  require_one(check_header_guards(tree), "libs/network/wire/src/p.hpp", "#pragma once");
}

TEST_CASE("comments and literals are blanked, and line numbers stay") {
  CHECK(without_comments("a // b\nc", false) == "a     \nc");
  CHECK(without_comments("a /* b\n*/ c", false) == "a     \n   c");
  CHECK(without_comments("\"// x\" y", false) == "\"// x\" y");
  CHECK(without_comments("\"a\\\"b\" y", true) == "\"    \" y");
  CHECK(without_comments("'\"' // z", true) == "' '     ");
  CHECK(without_comments("1'000 // z", true) == "1'000     ");
  CHECK(without_comments("R\"x(a)\" b)x\" // c", true) == "R\"x(     )x\"     ");
}

TEST_CASE("a malformed list of layers is an error") {
  CHECK_THROWS_AS(parse_layers("{\"libraries\": []}"), std::runtime_error);
  CHECK_THROWS_AS(parse_layers("{"), std::runtime_error);
}
