// SPDX-License-Identifier: Apache-2.0
#include "server/metrics.h"

#include <algorithm>

#include <fmt/format.h>

#include "server/events/event_metrics.h"
#include "server/metric_text.h"
#include "server/service.h"

namespace likewise::server {
Metrics::Metrics(std::size_t operations, std::size_t models) : last_refused_(models) {
  for (std::size_t o = 0; o < operations; ++o) operations_.push_back(std::make_unique<Counts>());
}

void Metrics::count_request(std::size_t operation, int status, double seconds) {
  Counts& counts = *operations_[std::min(operation, operations_.size() - 1)];
  const auto* place = std::ranges::find(kStatuses, status);
  const auto s = std::min<std::ptrdiff_t>(place - kStatuses.begin(), kStatuses.size() - 1);
  ++counts.by_status[static_cast<std::size_t>(s)];
  ++counts.by_seconds[static_cast<std::size_t>(std::ranges::lower_bound(kSeconds, seconds) -
                                               kSeconds.begin())];
  counts.nanoseconds += static_cast<std::int64_t>(seconds * 1e9);
}

void Metrics::count_model_loaded(std::size_t model) {
  ++models_loaded_;
  forget_refused(model);
}

void Metrics::forget_refused(std::size_t model) { last_refused_[model] = false; }

void Metrics::count_model_refused(std::size_t model) {
  ++models_refused_;
  last_refused_[model] = true;
}

std::string Metrics::text(const Service& service) const {
  std::string text;
  describe_metric(text, "likewise_requests_total", "counter", "Requests by operation and status.");
  for (std::size_t o = 0; o < operations_.size(); ++o) {
    for (std::size_t s = 0; s < kStatuses.size(); ++s) {
      const std::int64_t count = operations_[o]->by_status[s];
      if (count == 0) continue;
      text += fmt::format("likewise_requests_total{{operation=\"{}\",status=\"{}\"}} {}\n",
                          service.operation_name(o),
                          kStatuses[s] == 0 ? "other" : fmt::to_string(kStatuses[s]), count);
    }
  }
  const std::string_view seconds = "likewise_request_seconds";
  describe_metric(text, seconds, "histogram", "From a whole request to its answer.");
  for (std::size_t o = 0; o < operations_.size(); ++o) {
    const Counts& counts = *operations_[o];
    std::int64_t sum = 0;
    std::string lines;
    for (std::size_t b = 0; b < counts.by_seconds.size(); ++b) {
      sum += counts.by_seconds[b];
      const std::string end = b < kSeconds.size() ? fmt::format("{}", kSeconds[b]) : "+Inf";
      lines += fmt::format("{}_bucket{{operation=\"{}\",le=\"{}\"}} {}\n", seconds,
                           service.operation_name(o), end, sum);
    }
    if (sum == 0) continue;
    text += lines;
    text += fmt::format("{}_sum{{operation=\"{}\"}} {}\n", seconds, service.operation_name(o),
                        static_cast<double>(counts.nanoseconds) * 1e-9);
    text +=
        fmt::format("{}_count{{operation=\"{}\"}} {}\n", seconds, service.operation_name(o), sum);
  }
  single_metric(text, "likewise_connections", "gauge", "Connections that are open.", connections);
  single_metric(text, "likewise_connections_refused_total", "counter",
                "Connections refused at the limit or without descriptors.", connections_refused);
  single_metric(text, "likewise_connections_evicted_total", "counter",
                "Idle connections closed to make room.", connections_evicted);
  single_metric(text, "likewise_requests_waiting", "gauge", "Requests that wait for a worker.",
                waiting);
  single_metric(text, "likewise_log_lines_dropped_total", "counter",
                "Lines of the access log that nobody took in time.", log_lines_dropped);
  single_metric(text, "likewise_models_loaded_total", "counter", "Models taken since the start.",
                models_loaded_);
  single_metric(text, "likewise_models_refused_total", "counter",
                "Model files that could not be taken.", models_refused_);
  const Split& split = service.split();
  metric_of_models(text, "likewise_model_refused", "gauge",
                   "1 where the newest model file was refused and an older one serves.", split,
                   [&](std::size_t m) { return last_refused_[m] ? 1 : 0; });
  if (service.has_events()) write_event_metrics(text, service);
  describe_metric(text, "likewise_model_info", "gauge", "The model that answers.");
  for (std::size_t m = 0; m < split.size(); ++m) {
    try {
      const auto model = service.model(m);
      const std::string name =
          split.is_of_one() ? "" : fmt::format("model=\"{}\",", split.names()[m]);
      text += fmt::format("likewise_model_info{{{}fingerprint=\"{}\",algorithm=\"{}\"}} 1\n", name,
                          model->fingerprint(), model->model().algorithm());
    } catch (const Fault&) {  // none yet
    }
  }
  return text;
}

}  // namespace likewise::server
