// SPDX-License-Identifier: Apache-2.0
#include "server/service.h"

#include <utility>

namespace likewise::server {

Service::Service(const Limits& limits, Split split)
    : limits_(limits),
      split_(std::move(split)),
      operations_(make_operations(limits, split_)),
      metrics_(no_operation() + 1, split_.size()),
      models_(split_.size()),
      marks_(split_.size()),
      follows_(split_.size()) {}

std::string_view Service::operation_name(std::size_t operation) const {
  if (operation < operations_.size()) return operations_[operation].name;
  return operation == page_operation() ? "page" : "none";
}

std::shared_ptr<const ServedModel> Service::model(std::size_t place) const {
  const std::lock_guard lock(mutex_);
  if (models_[place] == nullptr) throw Fault(FaultKind::kUnavailable, "no model is loaded yet");
  return models_[place];
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

Offset Service::erased_users() const { return live_ == nullptr ? 0 : live_->erased_users(); }

void Service::serve(std::shared_ptr<const ServedModel> model, std::size_t place) {
  const std::lock_guard one_at_a_time(serving_);
  if (live_ != nullptr) {
    marks_[place] = model->mark();
    std::vector<ModelMark> marks;
    for (const auto& mark : marks_) {
      if (mark) marks.push_back(*mark);
    }
    live_->serve(std::move(marks));
  }
  {
    const std::lock_guard lock(mutex_);
    std::swap(models_[place], model);  // the one before may end here: outside of the lock
  }
  metrics_.count_model_loaded(place);
}

void Service::refuse_model(std::size_t place) { metrics_.count_model_refused(place); }

void Service::keep_model(std::size_t place) { metrics_.forget_refused(place); }

}  // namespace likewise::server
