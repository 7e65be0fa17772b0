#pragma once

#include <string>
#include <vector>

// This user's farms that run control leads on this machine. Each run control leaves a note in a folder of
// this user.
namespace weir::launch {

struct FarmHere {
  std::string farm;
  std::string control;  // host:port
};

// Returns this user's farms with a running run control.
[[nodiscard]] std::vector<FarmHere> farms_here();

// A note of this process, which exists as long as the object. Errors are ignored, because the note is only a
// convenience.
class FarmNote {
 public:
  explicit FarmNote(const FarmHere& here);
  ~FarmNote();
  FarmNote(const FarmNote&) = delete;
  FarmNote& operator=(const FarmNote&) = delete;

 private:
  std::string path_;
};

}  // namespace weir::launch
