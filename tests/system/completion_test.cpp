// `weir completion` and `weir manual`: made from the help of the commands.
#include "process.hpp"
#include "weir_catch.hpp"

using namespace weir::system_test;

namespace {

// The words that bash offers after a command line.
std::string offered(const TemporaryFolder& folder, const std::string& completion, const std::string& line) {
  const std::string script = folder.write(
      "try.sh",
      ". " + completion + "\nCOMP_WORDS=(" + line +
          ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\ncompopt() { :; }\n_weir\necho \"${COMPREPLY[@]}\"\n");
  Process bash({"/usr/bin/env", "bash", script}, folder / "try.out", folder / "try.err");
  REQUIRE(bash.wait(Seconds(20)) == 0);
  CHECK(bash.err() == "");
  return bash.out();
}

}  // namespace

TEST_CASE("bash completes commands, their subcommands, options and values") {
  const TemporaryFolder folder;
  const CommandEnd made = run_command(folder, "weir", {"completion", "bash"});
  REQUIRE(made.status == 0);
  const std::string file = folder.write("weir.bash", made.out);
  CHECK(offered(folder, file, "weir r") == "run\n");
  CHECK(offered(folder, file, "weir file ver") == "verify\n");
  CHECK(offered(folder, file, "weir run farm.yaml --sli") == "--slices\n");
  CHECK(offered(folder, file, "weir run farm.yaml --log-level wa") == "warning\n");
  CHECK(offered(folder, file, "weir keys tr") == "trigger\n");
}

TEST_CASE("each shell's completion has every command, and an unknown shell is refused") {
  const TemporaryFolder folder;
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const CommandEnd made = run_command(folder, "weir", {"completion", shell});
    CHECK(made.status == 0);
    for (const char* word : {"demo", "filter", "log-level", "summary", "merge"})
      CHECK_THAT(made.out, Catch::ContainsSubstring(word));
  }
  CHECK(run_command(folder, "weir", {"completion", "tcsh"}).status == 2);
}

TEST_CASE("the manual page has every command with its options, and troff finds no fault") {
  const TemporaryFolder folder;
  const CommandEnd made = run_command(folder, "weir", {"manual"});
  REQUIRE(made.status == 0);
  for (const char* part :
       {"weir file verify", "weir ctl start", "\\-\\-slices", "HOST:PORT", "WEIR_CONNECT", "Exit status"})
    CHECK_THAT(made.out, Catch::ContainsSubstring(part));
  const std::string page = folder.write("weir.1", made.out);
  Process groff({"/bin/sh", "-c", "command -v groff >/dev/null || exit 0; groff -man -ww -z -Tutf8 " + page},
                folder / "groff.out", folder / "groff.err");
  CHECK(groff.wait(Seconds(20)) == 0);
  CHECK(groff.err() == "");
}
