#include <weir/assignment/actions.hpp>
#include <weir/base/assert.hpp>

namespace weir::assignment {

void Actions::answer(NodeIndex dcm, SliceId slice, Attempt attempt, Answer answer) {
  WEIR_ASSERT(answer != Answer::store);
  of(dcm).confirm.push_back({slice, attempt, {}, kNoNode, answer});
}

void Actions::drop(NodeIndex dcm) {
  if (dcm.value >= dcms.size()) return;
  for (const Confirmation& one : dcms[dcm.value].confirm) {
    if (one.answer == Answer::store) unsent.push_back(one);
  }
  dcms[dcm.value].assign.clear();
  dcms[dcm.value].confirm.clear();
  std::erase(touched, dcm);
}

void Actions::clear() {
  for (const NodeIndex dcm : touched) {
    dcms[dcm.value].assign.clear();
    dcms[dcm.value].confirm.clear();
  }
  touched.clear();
  announce.clear();
  reopened.clear();
  killed.clear();
  forwarded.clear();
  unsent.clear();
  fetched.clear();
  answered.clear();
  cleared.clear();
  copies.clear();
  leaving.clear();
  judged.clear();
  payload.clear();
}

}  // namespace weir::assignment
