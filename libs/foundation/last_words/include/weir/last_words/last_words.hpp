#pragma once

#include <weir/base/ids.hpp>

#include <cstdint>
#include <string>

// A note that outlives its process, however it ends: the signal of a crash, and the slices that were in work.
// The next process of the same name reads it. One per process, in a file mapped into memory.
namespace weir::last_words {

// Left behind by an earlier process.
struct Note {
  bool found = false;
  std::string end;     // "signal 11 (Segmentation fault)"
  std::string slices;  // "slice 150"; empty: none in work
};

// Reads and replaces the note in `path`, and notes signals of crashes from now on. Without a writable folder
// nothing is kept. Requires: called once, before the process has other threads.
[[nodiscard]] Note open(const std::string& path);
// Removes the note, because the process ends in order.
void close();
// The process ends by itself with this status, without close().
void note_status(int status);

// Notes the slice that this thread works on, until the next one. Cheap: a store.
void note_slice(SliceId slice);
void clear_slice();

// Returns how a process has ended, of its starter's report (empty: none) and its own note.
[[nodiscard]] std::string combine(const std::string& starter, const Note& note);

}  // namespace weir::last_words
