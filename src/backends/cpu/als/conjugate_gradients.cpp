// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/als/conjugate_gradients.h"

#include <algorithm>
#include <cmath>

namespace likewise {

double ConjugateGradients::unseen() const {
  const double share = std::clamp(objective_ / constant_, 1e-3, 1.0);
  return constant_ > 0.0 ? limits_.decrease * constant_ * share * std::sqrt(share) : 0.0;
}

/// product = D z,  r = 0
void ConjugateGradients::begin() {
  own_ = kernels::scale_square(x_.diagonal, x_.z, x_.product, x_.stride);
  std::fill_n(x_.r, x_.stride, 0.0F);
}

/// r = b - A z,  p = r / P
void ConjugateGradients::start(const kernels::StartSums& sums, double constant) {
  kernels::axpy(-1.0F, x_.product, x_.r, x_.stride);
  constant_ = constant;
  objective_ = constant + own_ + sums.wqq - 2.0 * sums.vq;
  rho_ = kernels::scale_square(x_.inverse, x_.r, x_.p, x_.stride);
  // Below a share of 1e-7 a float32 residual is rounding alone.
  const double share = std::max(limits_.residual, 1e-7);
  enough_ = share * share * rho_;
  // The preconditioner is about A or less, so that alpha is at most about 1 and a first step lowers
  // the objective by at most about rho; a second one mostly by less than a quarter of that.
  last_ = limits_.steps == 1 || 0.25 * rho_ <= unseen();
  positive_ = std::isfinite(objective_) && std::isfinite(rho_);
  done_ = !positive_ || !(rho_ > unseen()) || limits_.steps < 1;
}

/// product = D p
void ConjugateGradients::before_product() {
  own_ = kernels::scale_square(x_.diagonal, x_.p, x_.product, x_.stride);
}

/// alpha = rho / p^T A p,  z += alpha p,  r -= alpha A p,  p = r / P + beta p
void ConjugateGradients::after_product(double curvature) {
  const double pap = own_ + curvature;
  if (!(pap > 0.0) || !std::isfinite(pap)) {
    positive_ = false;
    done_ = true;
    return;
  }
  const double alpha = rho_ / pap;
  kernels::axpy(static_cast<float>(alpha), x_.p, x_.z, x_.stride);
  objective_ -= alpha * rho_;
  ++steps_;
  if (last_) {
    done_ = true;
    return;
  }
  kernels::axpy(static_cast<float>(-alpha), x_.product, x_.r, x_.stride);
  const double next = kernels::weighted_square(x_.inverse, x_.r, x_.stride);
  const double beta = next / rho_;
  // The next step will lower the objective by its own alpha times next. Alphas tend to rise towards
  // 1 from step to step: the root is between. The step after it wins about beta times as much.
  const double expected = std::sqrt(alpha) * next;
  done_ = !(expected > unseen()) || next <= enough_;
  if (done_) return;
  last_ = steps_ + 1 == limits_.steps || expected * beta <= unseen();
  kernels::next_direction(x_.inverse, x_.r, static_cast<float>(beta), x_.p, x_.stride);
  rho_ = next;
}

}  // namespace likewise
