// SPDX-License-Identifier: Apache-2.0
#include "backends/distributed/rank_device.h"

#include <array>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace likewise {
namespace {

/// A rank's device, and where it is.
struct Place {
  RankDevice device;
  std::string host;

  [[nodiscard]] std::array<std::string*, 6> texts() {
    return {&device.name,       &device.kind,    &device.hardware,
            &device.connection, &device.problem, &host};
  }
};

[[nodiscard]] std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "an unknown host";
}

/// Of all ranks, in their order.
[[nodiscard]] std::vector<std::string> gather_text(Communicator& ranks, const std::string& mine) {
  const auto size = static_cast<std::size_t>(ranks.size());
  const Offset length = std::ssize(mine);
  std::vector<Offset> lengths(size);
  ranks.all_gather<Offset>({&length, 1}, lengths, std::vector<Offset>(size, 1));
  const std::vector<Offset> begins = part_begins(lengths);
  std::string all(static_cast<std::size_t>(begins.back()), '\0');
  ranks.all_gather<char>(mine, all, lengths);
  std::vector<std::string> texts;
  for (std::size_t r = 0; r < size; ++r) {
    texts.push_back(
        all.substr(static_cast<std::size_t>(begins[r]), static_cast<std::size_t>(lengths[r])));
  }
  return texts;
}

[[nodiscard]] std::vector<Place> gather_places(Communicator& ranks, const RankDevice& mine) {
  Place own{mine, host_name()};
  std::vector<Place> all(static_cast<std::size_t>(ranks.size()));
  for (std::size_t text = 0; text < own.texts().size(); ++text) {
    std::vector<std::string> said = gather_text(ranks, *own.texts()[text]);
    for (std::size_t r = 0; r < all.size(); ++r) *all[r].texts()[text] = std::move(said[r]);
  }
  return all;
}

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::kInvalidArgument, message);
}

[[nodiscard]] std::string who(std::size_t rank, const Place& place) {
  return fmt::format("rank {} on {}", rank, place.host);
}

void require_together(std::size_t a, const Place& one, std::size_t b, const Place& other) {
  if (!one.device.hardware.empty() && one.device.hardware == other.device.hardware) {
    refuse(fmt::format("{} ({}) and {} ({}) have the same GPU: each rank needs one of its own",
                       who(a, one), one.device.name, who(b, other), other.device.name));
  }
  if (one.device.kind != other.device.kind) {
    refuse(
        fmt::format("{} has {}, {}, and {} has {}, {}: ranks train together on devices of one kind",
                    who(a, one), one.device.name, one.device.kind, who(b, other), other.device.name,
                    other.device.kind));
  }
  if (one.device.connection != other.device.connection) {
    refuse(fmt::format("{} has {} and {} has {}: install one version on all machines", who(a, one),
                       one.device.connection, who(b, other), other.device.connection));
  }
}

}  // namespace

void require_devices_together(Communicator& ranks, const RankDevice& mine) {
  const std::vector<Place> all = gather_places(ranks, mine);
  for (std::size_t r = 0; r < all.size(); ++r) {
    const RankDevice& device = all[r].device;
    if (device.problem.empty()) continue;
    refuse(fmt::format("{} ({}): {}", who(r, all[r]), device.name, device.problem));
  }
  for (std::size_t a = 0; a < all.size(); ++a) {
    for (std::size_t b = a + 1; b < all.size(); ++b) require_together(a, all[a], b, all[b]);
  }
}

}  // namespace likewise
