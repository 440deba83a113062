// SPDX-License-Identifier: Apache-2.0
#include "server/model_watch.h"

#include <utility>

#include <fmt/format.h>

#include "likewise/error.h"

namespace likewise::server {

ModelWatch::ModelWatch(Service& service, ModelSource source, std::chrono::milliseconds every,
                       Say say, std::size_t place)
    : service_(service),
      source_(std::move(source)),
      every_(every),
      say_(std::move(say)),
      place_(place) {
  LoadedModel first = load_served(source_);
  served_ = first.stamp;
  service_.serve(std::move(first.model), place_);
  thread_ = std::thread([this] { work(); });
}

ModelWatch::~ModelWatch() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void ModelWatch::look_now() {
  {
    const std::lock_guard lock(mutex_);
    asked_ = true;
  }
  changed_.notify_one();
}

void ModelWatch::work() {
  while (true) {
    bool asked = false;
    {
      std::unique_lock lock(mutex_);
      const auto woken = [this] { return asked_ || ending_; };
      if (every_.count() > 0) {
        changed_.wait_for(lock, every_, woken);
      } else {
        changed_.wait(lock, woken);
      }
      if (ending_) return;
      asked = std::exchange(asked_, false);
    }
    if (asked || resolved()) load();
  }
}

bool ModelWatch::resolved() {
  const auto now = stamp_of(source_.path);
  const bool rests = now && now == seen_;
  seen_ = now;
  if (rests && *now == served_ && has_refused_) forget_refused();
  return rests && *now != served_ && now != refused_;
}

void ModelWatch::forget_refused() {
  refused_.reset();
  has_refused_ = false;
  service_.keep_model(place_);
  say_(fmt::format("the refused model is gone: {} is that of the model that is served",
                   source_.path));
}

void ModelWatch::load() {
  const auto stamp = stamp_of(source_.path);
  try {
    LoadedModel fresh = load_served(source_);
    served_ = fresh.stamp;
    refused_.reset();
    has_refused_ = false;
    const std::string fingerprint = fresh.model->fingerprint();
    service_.serve(std::move(fresh.model), place_);
    say_(fmt::format("serves the model {} of {}", fingerprint, source_.path));
  } catch (const std::exception& error) {
    refused_ = stamp;
    has_refused_ = true;
    service_.refuse_model(place_);
    say_(fmt::format("the new model is refused, the one before stays: {}", error.what()));
  }
}

}  // namespace likewise::server
