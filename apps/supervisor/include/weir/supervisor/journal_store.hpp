#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/expected.hpp>

#include <memory>
#include <string>
#include <vector>

namespace weir::supervisor {

// Storage of a run's journal: bytes that outlive the supervisor's process. One thread; errors are messages.
class JournalStore {
 public:
  virtual ~JournalStore() = default;
  // Returns the bytes left by an earlier process; empty if there are none. Errors: the journal was abandoned.
  // Requires: called once, before the other functions.
  [[nodiscard]] virtual Expected<std::vector<std::byte>, std::string> read() = 0;
  // Appends durably: the bytes survive this process. After an error none of them remain.
  [[nodiscard]] virtual Expected<void, std::string> append(ConstBytes bytes) = 0;
  // Replaces the whole journal; a reader finds the old or the new one.
  [[nodiscard]] virtual Expected<void, std::string> replace(ConstBytes bytes) = 0;
  // True if the last error was a lack of room.
  [[nodiscard]] virtual bool no_room() const { return false; }
  // Removes the journal at the end of the run.
  virtual void remove() = 0;
  // Marks the journal as incomplete: no process may resume the run from it until it is replaced.
  virtual void abandon() = 0;
};

// Makes a journal in a file. Appended bytes survive the process, but not a power failure of its host: the
// file is not synced.
[[nodiscard]] std::unique_ptr<JournalStore> make_journal_file(const std::string& path);

}  // namespace weir::supervisor
