#pragma once

#include <google/protobuf/message.h>

namespace weir::reports {

// Passes all text in the message and in those inside it through clean_text(), names in maps too, so that it
// can be printed. Notes of reports keep their lines; bytes stay as they are.
void clean_texts(google::protobuf::Message& message);

}  // namespace weir::reports
