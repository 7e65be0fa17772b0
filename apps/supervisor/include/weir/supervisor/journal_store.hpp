#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/expected.hpp>

#include <memory>
#include <string>
#include <vector>

namespace weir::supervisor {

// Where a run's journal is kept: bytes that outlive the supervisor's process. One thread; errors are
// sentences.
class JournalStore {
 public:
  virtual ~JournalStore() = default;
  // All that an earlier process left; empty when there is nothing; an error when it was abandoned. Called
  // once, before the others.
  [[nodiscard]] virtual Expected<std::vector<std::byte>, std::string> read() = 0;
  // Is there when it returns, whatever becomes of this process. On an error nothing of it is.
  [[nodiscard]] virtual Expected<void, std::string> append(ConstBytes bytes) = 0;
  // Instead of everything; a reader finds the old or the new.
  [[nodiscard]] virtual Expected<void, std::string> replace(ConstBytes bytes) = 0;
  // The last error was that there is no room.
  [[nodiscard]] virtual bool no_room() const { return false; }
  // The run is over: nothing is left.
  virtual void remove() = 0;
  // It has a gap from here on, and no process may go on with the run from it, until it is replaced.
  virtual void abandon() = 0;
};

// A file. What was appended survives the process, not a power cut of its host: nothing is synced.
[[nodiscard]] std::unique_ptr<JournalStore> make_journal_file(const std::string& path);

}  // namespace weir::supervisor
