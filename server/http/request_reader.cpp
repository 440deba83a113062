// SPDX-License-Identifier: Apache-2.0
#include "server/http/request_reader.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <iterator>

#include <fmt/format.h>

#include "likewise/error.h"

namespace likewise::server {
namespace {

namespace http = boost::beast::http;

/// The shortest end of a body in chunks.
constexpr std::string_view kLastChunk = "0\r\n\r\n";

[[nodiscard]] std::string_view view(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

/// What is wrong, in a sentence.
[[nodiscard]] Fault fault_of(const boost::system::error_code& error, const Limits& limits,
                             bool line_done) {
  if (error == http::error::header_limit && !line_done) {
    return {FaultKind::kUriTooLong, fmt::format("the address is longer than {} bytes",
                                                with_commas(static_cast<Offset>(limits.target)))};
  }
  if (error == http::error::header_limit) {
    return {FaultKind::kHeaderTooLarge,
            fmt::format("the header is larger than {} bytes",
                        with_commas(static_cast<Offset>(limits.header)))};
  }
  if (error == http::error::body_limit) {
    return {FaultKind::kTooLarge, fmt::format("the body is larger than {} bytes",
                                              with_commas(static_cast<Offset>(limits.body)))};
  }
  return {FaultKind::kInvalidArgument,
          fmt::format("this is no request of HTTP/1.1: {}", error.message())};
}

/// What the next one of a chain of servers could read in another way, and the parser lets pass.
void check_framing(const http::request<http::string_body>& message) {
  const auto hosts = message.equal_range(http::field::host);
  const auto count = std::distance(hosts.first, hosts.second);
  if (count > 1) throw Fault(FaultKind::kInvalidArgument, "the header names two hosts", "Host");
  if (count == 0 && message.version() == 11) {
    throw Fault(FaultKind::kInvalidArgument, "a request of HTTP/1.1 names its host", "Host");
  }
  const auto coding = message.find(http::field::transfer_encoding);
  if (coding != message.end() && message.version() < 11) {
    throw Fault(FaultKind::kInvalidArgument, "a request of HTTP/1.0 has no Transfer-Encoding",
                "Transfer-Encoding");
  }
  if (coding == message.end() || boost::beast::iequals(coding->value(), "chunked")) return;
  throw Fault(FaultKind::kInvalidArgument, "a body comes as it is, or chunked",
              "Transfer-Encoding");
}

/// A body is read as it came.
void check_coding(const http::request<http::string_body>& message) {
  const auto [first, last] = message.equal_range(http::field::content_encoding);
  const bool is_plain = std::all_of(first, last, [](const auto& coding) {
    return coding.value().empty() || boost::beast::iequals(coding.value(), "identity");
  });
  if (is_plain) return;
  throw Fault(FaultKind::kUnsupportedMediaType,
              "bodies come uncompressed, without Content-Encoding", "Content-Encoding");
}

}  // namespace

struct RequestReader::Parser {
  http::request_parser<http::string_body> in;
};

RequestReader::RequestReader(const Limits& limits)
    : parser_(std::make_unique<Parser>()), limits_(limits) {
  parser_->in.header_limit(static_cast<std::uint32_t>(limits.header));
  parser_->in.body_limit(limits.body);
  parser_->in.eager(true);
}

RequestReader::~RequestReader() = default;
RequestReader::RequestReader(RequestReader&&) noexcept = default;
RequestReader& RequestReader::operator=(RequestReader&&) noexcept = default;

std::size_t RequestReader::put(std::string_view bytes) {
  if (bytes.empty()) return 0;
  // The parser asserts that it sees no less of a last chunk for the second time.
  const bool in_chunks = header_done() && !done() && parser_->in.chunked();
  if (in_chunks && bytes.size() < kLastChunk.size()) return 0;
  begun_ = true;
  line_done_ = line_done_ || bytes.find('\n') < limits_.header;
  boost::system::error_code error;
  const std::size_t taken =
      parser_->in.put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
  if (error && error != http::error::need_more) throw fault_of(error, limits_, line_done_);
  if (header_done()) check_header();
  // What is not taken is the header of a chunk, or what follows the last one, in part.
  if (!done() && bytes.size() - taken > limits_.header) {
    throw fault_of(http::error::header_limit, limits_, true);
  }
  return taken;
}

void RequestReader::check_header() const {
  const auto& message = parser_->in.get();
  if (message.target().size() > limits_.target) {
    throw Fault(FaultKind::kUriTooLong,
                fmt::format("the address is longer than {} bytes",
                            with_commas(static_cast<Offset>(limits_.target))));
  }
  check_framing(message);
  if (parser_->in.chunked() || parser_->in.content_length().value_or(0) > 0) check_coding(message);
}

bool RequestReader::header_done() const { return parser_->in.is_header_done(); }
bool RequestReader::done() const { return parser_->in.is_done(); }

std::size_t RequestReader::body_bytes() const { return parser_->in.get().body().size(); }

std::string RequestReader::forwarded_for() const {
  std::string all;
  const auto [first, last] = parser_->in.get().equal_range("X-Forwarded-For");
  std::for_each(first, last, [&](const auto& line) {
    all += all.empty() ? "" : ",";
    all += view(line.value());
  });
  return all;
}

void RequestReader::drop_body() { std::string().swap(parser_->in.get().body()); }

bool RequestReader::expects_word() const {
  return !parser_->in.is_done() &&
         boost::beast::iequals(parser_->in.get()[http::field::expect], "100-continue");
}

HttpRequest RequestReader::request() const {
  const auto& message = parser_->in.get();
  return {view(message.method_string()),
          view(message.target()),
          view(message[http::field::host]),
          view(message[http::field::authorization]),
          view(message[http::field::content_type]),
          message.body(),
          view(message[http::field::if_none_match]),
          view(message[http::field::origin]),
          view(message["MCP-Protocol-Version"])};
}

bool RequestReader::keeps_alive() const {
  const auto& message = parser_->in.get();
  return message.version() == 11 && message.keep_alive();
}

}  // namespace likewise::server
