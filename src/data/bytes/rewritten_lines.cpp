// SPDX-License-Identifier: Apache-2.0
#include "data/bytes/rewritten_lines.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "likewise/error.h"

namespace likewise {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 18;

class RewrittenLines final : public ByteSource {
 public:
  RewrittenLines(ByteSourcePtr raw, std::string before, RewriteLine rewrite,
                 std::size_t max_line_bytes, std::string name, std::function<void()> end)
      : raw_(std::move(raw)),
        rewrite_(std::move(rewrite)),
        max_line_bytes_(max_line_bytes),
        name_(std::move(name)),
        end_(std::move(end)),
        out_(std::move(before)) {}

  std::size_t read(char* to, std::size_t size) override {
    while (at_ == out_.size() && !ended_) refill();
    const std::size_t count = std::min(size, out_.size() - at_);
    std::memcpy(to, out_.data() + at_, count);
    at_ += count;
    return count;
  }
  [[nodiscard]] Offset consumed() const override { return raw_->consumed(); }
  [[nodiscard]] Offset total() const override { return raw_->total(); }

 private:
  /// Takes what comes next of the raw text, and rewrites the lines that it ends.
  void refill() {
    out_.clear();
    at_ = 0;
    const std::size_t before = text_.size();
    text_.resize(before + kReadBytes);
    text_.resize(before + raw_->read(text_.data() + before, kReadBytes));
    ended_ = text_.size() == before;
    std::string_view rest = text_;
    for (std::size_t end = 0; (end = rest.find('\n')) != std::string_view::npos;) {
      rewrite(rest.substr(0, end));
      rest.remove_prefix(end + 1);
    }
    if (ended_ && !rest.empty()) rewrite(std::exchange(rest, {}));
    text_.erase(0, text_.size() - rest.size());
    check_length(text_.size());
    if (ended_ && end_) end_();
  }

  void rewrite(std::string_view line) {
    check_length(line.size());
    ++number_;
    check_text(line);
    if (line.ends_with('\r')) line.remove_suffix(1);
    rewrite_(line, number_, out_);
    out_ += '\n';
  }

  void check_length(std::size_t bytes) const {
    if (bytes <= max_line_bytes_) return;
    throw Error(ErrorKind::kBadData,
                fmt::format("{}:{}: the line is longer than {} bytes: is this a file of "
                            "interactions?",
                            name_, number_ + 1, max_line_bytes_));
  }

  void check_text(std::string_view line) const {
    if (line.find('\0') == std::string_view::npos) return;
    throw Error(ErrorKind::kBadData,
                fmt::format("{}:{}: the file is not text (it holds a zero byte)", name_, number_));
  }

  ByteSourcePtr raw_;
  RewriteLine rewrite_;
  std::size_t max_line_bytes_;
  std::string name_;
  std::function<void()> end_;
  std::string text_;  ///< raw, from the line on that has not ended
  std::string out_;
  std::size_t at_ = 0;
  Offset number_ = 0;
  bool ended_ = false;
};

}  // namespace

ByteSourcePtr rewritten_lines(ByteSourcePtr raw, std::string before, RewriteLine rewrite,
                              std::size_t max_line_bytes, std::string name,
                              std::function<void()> end) {
  return std::make_unique<RewrittenLines>(std::move(raw), std::move(before), std::move(rewrite),
                                          max_line_bytes, std::move(name), std::move(end));
}

}  // namespace likewise
