// SPDX-License-Identifier: Apache-2.0
#include "data/write/compressor.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <zlib.h>
#include <zstd.h>

#include "likewise/error.h"
#include "likewise/write.h"

namespace likewise {
namespace {

constexpr std::size_t kOutputBytes = std::size_t{1} << 17;

class Gzip final : public Compressor {
 public:
  Gzip() : buffer_(kOutputBytes) {
    // Level 4: numbers as text compress two times faster than at 6 and lose a few percent.
    constexpr int kLevel = 4;
    constexpr int kGzipWindow = 15 + 16;
    if (deflateInit2(&stream_, kLevel, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
      throw Error(ErrorKind::kOutOfMemory, "gzip: no memory for the compressor");
    }
  }
  ~Gzip() override { deflateEnd(&stream_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  void write(std::string_view bytes, const Sink& sink) override {
    while (!bytes.empty()) {
      const auto piece = std::min<std::size_t>(bytes.size(), std::numeric_limits<uInt>::max());
      feed(bytes.substr(0, piece), Z_NO_FLUSH, sink);
      bytes.remove_prefix(piece);
    }
  }
  void finish(const Sink& sink) override { feed({}, Z_FINISH, sink); }

 private:
  void feed(std::string_view bytes, int flush, const Sink& sink) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(buffer_.data());
      stream_.avail_out = static_cast<uInt>(buffer_.size());
      deflate(&stream_, flush);
      const std::size_t made = buffer_.size() - stream_.avail_out;
      if (made > 0) sink({buffer_.data(), made});
    } while (stream_.avail_out == 0);  // a full buffer: there may be more
  }

  z_stream stream_{};
  std::vector<char> buffer_;
};

class Zstd final : public Compressor {
 public:
  Zstd() : context_(ZSTD_createCCtx(), &ZSTD_freeCCtx), buffer_(ZSTD_CStreamOutSize()) {
    if (context_ == nullptr) {
      throw Error(ErrorKind::kOutOfMemory, "zstd: no memory for the compressor");
    }
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
  }

  void write(std::string_view bytes, const Sink& sink) override {
    ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
    while (input.pos < input.size) step(input, ZSTD_e_continue, sink);
  }
  void finish(const Sink& sink) override {
    ZSTD_inBuffer input{nullptr, 0, 0};
    while (step(input, ZSTD_e_end, sink) > 0) {
    }
  }

 private:
  std::size_t step(ZSTD_inBuffer& input, ZSTD_EndDirective directive, const Sink& sink) {
    ZSTD_outBuffer output{buffer_.data(), buffer_.size(), 0};
    const std::size_t left = ZSTD_compressStream2(context_.get(), &output, &input, directive);
    if (ZSTD_isError(left)) {
      throw Error(ErrorKind::kIo, std::string("zstd: ") + ZSTD_getErrorName(left));
    }
    if (output.pos > 0) sink({buffer_.data(), output.pos});
    return left;
  }

  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context_;
  std::vector<char> buffer_;
};

}  // namespace

std::unique_ptr<Compressor> make_compressor(std::string_view path) {
  if (path.ends_with(".gz")) return std::make_unique<Gzip>();
  if (path.ends_with(".zst")) return std::make_unique<Zstd>();
  return nullptr;
}

std::string_view without_compression(std::string_view path) {
  for (const std::string_view ending : {".gz", ".zst"}) {
    if (path.ends_with(ending)) return path.substr(0, path.size() - ending.size());
  }
  return path;
}

}  // namespace likewise
