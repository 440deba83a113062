// SPDX-License-Identifier: Apache-2.0
#include "server/service.h"

#include <utility>

namespace likewise::server {

Service::Service(const Limits& limits)
    : limits_(limits), operations_(make_operations(limits)), metrics_(operations_.size()) {}

std::shared_ptr<const ServedModel> Service::model() const {
  const std::lock_guard lock(mutex_);
  if (model_ == nullptr) throw Fault(FaultKind::kUnavailable, "no model is loaded yet");
  return model_;
}

void Service::use_events(Live& live, std::optional<Duplicates> duplicates) {
  live_ = &live;
  duplicates_ = duplicates;
}

Live& Service::events() const {
  if (live_ == nullptr) throw Fault(FaultKind::kUnavailable, "this server keeps no events");
  return *live_;
}

Who Service::who(const ServedModel& model, const std::string& user) const {
  const Model& learned = model.model();
  const Since since = live_ == nullptr ? Since{} : live_->since(user, model.mark());
  return who_is(learned, user, since, duplicates_.value_or(usual_duplicates(learned)));
}

bool Service::is_erased(const ServedModel& model, const std::string& user) const {
  return live_ != nullptr && live_->since(user, model.mark()).erased;
}

void Service::serve(std::shared_ptr<const ServedModel> model) {
  if (live_ != nullptr) live_->serve({model->mark()});
  {
    const std::lock_guard lock(mutex_);
    std::swap(model_, model);  // the one before may end here: outside of the lock
  }
  metrics_.count_model_loaded();
}

void Service::refuse_model(const std::string& reason) { metrics_.count_model_refused(reason); }

}  // namespace likewise::server
