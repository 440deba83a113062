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

[[nodiscard]] std::string of_test(double share) {
  return mention("test", fmt::format("{}", share));
}

/// Both parts have all users and items.
void share_ids(const Interactions& all, Split& parts) {
  for (Interactions* part : {&parts.train, &parts.test}) {
    part->users = all.users.share();
    part->items = all.items.share();
    part->place_in_file = all.place_in_file;
  }
}

/// Both parts, given what is in the test: `in_test(user, position)`.
template <class InTest>
Split divide(const Interactions& all, const InTest& in_test) {
  Split parts{select(all, [&](Index user, Offset at) { return !in_test(user, at); }),
              select(all, in_test)};
  share_ids(all, parts);
  return parts;
}

/// How many interactions a share is; both parts get at least one.
Offset test_count(const Interactions& all, double share) {
  const Offset nnz = all.by_user.nnz();
  const auto count = static_cast<Offset>(std::llround(share * static_cast<double>(nnz)));
  if (count < 1 || count >= nnz) {
    fail(fmt::format("{}: with {} this leaves the {} part empty", of_test(share),
                     counted(nnz, "interaction"), count < 1 ? "test" : "training"));
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
  const RandomOrder order(options.seed, all.by_user.nnz());
  const auto newer = [&](Offset a, Offset b) {
    return all.times[a] != all.times[b] ? all.times[a] > all.times[b]
                                        : order.place(a) < order.place(b);
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
      fmt::format("{}: no user has enough interactions for one in the test part, which would be "
                  "empty; {} draws among the rows of all users",
                  of_test(options.test), mention("method", "random")));
}

/// Draws among the items that somebody has touched.
Split split_cold_items(const Interactions& all, const SplitOptions& options) {
  std::vector<Index> number(static_cast<std::size_t>(all.by_user.cols), -1);
  for (const Index item : all.by_user.columns) number[static_cast<std::size_t>(item)] = 0;
  Index items = 0;
  for (Index& one : number) one = one < 0 ? -1 : items++;
  const auto hidden = static_cast<Offset>(std::llround(options.test * items));
  if (hidden < 1 || hidden >= items) {
    fail(fmt::format("{}: of {} this leaves the {} part empty", of_test(options.test),
                     counted(items, "item"), hidden < 1 ? "test" : "training"));
  }
  const RandomOrder order(options.seed, items);
  const auto cut = order.places_at({hidden}).front();
  return divide(all, [&](Index, Offset at) {
    return order.place(number[static_cast<std::size_t>(all.by_user.columns[at])]) < cut;
  });
}

/// Training is older than `from`, the test from there on and before `to`.
Split divide_at(const Interactions& all, Time from, std::optional<Time> to) {
  const auto in_test = [&](Offset at) {
    return all.times[at] >= from && (!to || all.times[at] < *to);
  };
  Split parts{select(all, [&](Index, Offset at) { return all.times[at] < from; }),
              select(all, [&](Index, Offset at) { return in_test(at); })};
  share_ids(all, parts);
  return parts;
}

/// So many interactions lie before and after the moment that was asked for.
void need_both_sides(Offset before, Offset after) {
  if (before > 0 && after > 0) return;
  const bool no_train = before == 0;
  fail(fmt::format("{}: no interaction lies {} this time: the {} part would be empty",
                   mention("at"), no_train ? "before" : "at or after",
                   no_train ? "training" : "test"));
}

Split split_at(const Interactions& all, Time at) {
  Split parts = divide_at(all, at, std::nullopt);
  need_both_sides(parts.train.by_user.nnz(), parts.test.by_user.nnz());
  return parts;
}

/// The times at which the tests of rolling splits begin. They rise.
std::vector<Time> rolling_cuts(const Interactions& all, const SplitOptions& options) {
  std::vector<Time> sorted(all.times.begin(), all.times.end());
  std::sort(sorted.begin(), sorted.end());
  const auto nnz = static_cast<Offset>(sorted.size());
  const Offset first =
      options.at ? std::lower_bound(sorted.begin(), sorted.end(), *options.at) - sorted.begin()
                 : nnz - test_count(all, options.test);
  if (options.at) need_both_sides(first, nnz - first);
  std::vector<Time> cuts;
  for (int part = 0; part < options.rolling; ++part) {
    const Offset begin = first + (nnz - first) * part / options.rolling;
    const bool rises =
        begin < nnz && (cuts.empty() || sorted[static_cast<std::size_t>(begin)] > cuts.back());
    if (!rises || sorted[static_cast<std::size_t>(begin)] == sorted.front()) {
      fail(fmt::format("{}: there are not enough different times for so many parts",
                       mention("rolling", fmt::format("{}", options.rolling))));
    }
    cuts.push_back(sorted[static_cast<std::size_t>(begin)]);
  }
  return cuts;
}

std::vector<Split> split_rolling(const Interactions& all, const SplitOptions& options) {
  const std::vector<Time> cuts = rolling_cuts(all, options);
  std::vector<Split> parts;
  for (std::size_t part = 0; part < cuts.size(); ++part) {
    const bool last = part + 1 == cuts.size();
    parts.push_back(
        divide_at(all, cuts[part], last ? std::nullopt : std::optional(cuts[part + 1])));
  }
  return parts;
}

Split split_time(const Interactions& all, const SplitOptions& options) {
  if (options.at) return split_at(all, *options.at);
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
  const bool time = method == SplitMethod::kTime;
  if (!time && (at || rolling != 0)) fail("at and rolling are of the method time");
  if (time && rolling != 0 && (rolling < 2 || rolling > 1000)) {
    fail(fmt::format("{} must be in [2, 1000], or 0 for one split, not {}", mention("rolling"),
                     rolling));
  }
  const bool share = method == SplitMethod::kRandom || (time && !at) ||
                     (method == SplitMethod::kPerUser && rows == 0) ||
                     method == SplitMethod::kColdItems;
  if (share && !(test > 0.0 && test < 1.0))
    fail(fmt::format("{} must be in (0, 1), not {}", mention("test"), test));
  if (method == SplitMethod::kLast && last < 1)
    fail(fmt::format("{} must be at least 1, not {}", mention("last"), last));
  if (rows < 0 || (rows > 0 && method != SplitMethod::kPerUser)) {
    fail(fmt::format("rows = {}: it is of the method per-user, 1 or more, or 0 for a share", rows));
  }
  if (method == SplitMethod::kKFold && (folds < 2 || folds > 1000)) {
    fail(fmt::format("{} must be in [2, 1000], not {}", mention("folds"), folds));
  }
}

Split split_fold(const Interactions& all, const SplitOptions& options, int fold) {
  options.validate();
  if (fold < 0 || fold >= options.folds) {
    fail(fmt::format("{} must be in [0, {}), not {}", mention("fold"), options.folds, fold));
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
      need_times(all, "time");
      if (options.rolling > 0) return split_rolling(all, options);
      parts.push_back(split_time(all, options));
      break;
    case SplitMethod::kPerUser:
      parts.push_back(split_per_user(all, options));
      break;
    case SplitMethod::kColdItems:
      parts.push_back(split_cold_items(all, options));
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
