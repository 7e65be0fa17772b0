#pragma once

#include "source_tree.hpp"

#include <string>
#include <vector>

// The house rules that a compiler cannot check. Each check returns one line per breach, "path:line: the
// problem"; none if the tree keeps the rule.
namespace weir::arch {

using Breaches = std::vector<std::string>;

// Declared dependencies point down, or to an allowed neighbour; every folder of libs/ is declared.
Breaches check_declared_layers(const SourceTree& tree, const Layers& layers);

// A library includes its own headers and those of its direct and indirect dependencies, and no file by a path
// through another folder; nor does it declare a type of another library. A library's tests may use any
// library.
Breaches check_includes(const SourceTree& tree, const Layers& layers);

// Pure libraries, and their tests, use no network, thread, schema, log, wall clock, random numbers or
// environment.
Breaches check_pure_libraries(const SourceTree& tree, const Layers& layers);

// No code in libs/, apps/, tools/ or plugins/ outside tests sleeps.
Breaches check_no_sleep(const SourceTree& tree);

// Every .cpp of libs/, apps/, tools/, plugins/ and tests/ is named by a CMakeLists.txt of its folder or one
// above.
Breaches check_no_orphans(const SourceTree& tree);

// Every library has a README.md, which names each public header if it has a table of headers.
Breaches check_readmes(const SourceTree& tree, const Layers& layers);

// The text contains no mark that postpones work.
Breaches check_nothing_left(const SourceTree& tree);

// Tests are skipped only with weir::skip_test(): a warning would count as passed, and words that ctest looks
// for would hide other failures.
Breaches check_skips(const SourceTree& tree);

// Tests are built with Catch2 2 and 3: they take the matchers of strings that both have under one name
// (tests/support/weir_catch.hpp).
Breaches check_matchers(const SourceTree& tree);

// A file includes the standard header of the functions that it uses: other headers bring them along with one
// compiler's library and not with the next.
Breaches check_standard_headers(const SourceTree& tree);

// Reports' numbers are written and read by keys of metrics' table, through libs/monitoring/reports: a text
// beside it would drift.
Breaches check_report_numbers(const SourceTree& tree);

// Every page that a file cites by a path or in capitals ("docs/lab.md", "FORMAT.md") exists. `pages` are the
// paths of all pages, from the top of the tree; a citation may leave out leading folders.
Breaches check_cited_pages(const SourceTree& tree, const std::vector<std::string>& pages);

// Every public header is included by code outside of tests: a header for tests belongs under tests/.
Breaches check_header_users(const SourceTree& tree);

// No two libraries or programs define types of the same name in their headers. Nested types, those of tests
// and those of the file reader for programs outside do not count.
Breaches check_type_names(const SourceTree& tree);

// Every header has #pragma once; a C header (.h) may use #ifndef.
Breaches check_header_guards(const SourceTree& tree);

}  // namespace weir::arch
