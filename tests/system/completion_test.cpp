// `weir completion` and `weir manual`: made from the help of the commands.
#include "process.hpp"
#include "skip.hpp"
#include "weir_catch.hpp"

#include <cstdlib>
#include <string>
#include <vector>

using namespace weir;
using namespace weir::system_test;

namespace {

struct Shell {
  std::string name;
  std::string options;
  std::string script;  // reads the completion FILE, and prints the words that the shell offers for LINE
};
const std::vector<Shell> kShells = {
    {"bash", "--norc",
     ". FILE\nCOMP_WORDS=(LINE)\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\ncompopt() { :; }\n_weir\n"
     "echo \"${COMPREPLY[@]}\"\n"},
    {"zsh", "-f",
     "compdef() { :; }\n_files() { :; }\n"
     "_describe() { local -a all=(\"${(@P)2}\"); print -r -- ${(M)${all%%:*}:#$PREFIX*} }\n"
     ". FILE\nwords=(LINE); CURRENT=$#words; PREFIX=$words[-1]\n_weir\n"},
    {"fish", "--no-config", "source FILE\ncomplete -C 'LINE' | string split -f 1 \\t\n"},
};

std::string with(std::string text, const std::string& word, const std::string& value) {
  return text.replace(text.find(word), word.size(), value);
}

bool has(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null").c_str()) == 0;
}

// The words that the shell offers after a command line.
std::string offered(const TemporaryFolder& folder, const Shell& shell, const std::string& completion,
                    const std::string& line) {
  const std::string script = folder.write("try", with(with(shell.script, "FILE", completion), "LINE", line));
  Process process({"/usr/bin/env", "HOME=" + (folder / ""), shell.name, shell.options, script},
                  folder / "try.out", folder / "try.err");
  REQUIRE(process.wait(Seconds(20)) == 0);
  CHECK(process.err() == "");
  return process.out();
}

void check_completion(const Shell& shell) {
  if (!has(shell.name)) return skip_test(shell.name + " is not installed");
  const TemporaryFolder folder;
  const CommandEnd made = run_command(folder, "weir", {"completion", shell.name});
  REQUIRE(made.status == 0);
  const std::string file = folder.write("completion", made.out);
  CHECK(offered(folder, shell, file, "weir dem") == "demo\n");
  CHECK(offered(folder, shell, file, "weir file ver") == "verify\n");
  CHECK(offered(folder, shell, file, "weir run farm.yaml --sli") == "--slices\n");
  CHECK(offered(folder, shell, file, "weir keys tr") == "trigger\n");
  if (shell.name != "zsh")
    CHECK(offered(folder, shell, file, "weir run farm.yaml --log-level wa") == "warning\n");
}

}  // namespace

TEST_CASE("bash completes commands, their subcommands, options and values") { check_completion(kShells[0]); }

TEST_CASE("zsh completes commands, their subcommands and options") { check_completion(kShells[1]); }

TEST_CASE("fish completes commands, their subcommands, options and values") { check_completion(kShells[2]); }

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
  if (!has("groff")) return skip_test("groff is not installed");
  Process groff({"/usr/bin/env", "groff", "-man", "-ww", "-z", "-Tutf8", page}, folder / "groff.out",
                folder / "groff.err");
  CHECK(groff.wait(Seconds(20)) == 0);
  CHECK(groff.err() == "");
}
