// SPDX-License-Identifier: Apache-2.0
#include "data/bytes/decompress.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include "likewise/error.h"

namespace likewise {
namespace {

constexpr std::size_t kInputBytes = std::size_t{1} << 17;
/// What is looked at: the head of a zip archive with the name of its first file.
constexpr std::size_t kHeadBytes = 128;

/// The compressed side: a window over the raw bytes.
class Input {
 public:
  Input(ByteSourcePtr raw, std::string name)
      : raw_(std::move(raw)), name_(std::move(name)), buffer_(kInputBytes) {}

  /// Fetches more when all was used. False at the end.
  bool fill() {
    if (at_ < size_) return true;
    at_ = 0;
    size_ = raw_->read(buffer_.data(), buffer_.size());
    return size_ > 0;
  }
  [[nodiscard]] char* data() { return buffer_.data() + at_; }
  [[nodiscard]] std::size_t size() const { return size_ - at_; }
  void use(std::size_t count) { at_ += count; }

  [[noreturn]] void fail(const std::string& why) const {
    throw Error(ErrorKind::kBadData, fmt::format("{}: {}", name_, why));
  }
  [[nodiscard]] const ByteSource& raw() const { return *raw_; }

 private:
  ByteSourcePtr raw_;
  std::string name_;
  std::vector<char> buffer_;
  std::size_t at_ = 0;
  std::size_t size_ = 0;
};

class GzipSource final : public ByteSource {
 public:
  GzipSource(ByteSourcePtr raw, const std::string& name) : input_(std::move(raw), name) {
    // 15 bits of window + 16: a gzip header, checked with its checksum and length by zlib.
    if (inflateInit2(&stream_, 15 + 16) != Z_OK) input_.fail("cannot start zlib");
  }
  ~GzipSource() override { inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  std::size_t read(char* to, std::size_t size) override {
    size = std::min<std::size_t>(size, std::size_t{1} << 30);
    while (!ended_) {
      if (!input_.fill()) {
        if (between_members_) break;
        input_.fail("the gzip data ends early: the file is truncated");
      }
      if (between_members_ && !start_member()) break;
      const std::size_t got = inflate_some(to, size);
      if (got > 0) return got;
    }
    return 0;
  }
  [[nodiscard]] Offset consumed() const override { return input_.raw().consumed(); }
  [[nodiscard]] Offset total() const override { return input_.raw().total(); }

 private:
  /// After the first member only another one, or padding with zeros, may follow.
  bool start_member() {
    if (first_member_ || *input_.data() == '\x1f') {
      first_member_ = between_members_ = false;
      return true;
    }
    do {
      if (*input_.data() != '\0') input_.fail("foreign bytes follow the gzip data");
      input_.use(1);
    } while (input_.fill());
    ended_ = true;
    return false;
  }

  std::size_t inflate_some(char* to, std::size_t size) {
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(input_.size());
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(size);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    input_.use(input_.size() - stream_.avail_in);
    if (result == Z_STREAM_END) {
      between_members_ = true;
      inflateReset(&stream_);
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      input_.fail(fmt::format("the gzip data is broken: {}",
                              stream_.msg != nullptr ? stream_.msg : "unknown fault"));
    }
    return size - stream_.avail_out;
  }

  Input input_;
  z_stream stream_{};
  bool first_member_ = true;
  bool between_members_ = true;
  bool ended_ = false;
};

class ZstdSource final : public ByteSource {
 public:
  ZstdSource(ByteSourcePtr raw, const std::string& name)
      : input_(std::move(raw), name), stream_(ZSTD_createDStream()) {
    if (stream_ == nullptr) input_.fail("cannot start zstd");
  }
  ~ZstdSource() override { ZSTD_freeDStream(stream_); }
  ZstdSource(const ZstdSource&) = delete;
  ZstdSource& operator=(const ZstdSource&) = delete;

  std::size_t read(char* to, std::size_t size) override {
    while (true) {
      // A full output may have left decoded bytes inside: ask for those before more input.
      if (!pending_ && !input_.fill()) {
        if (frame_open_) input_.fail("the zstd data ends early: the file is truncated");
        return 0;
      }
      ZSTD_inBuffer in{input_.data(), input_.size(), 0};
      ZSTD_outBuffer out{to, size, 0};
      const std::size_t result = ZSTD_decompressStream(stream_, &out, &in);
      if (ZSTD_isError(result) != 0) {
        input_.fail(fmt::format("the zstd data is broken: {}", ZSTD_getErrorName(result)));
      }
      input_.use(in.pos);
      frame_open_ = result != 0;
      pending_ = frame_open_ && out.pos == out.size;
      if (out.pos > 0) return out.pos;
    }
  }
  [[nodiscard]] Offset consumed() const override { return input_.raw().consumed(); }
  [[nodiscard]] Offset total() const override { return input_.raw().total(); }

