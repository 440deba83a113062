// SPDX-License-Identifier: Apache-2.0
#include "likewise/split.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "data/random_order.h"
#include "data/select.h"
#include "likewise/error.h"

namespace likewise {
namespace {

[[noreturn]] void fail(const std::string& why) { throw Error(ErrorKind::kInvalidArgument, why); }

/// Both parts, given what is in the test: `in_test(user, position)`.
template <class InTest>
Split divide(const Interactions& all, const InTest& in_test) {
  Split parts{select(all, [&](Index user, Offset at) { return !in_test(user, at); }),
              select(all, in_test)};
  for (Interactions* part : {&parts.train, &parts.test}) {
    part->users = all.users.share();
    part->items = all.items.share();
    part->place_in_file = all.place_in_file;
  }
  return parts;
}

/// How many interactions a share is; both parts get at least one.
Offset test_count(const Interactions& all, double share) {
  const Offset nnz = all.by_user.nnz();
  const auto count = static_cast<Offset>(std::llround(share * static_cast<double>(nnz)));
  if (count < 1 || count >= nnz) {
    fail(fmt::format("test = {}: with {} interactions this leaves the {} part empty", share, nnz,
                     count < 1 ? "test" : "training"));
  }
  return count;
}

void need_times(const Interactions& all, const char* method) {
  if (all.has_times()) return;
  fail(
      fmt::format("method {} needs times, which these interactions do not have: read the file with "
                  "its time column",
                  method));
}

Split split_random(const Interactions& all, const SplitOptions& options) {
  const RandomOrder order(options.seed, all.by_user.nnz());
  const auto cut = order.places_at({test_count(all, options.test)}).front();
  return divide(all, [&](Index, Offset at) { return order.place(at) < cut; });
}

/// 1 for the first count(n) of every user's n interactions, by `before` of two positions.
template <class Count, class Before>
std::vector<char> first_of_users(const CsrMatrix& m, const Count& count, const Before& before) {
  std::vector<char> first(static_cast<std::size_t>(m.nnz()), 0);
  parallel_for(m.rows, 1024, [&](Offset row) {
    const Offset begin = m.offsets[row];
    const Offset end = m.offsets[row + 1];
    const Offset wanted = count(end - begin);
    if (wanted < 1) return;
    std::vector<Offset> positions(static_cast<std::size_t>(end - begin));
    std::iota(positions.begin(), positions.end(), begin);
    std::nth_element(positions.begin(), positions.begin() + wanted, positions.end(), before);
    for (Offset i = 0; i < wanted; ++i)
      first[static_cast<std::size_t>(positions[static_cast<std::size_t>(i)])] = 1;
  });
  return first;
}

Split divide_by(const Interactions& all, const std::vector<char>& in_test,
                const std::string& empty) {
  if (std::find(in_test.begin(), in_test.end(), 1) == in_test.end()) fail(empty);
  return divide(all, [&](Index, Offset at) { return in_test[static_cast<std::size_t>(at)] != 0; });
}

Split split_last(const Interactions& all, const SplitOptions& options) {
  need_times(all, "last");
  const auto newer = [&](Offset a, Offset b) {
    return all.times[a] != all.times[b] ? all.times[a] > all.times[b] : a > b;
  };
  const auto count = [&](Offset n) { return n > options.last ? Offset{options.last} : 0; };
  return divide_by(
      all, first_of_users(all.by_user, count, newer),
      fmt::format("last = {}: no user has more interactions than that, the test part would be "
                  "empty",
                  options.last));
}

Split split_per_user(const Interactions& all, const SplitOptions& options) {
  const RandomOrder order(options.seed, all.by_user.nnz());
  const auto before = [&](Offset a, Offset b) { return order.place(a) < order.place(b); };
  if (options.rows > 0) {
    const auto count = [&](Offset n) { return n > options.rows ? Offset{options.rows} : 0; };
    return divide_by(
        all, first_of_users(all.by_user, count, before),
        fmt::format("rows = {}: no user has more interactions than that, the test part would be "
                    "empty",
                    options.rows));
  }
  const auto count = [&](Offset n) {
    const auto share = static_cast<Offset>(std::llround(options.test * static_cast<double>(n)));
    return std::min(std::max(Offset{1}, share), n - 1);
  };
  return divide_by(
      all, first_of_users(all.by_user, count, before),
      fmt::format("test = {}: no user has enough interactions for one in the test part, which "
                  "would be empty",
                  options.test));
}

Split split_time(const Interactions& all, const SplitOptions& options) {
  need_times(all, "time");
  const Offset nnz = all.by_user.nnz();
  const Offset train = nnz - test_count(all, options.test);
  std::vector<Time> sorted(all.times.begin(), all.times.end());
  std::nth_element(sorted.begin(), sorted.begin() + train, sorted.end());
  const Time cut = sorted[static_cast<std::size_t>(train)];
  const Offset before =
      std::count_if(sorted.begin(), sorted.begin() + train, [&](Time time) { return time < cut; });
  sorted = {};

  // At the time of the cut itself, `train - before` interactions stay in training: drawn.
  const RandomOrder order(options.seed, nnz);
  std::vector<RandomOrder::Place> at_cut;
  for (Offset at = 0; at < nnz; ++at) {
    if (all.times[at] == cut) at_cut.push_back(order.place(at));
  }
  const auto first_in_test = at_cut.begin() + (train - before);
  std::nth_element(at_cut.begin(), first_in_test, at_cut.end());
  const RandomOrder::Place least = *first_in_test;
  return divide(all, [&](Index, Offset at) {
    return all.times[at] != cut ? all.times[at] > cut : order.place(at) >= least;
  });
}

}  // namespace

void SplitOptions::validate() const {
  const bool share = method == SplitMethod::kRandom || method == SplitMethod::kTime ||
                     (method == SplitMethod::kPerUser && rows == 0);
  if (share && !(test > 0.0 && test < 1.0))
    fail(fmt::format("test must be in (0, 1), not {}", test));
  if (method == SplitMethod::kLast && last < 1)
    fail(fmt::format("last must be at least 1, not {}", last));
  if (rows < 0 || (rows > 0 && method != SplitMethod::kPerUser)) {
    fail(fmt::format("rows = {}: it is of the method per-user, 1 or more, or 0 for a share", rows));
  }
  if (method == SplitMethod::kKFold && (folds < 2 || folds > 1000)) {
    fail(fmt::format("folds must be in [2, 1000], not {}", folds));
  }
}

Split split_fold(const Interactions& all, const SplitOptions& options, int fold) {
  options.validate();
  if (fold < 0 || fold >= options.folds) {
    fail(fmt::format("fold must be in [0, {}), not {}", options.folds, fold));
  }
  const Offset nnz = all.by_user.nnz();
  if (nnz < options.folds) {
    fail(fmt::format("folds = {}: there are only {} interactions", options.folds, nnz));
  }
  // Fold k is [k n / folds, (k + 1) n / folds) of the random order.
  const RandomOrder order(options.seed, nnz);
  const auto rank = [&](int k) {
    return nnz / options.folds * k + nnz % options.folds * k / options.folds;
  };
  const auto begin = order.places_at({rank(fold)}).front();
  if (fold + 1 == options.folds) {
    return divide(all, [&](Index, Offset at) { return order.place(at) >= begin; });
  }
  const auto end = order.places_at({rank(fold + 1)}).front();
  return divide(all, [&](Index, Offset at) {
    const auto place = order.place(at);
    return place >= begin && place < end;
  });
}

std::vector<Split> split(const Interactions& all, const SplitOptions& options) {
  options.validate();
  std::vector<Split> parts;
  switch (options.method) {
    case SplitMethod::kRandom:
      parts.push_back(split_random(all, options));
      break;
    case SplitMethod::kLast:
      parts.push_back(split_last(all, options));
      break;
    case SplitMethod::kTime:
      parts.push_back(split_time(all, options));
      break;
    case SplitMethod::kPerUser:
      parts.push_back(split_per_user(all, options));
      break;
    case SplitMethod::kKFold:
      for (int fold = 0; fold < options.folds; ++fold) {
        parts.push_back(split_fold(all, options, fold));
      }
      break;
  }
  return parts;
}

}  // namespace likewise
