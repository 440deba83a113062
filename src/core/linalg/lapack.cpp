// SPDX-License-Identifier: Apache-2.0
#include "core/linalg/lapack.h"

#include <dlfcn.h>
#include <mutex>
#include <string>
#include <sys/mman.h>

#include <fmt/format.h>

#include "core/system/own_folder.h"
#include "likewise/error.h"

namespace likewise {
namespace {

constexpr const char* kLibrary = "libopenblas.so.0";
/// The buffer that OpenBLAS takes at its first product and keeps: 128 MiB and some pages.
constexpr std::size_t kBuffer = (std::size_t{128} << 20) + (std::size_t{1} << 20);

using SetThreads = void(int);
using GetThreads = int();
using Dsyevd = void(const char* jobz, const char* uplo, const int* n, double* a, const int* lda,
                    double* w, double* work, const int* lwork, int* iwork, const int* liwork,
                    int* info);

[[noreturn]] void refuse(const char* reason) {
  throw Error(ErrorKind::kIo,
              fmt::format("LAPACK cannot be loaded from {}: {}. Install OpenBLAS with LAPACK "
                          "(Debian: libopenblas0), or raise the limit of memory if there is one",
                          kLibrary, reason == nullptr ? "no reason given" : reason));
}

template <class Function>
Function* find(void* library, const char* name) {
  void* symbol = dlsym(library, name);
  if (symbol == nullptr) refuse(dlerror());
  return reinterpret_cast<Function*>(symbol);
}

/// Where there is no room for its buffer OpenBLAS retries without end, or ends the process.
void require_room_for_buffer() {
  void* room = mmap(nullptr, kBuffer, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) {
    throw Error(ErrorKind::kOutOfMemory,
                fmt::format("out of memory: the eigenvectors of the factors need {} MiB more; "
                            "raise the limit of memory",
                            kBuffer >> 20));
  }
  munmap(room, kBuffer);
}

/// Loaded once and never closed.
struct Lapack {
  Dsyevd* dsyevd = nullptr;
  SetThreads* set_threads = nullptr;
  GetThreads* get_threads = nullptr;

  void load() {
    // Packages that bring OpenBLAS have it next to the code; else it is the system's.
    const std::string file = own_file(kLibrary);
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) refuse(dlerror());
    set_threads = find<SetThreads>(library, "openblas_set_num_threads");
    get_threads = find<GetThreads>(library, "openblas_get_num_threads");
    dsyevd = find<Dsyevd>(library, "dsyevd_");
  }
};

/// Our loops are the parallel ones: LAPACK stays on the thread that calls it. Others in the
/// process, such as NumPy, may use the same library, and keep the number of threads that they had.
class OneThread {
 public:
  explicit OneThread(const Lapack& lapack) : lapack_(lapack), before_(lapack.get_threads()) {
    lapack_.set_threads(1);
  }
  ~OneThread() { lapack_.set_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  const Lapack& lapack_;
  int before_;
};

}  // namespace

std::vector<double> symmetric_eigen(std::vector<double>& a, Index d) {
  static std::mutex mutex;  // one caller, one buffer
  static Lapack lapack;
  static bool has_buffer = false;
  const std::lock_guard lock(mutex);
  if (lapack.dsyevd == nullptr) lapack.load();
  const OneThread one_thread(lapack);
  std::vector<double> values(static_cast<std::size_t>(d));
  const int n = d;
  int info = 0;
  int integer_size = -1;
  int size = -1;
  double best_size = 0.0;
  int best_integer_size = 0;
  lapack.dsyevd("V", "L", &n, a.data(), &n, values.data(), &best_size, &size, &best_integer_size,
                &integer_size, &info);
  size = static_cast<int>(best_size);
  integer_size = best_integer_size;
  std::vector<double> work(static_cast<std::size_t>(size));
  std::vector<int> integers(static_cast<std::size_t>(integer_size));
  if (!has_buffer) require_room_for_buffer();
  lapack.dsyevd("V", "L", &n, a.data(), &n, values.data(), work.data(), &size, integers.data(),
                &integer_size, &info);
  has_buffer = has_buffer || d > 1;  // one number needs no product
  if (info != 0) {
    throw Error(
        ErrorKind::kNumerical,
        fmt::format("the eigenvalues of a {0} x {0} matrix do not converge: use smaller values",
                    d));
  }
  return values;
}

}  // namespace likewise