 private:
  Input input_;
  ZSTD_DStream* stream_;
  bool frame_open_ = false;
  bool pending_ = false;
};

bool is_zstd(std::string_view head) {
  if (head.size() < 4) return false;
  const bool skippable =
      (static_cast<unsigned char>(head[0]) & 0xF0U) == 0x50 && head.substr(1, 3) == "\x2a\x4d\x18";
  return skippable || head.substr(0, 4) == "\x28\xb5\x2f\xfd";
}

/// A zip archive whose first file is an array, as numpy.savez() and scipy.sparse.save_npz() write.
bool is_npz(std::string_view head) {
  constexpr std::size_t kName = 30;  // behind its own length and that of the extra field
  if (!head.starts_with("PK\x03\x04") || head.size() < kName) return false;
  const auto length = static_cast<unsigned char>(head[kName - 4]);
  return head.substr(kName, length).ends_with(".npy");
}

/// Formats that people do hand to us, which are not text.
void refuse_foreign(std::string_view head, const std::string& name) {
  // The length of a header, 8 bytes, and the header's first one.
  const bool model =
      head.size() >= 9 && head[8] == '{' && head.substr(0, 8).find('\0') != std::string_view::npos;
  if (model) {
    throw Error(ErrorKind::kBadData,
                fmt::format("{}: is a safetensors file, such as a model, not text; a model "
                            "is read by {}, from a file and not from a pipe",
                            name, mention("load_model")));
  }
  struct Foreign {
    std::string_view magic;
    const char* what;
  };
  constexpr std::array<Foreign, 17> kForeign{{
      {"PK\x03\x04", "a zip archive: {unpack `unzip FILE`}"},
      {"BZh", "bzip2 data: {unpack `bunzip2 -k FILE`, or read `bzcat FILE |` from -}"},
      {"\xfd\x37zXZ", "xz data: {unpack `unxz -k FILE`, or read `xzcat FILE |` from -}"},
      {"\x04\x22\x4d\x18", "lz4 data: {unpack `lz4 -d FILE`, or read `lz4 -dc FILE |` from -}"},
      {"7z\xbc\xaf", "a 7z archive: {unpack `7z x FILE`}"},
      {"PAR1",
       "a Parquet file, and only interactions are read from one, not from a pipe: name the file, "
       "or write it as CSV with `python -c 'import pandas; pandas.read_parquet(\"FILE\").to_csv("
       "\"FILE.csv\", index=False)'`"},
      {"PARE", "an encrypted Parquet file: write it without encryption first"},
      {"ARROW1",
       "an Arrow file, and only interactions are read from one, not from a pipe: name the file, "
       "or write it as CSV with `python -c 'import pandas; pandas.read_feather(\"FILE\").to_csv("
       "\"FILE.csv\", index=False)'`"},
      {"\xff\xff\xff\xff",
       "a stream of Arrow, and only interactions are read from one, not from a pipe: name a file"},
      {"FEA1", "Feather of version 1: write it as Parquet or with pyarrow.feather of today first"},
      {"ORC", "an ORC file: write it as CSV or Parquet first"},
      {"\xd0\xcf\x11\xe0", "an Excel file: save it as CSV first"},
      {"\x80\x04\x95", "a pickle of Python: write what it holds as CSV first"},
      {"Obj\x01", "an Avro file: write it as CSV or JSON lines first"},
      {"SQLite f",
       "a SQLite database: write the table with `sqlite3 -csv -header FILE 'select * "
       "from TABLE'`"},
      {"\x89HDF", "an HDF5 file: export it as CSV first"},
      {"\x93NUMPY", "a NumPy file: export it as CSV or Matrix Market first"},
  }};
  const std::string_view start = is_npz(head) ? "\x93NUMPY" : head;
  for (const Foreign& foreign : kForeign) {
    if (start.starts_with(foreign.magic)) {
      throw Error(ErrorKind::kBadData, fmt::format("{}: is {}", name, mentions(foreign.what)));
    }
  }
}

}  // namespace

Decompressed decompress(ByteSourcePtr raw, const std::string& name) {
  std::string head = read_up_to(*raw, kHeadBytes);
  const bool gzip = head.starts_with("\x1f\x8b");
  const bool zstd = is_zstd(head);
  if (!gzip && !zstd) refuse_foreign(head, name);
  ByteSourcePtr whole = put_back(std::move(head), std::move(raw));
  if (gzip) return {std::make_unique<GzipSource>(std::move(whole), name), "gzip"};
  if (zstd) return {std::make_unique<ZstdSource>(std::move(whole), name), "zstd"};
  return {std::move(whole), ""};
}

}  // namespace likewise
