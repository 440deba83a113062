// SPDX-License-Identifier: Apache-2.0
/// Any bytes as what a client sends: read in two pieces, understood, and answered by a small model.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "likewise/training.h"
#include "server/front.h"
#include "server/http/request_reader.h"

namespace {

using likewise::server::FaultKind;

std::shared_ptr<const likewise::Model> small_model() {
  likewise::Interactions data;
  likewise::Array<likewise::Offset> offsets(4);
  likewise::Array<likewise::Index> columns(6);
  likewise::Array<float> values(6);
  for (likewise::Index e = 0; e < 6; ++e) {
    columns[e] = e % 2 == 0 ? e / 2 : e / 2 + 1;
    values[e] = 1.0F;
  }
  for (likewise::Offset u = 0; u < 4; ++u) offsets[u] = 2 * u;
  data.users = likewise::IdMap::range(3);
  data.items = likewise::IdMap::range(4);
  data.by_user = {3, 4, std::move(offsets), std::move(columns), std::move(values)};
  likewise::TrainingRequest request;
  request.algorithm = "als";
  request.parameters = {{"factors", "4"}, {"iterations", "2"}};
  return std::make_shared<const likewise::Model>(
      likewise::train(likewise::prepare(request, data), data));
}

/// A server that has no socket.
struct Served {
  likewise::server::Service service;
  likewise::server::Front front{service, {}};
  likewise::server::Limits limits;

  Served() {
    limits.body = 4096;
    limits.header = 4096;
    service.serve(std::make_shared<const likewise::server::ServedModel>(
        small_model(), likewise::open_device("cpu")));
  }
};

/// No bytes that a client sends are a failure of the server.
void expect_no_failure(const likewise::server::Outcome& outcome) {
  const auto* fault = std::get_if<likewise::server::Fault>(&outcome);
  if (fault != nullptr && fault->kind() == FaultKind::kInternal) std::abort();
}

void answer(const Served& served, const likewise::server::RequestReader& reader) {
  auto taken = served.front.take(reader.request());
  if (auto* reply = std::get_if<likewise::server::Reply>(&taken)) {
    if (reply->status == 500) std::abort();
    (void)likewise::server::bytes_of(*reply, reader.keeps_alive(), false);
    return;
  }
  const auto& task = std::get<likewise::server::Task>(taken);
  expect_no_failure(likewise::server::answer(
      served.service, served.service.operations()[task.operation], task.request));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Served served;
  if (size == 0) return 0;
  std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  likewise::server::RequestReader reader(served.limits);
  try {
    // As a connection does: what was not taken comes again, with more behind it.
    const std::size_t cut = std::min<std::size_t>(data[0], bytes.size());
    const std::size_t taken = reader.put(std::string_view(bytes).substr(0, cut));
    bytes.erase(0, taken);
    while (!bytes.empty() && !reader.done()) {
      const std::size_t more = reader.put(bytes);
      if (more == 0) break;
      bytes.erase(0, more);
    }
  } catch (const likewise::server::Fault& fault) {
    if (fault.kind() == FaultKind::kInternal) std::abort();
    return 0;
  }
  if (reader.done()) answer(served, reader);
  return 0;
}
